package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// event is a batch of records, as Lambda sends it.
type event struct{ Records []json.RawMessage }

// published publishes the prices of a product, and returns the records of it.
func published(t *testing.T, s system, who Tenant, code string, prices ...float64) event {
	t.Helper()
	var all event
	old := Record{}
	for _, price := range prices {
		c := Change{Ref: NewRef("PRODUCT", code), Name: code, Attributes: map[string]any{"price": price}, Version: old.Version}
		next, ops := who.publishOps(c, old)
		var one event
		check.OK(t, json.Unmarshal(check.Must(streamtest.Transact(t.Context(), s.client, s.table, ops...))(t), &one))
		all.Records = append(all.Records, one.Records...)
		old = next
	}
	return all
}

// handle gives a batch to a router and returns what is to be delivered again.
func handle(t *testing.T, r *stream.Router, batch event) (again event) {
	t.Helper()
	response := check.Must(r.Handle(t.Context(), check.Must(json.Marshal(batch))(t)))(t)
	if len(response.BatchItemFailures) == 0 {
		return event{}
	}
	for i, record := range batch.Records {
		var its struct {
			Change struct{ SequenceNumber string } `json:"dynamodb"`
		}
		check.OK(t, json.Unmarshal(record, &its))
		if its.Change.SequenceNumber == response.BatchItemFailures[0].ItemIdentifier {
			return event{batch.Records[i:]}
		}
	}
	t.Fatal("the failure is of no record of the batch")
	return event{}
}

// The versions of a record are items of their own, which have no order in the stream.
func TestVersionsInAnyOrderGiveTheSame(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	router := check.Must(s.Router())(t)
	for i, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		who := s.as(Caller{Tenant: fmt.Sprint("T-", i)})
		batch := published(t, s, who, "LAMP", 40, 45, 42)
		var newest int64
		for _, version := range order {
			// Each version has two records, of its command and of its history.
			records := event{batch.Records[2*version : 2*version+2]}
			for range 2 {
				check.Equal(t, "to be delivered again", len(handle(t, router, records).Records), 0)
				now := check.Must(who.Get(t.Context(), lamp))(t)
				newest = max(newest, int64(version+1))
				check.Equal(t, "version", now.Version, newest)
			}
		}
		checkAudit(t, who)
		want := Listing{TenantCode: who.caller.Tenant, Code: "LAMP", Name: "LAMP", Price: 42, Lowest: 40, PriceChanges: 2, Version: 3}
		check.Equal(t, "catalogue", check.Must(who.Catalogue(t.Context(), 0, ""))(t).Items, []Listing{want})
	}
}

func TestAHandlerMayFailAtEveryRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for name, fault := range map[string]tabletest.Fault{"before": tabletest.DropRequest(), "after": tabletest.DropResponse()} {
		for requests := 0; ; requests++ {
			who := s.as(Caller{Tenant: fmt.Sprintf("%s-%d", name, requests)})
			batch := event{slices.Concat(published(t, s, who, "LAMP", 40, 45).Records, published(t, s, who, "CHAIR", 7).Records)}
			var faults tabletest.Faults
			faults.Next("", append(make([]tabletest.Fault, requests), fault)...)
			again := handle(t, check.Must(s.through(t, &faults).Router())(t), batch)
			if len(faults.Requests()) <= requests { // it did not come to the fault
				check.Equal(t, "to be delivered again", len(again.Records), 0)
				if requests < 10 {
					t.Errorf("it took %d requests", requests)
				}
				break
			}
			if len(again.Records) == 0 {
				t.Errorf("%s request %d: the batch has not failed", name, requests)
			}
			again = handle(t, check.Must(s.Router())(t), again)
			check.Equal(t, "to be delivered again", len(again.Records), 0)
			checkAudit(t, who)
		}
	}
}

// Two processes share the stream while writers write. The one that reads its shard ends,
// and another one is started. Then everything is delivered a second time.
func TestReadersMayEndAndRepeatEverything(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	write := func(rounds int) {
		check.Together(3, func(i int) {
			code := NewRef("PRODUCT", fmt.Sprint("P-", i%2)) // two writers have one product in common
			for range rounds {
				err := s.table.Retry(t.Context(), func(ctx context.Context) error {
					page, err := acme.Versions(ctx, code, 1, "")
					if err != nil {
						return err
					}
					c := Change{Ref: code, Name: "P", Attributes: map[string]any{"price": i}}
					if len(page.Items) > 0 {
						c.Version = page.Items[0].Version
					}
					_, err = acme.Publish(ctx, c)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	check.OK(t, acme.Import(t.Context(), importID, catalogue()))

	var mu sync.Mutex
	var back []string
	router := check.Must(stream.New(s.table, nil, append(s.Handlers(), stream.On(s.data,
		func(_ context.Context, c stream.Change[Data]) error {
			mu.Lock()
			defer mu.Unlock()
			if c.Kind == stream.Modify && c.Old.Version >= c.New.Version {
				back = append(back, fmt.Sprint(c.New.ID, " from ", c.Old.Version, " to ", c.New.Version))
			}
			return nil
		}), stream.IgnoreOther())...))(t)
	begin := func() (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.reader("shared", router).Run(ctx) }()
		return func() {
			cancel()
			check.Is(t, <-ended, context.Canceled)
		}
	}
	first := begin()
	write(1)
	check.OK(t, program.Until(t.Context(), func() (bool, error) { // it reads the shard, so the second one waits
		_, ok, err := acme.Audit(t.Context())
		return ok, err
	}))
	second := begin()
	write(5)
	first()
	third := begin() // a new process looks for shards at once, one that runs every ten seconds
	write(5)
	check.OK(t, program.Until(t.Context(), func() (bool, error) {
		task, err := acme.Task(t.Context(), importID)
		_, ok, audited := acme.Audit(t.Context())
		return ok && task.Status == Done, errors.Join(err, audited)
	}))
	second()
	third()
	check.Equal(t, "versions that went back", back, nil)

	before := generated.Stored(t, s.table)
	s.settleAs(t, "again")
	after := slices.DeleteFunc(generated.Stored(t, s.table), func(item table.Item) bool {
		return s.table.KeyOf("", item).PK == "MARKER#again"
	})
	check.Equal(t, "table after everything was repeated", after, before, cmp.Comparer(func(a, b types.AttributeValue) bool {
		return reflect.DeepEqual(a, b)
	}))
}
