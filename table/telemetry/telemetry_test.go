package telemetry_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

// secret is part of every key and value, and must be in nothing that is written.
const secret = "s3cret"

var (
	profile = keys.Key{PK: keys.User.PK(secret), SK: keys.Profile}
	absent  = keys.Key{PK: keys.User.PK(secret + "-2"), SK: keys.Profile}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fixture is a table that one item is in, and what can go wrong with it.
type fixture struct {
	*table.Table
	faults *tabletest.Faults
}

// open returns a table that is observed from now on. Its client sends everything
// once, unless attempts says otherwise.
func open(t *testing.T, observe table.Observer, attempts int) fixture {
	t.Helper()
	f := fixture{faults: &tabletest.Faults{}}
	limit := func(o *dynamodb.Options) { o.RetryMaxAttempts = attempts }
	client := tabletest.Client(t, limit, f.faults.Install)
	schema := table.Schema{
		Name:    "AppCore",
		Indexes: []table.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
	}
	plain := tabletest.NewWith(t, client, schema, nil)
	must(t, plain.Do(t.Context(), table.Put(profile, map[string]string{"name": secret})))
	tbl, err := table.New(client, plain.Schema(), &table.Options{Observe: observe, MaxAttempts: 1})
	must(t, err)
	f.Table = tbl
	return f
}

func (f fixture) get(ctx context.Context) error {
	_, err := table.Get[table.Item](ctx, f.Table, profile)
	return err
}

// failures are calls that each make one request, which fails; their names are the
// error.type of it.
func (f fixture) failures() map[string]func(context.Context) error {
	banned := expression.Name("name").AttributeNotExists()
	fault := func(fault tabletest.Fault) func(context.Context) error {
		return func(ctx context.Context) error {
			f.faults.Next("GetItem", fault)
			return f.get(ctx)
		}
	}
	return map[string]func(context.Context) error{
		"ConditionalCheckFailedException": func(ctx context.Context) error {
			return f.Do(ctx, table.Create(profile, map[string]string{"name": secret}))
		},
		"TransactionCanceledException": func(ctx context.Context) error {
			return f.Transact(ctx, table.Put(absent, nil), table.Check(profile, banned))
		},
		"ProvisionedThroughputExceededException": fault(tabletest.Throttle()),
		"AccessDeniedException": fault(withRequestID(
			tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "No "+secret+" for you."))),
		"InternalServerError": fault(tabletest.Status(http.StatusInternalServerError, "InternalServerError", secret)),
		"connection":          fault(tabletest.Drop()),
		"canceled": func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			f.faults.Next("GetItem", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				cancel()
				return tabletest.Hold(nil)(r, next)
			})
			return f.get(ctx)
		},
	}
}

func withRequestID(fault tabletest.Fault) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := fault(r, next)
		if err == nil {
			resp.Header.Set("X-Amzn-Requestid", "REQUEST-1")
		}
		return resp, err
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	equal(t, "none", telemetry.Pattern(ctx), "")
	ctx = telemetry.WithPattern(ctx, "outer")
	equal(t, "inner", telemetry.Pattern(telemetry.WithPattern(ctx, "inner")), "inner")
	equal(t, "outer", telemetry.Pattern(ctx), "outer")
	equal(t, "taken away", telemetry.Pattern(telemetry.WithPattern(ctx, "")), "")
}

func TestJoin(t *testing.T) {
	t.Parallel()
	if telemetry.Join() != nil || telemetry.Join(nil, nil) != nil {
		t.Error("an observer without anybody who observes")
	}
	var mu sync.Mutex
	var seen []string
	observer := func(name string) table.Observer {
		return func(ctx context.Context, e table.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(name, " ", telemetry.Pattern(ctx), " ", e.Operation))
		}
	}
	observers := []table.Observer{nil, observer("first"), nil, observer("second")}
	f := open(t, telemetry.Join(observers...), 1)
	observers[1] = nil // it is too late for this
	must(t, f.get(telemetry.WithPattern(t.Context(), "profile")))
	equal(t, "seen", seen, []string{"first profile GetItem", "second profile GetItem"})
}
