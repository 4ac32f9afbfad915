package table_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestEvents shows the class of the error in an event, which is the SDK's own.
func TestEvents(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	var events []table.Event
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "request")
	opts := options()
	opts.Observe = func(ctx context.Context, e table.Event) {
		if ctx.Value(key{}) != "request" {
			t.Error("it is not the context of the operation")
		}
		events = append(events, e)
	}
	once := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }
	tbl := tabletest.NewWith(t, tabletest.Client(t, once, faults.Install), appCore(), opts)
	for name, tt := range map[string]struct {
		fault tabletest.Fault
		want  table.Class
	}{
		"throttled": {tabletest.Throttle(), table.Transient},
		"server":    {tabletest.Status(http.StatusInternalServerError, "InternalServerError", "x"), table.Transient},
		"invalid":   {tabletest.Status(http.StatusBadRequest, "ValidationException", "x"), table.Unclassified},
		"denied":    {tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "x"), table.Unclassified},
		"lost":      {tabletest.DropResponse(), table.Transient},
	} {
		events = nil
		faults.Next("GetItem", tt.fault)
		err := get(ctx, tbl, user)
		if len(events) != 1 || events[0].Err == nil || events[0].Attempts != 1 || !errors.Is(err, events[0].Err) {
			t.Errorf("%s: %v, %+v", name, err, events)
			continue
		}
		if got := table.Classify(events[0].Err); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// wrapper is a client that is not the SDK's.
type wrapper struct {
	table.Client
	err error
}

func (w wrapper) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.Client.PutItem(ctx, in)
}

// TestOtherClients shows that a write by a client about whose attempts nothing
// is known is not taken for settled.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	schema := tabletest.NewWith(t, client, appCore(), nil).Schema()
	for err, want := range map[error]error{io.ErrUnexpectedEOF: table.ErrOutcomeUnknown, nil: nil} {
		var events []table.Event
		tbl, failure := table.New(wrapper{client, err}, schema, &table.Options{
			Observe: func(_ context.Context, e table.Event) { events = append(events, e) },
		})
		must(t, failure)
		if got := tbl.Do(t.Context(), table.Put(user, nil)); !errors.Is(got, want) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
		if len(events) != 1 || events[0].Attempts != 1 {
			t.Errorf("events %+v", events)
		}
	}
}

func TestTableIsImmutable(t *testing.T) {
	t.Parallel()
	schema := appCore()
	schema.Indexes[0].Include = nil
	tbl, err := table.New(tabletest.Client(t), schema, options())
	must(t, err)
	schema.Indexes[0].Name = "changed"
	tbl.Schema().Indexes[1].Name = "changed"
	equal(t, "indexes", []string{tbl.Schema().Indexes[0].Name, tbl.Schema().Indexes[1].Name}, []string{"GSI1", "LSI1"})
	equal(t, "defaults", [3]string{tbl.Schema().PK, tbl.Schema().SK, tbl.Schema().Type}, [3]string{"pk", "sk", "entityType"})
	equal(t, "time", tbl.Now(), now)
}

func TestStatsAdd(t *testing.T) {
	t.Parallel()
	got := table.Stats{Items: 1, Scanned: 2, Requests: 3, Capacity: 0.5}.Add(table.Stats{Items: 10, Scanned: 20, Requests: 30, Capacity: 4})
	equal(t, "sum", got, table.Stats{Items: 11, Scanned: 22, Requests: 33, Capacity: 4.5})
}
