package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func planTests() tests {
	return tests{
		"a plan is what Ensure does":                planThenEnsure,
		"an index added under writes has all items": indexUnderWrites,
		"many processes add indexes at once":        indexesConcurrently,
	}
}

// formerRelease and nextRelease are two releases of a schema.
func formerRelease() schema.Table {
	return schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}, {Name: "OLD", PK: "gsi1sk"}}}
}

func nextRelease(live schema.Table) schema.Table {
	s := live
	s.TTLAttribute, s.Stream = "expiresAt", types.StreamViewTypeKeysOnly
	s.Indexes = []schema.Index{
		{Name: "GSI2", PK: "gsi2pk", SK: "gsi2sk", SKType: types.ScalarAttributeTypeN, Projection: types.ProjectionTypeInclude, Include: []string{"n"}},
		live.Indexes[0],
		{Name: "GSI3", PK: "gsi2pk", SK: "gsi1pk", Projection: types.ProjectionTypeKeysOnly},
	}
	return s
}

// live creates the table of the former release.
func (h Harness) live(t *testing.T, client *dynamodb.Client) schema.Table {
	t.Helper()
	live := h.named(t, client, formerRelease())
	must(t, live.Ensure(t.Context(), client))
	return live
}

// indexesOf returns the names of the live global indexes.
func indexesOf(t *testing.T, client *dynamodb.Client, name string) []string {
	t.Helper()
	out := expect.Value(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}))(t)
	var names []string
	for _, x := range out.Table.GlobalSecondaryIndexes {
		names = append(names, aws.ToString(x.IndexName))
	}
	slices.Sort(names)
	return names
}

// ensured checks that the live table is as the schema says, that it has kept the index
// that the schema does not name, and that nothing is left to do.
func ensured(t *testing.T, client *dynamodb.Client, spec schema.Table) {
	t.Helper()
	must(t, spec.Verify(t.Context(), client))
	plan := expect.Value(spec.Plan(t.Context(), client))(t)
	equal(t, "what is left", []int{len(plan.Changes), len(plan.Manual), len(plan.Notes)}, []int{0, 0, 1})
	equal(t, "indexes", indexesOf(t, client, spec.Name), []string{"GSI1", "GSI2", "GSI3", "OLD"})
}

func planThenEnsure(t *testing.T, h Harness) {
	var faults tabletest.Faults
	client := h.Client(t, faults.Install)
	missing := h.named(t, client, formerRelease())
	plan := expect.Value(missing.Plan(t.Context(), client))(t)
	equal(t, "plan", plan, schema.Plan{
		Table: missing.Name, Changes: []schema.Change{{Difference: "the table does not exist", Action: "create it"}},
		Manual: []schema.Change{}, Notes: []schema.Change{},
	})
	err := missing.Verify(t.Context(), client)
	_, reported := errors.AsType[*types.ResourceNotFoundException](err)
	equal(t, "the SDK's error", reported, true)
	equal(t, "the text", err.Error(), "singletable: table "+missing.Name+": table differs from its schema: the table does not exist")
	equal(t, "writes", len(faults.Requests("CreateTable", "UpdateTable", "UpdateTimeToLive")), 0)
	must(t, missing.Ensure(t.Context(), client))
	live := missing

	spec := nextRelease(live)
	plan = expect.Value(spec.Plan(t.Context(), client))(t)
	var differences []string
	for _, c := range slices.Concat(plan.Changes, plan.Notes) {
		differences = append(differences, c.Difference)
	}
	equal(t, "differences", differences, []string{
		"Stream: is off, the schema wants KEYS_ONLY",
		`TTL: is off, the schema wants on "expiresAt"`,
		"global index GSI2: is missing",
		"global index GSI3: is missing",
		"global index OLD: is not in the schema",
	})
	equal(t, "manual", len(plan.Manual), 0)
	equal(t, "problems", problems(t, spec.Verify(t.Context(), client)), []string{
		"global index GSI2: is missing",
		"global index GSI3: is missing",
		"Stream: is off, the schema wants KEYS_ONLY",
		`TTL: is off, the schema wants on "expiresAt"`,
	})
	must(t, spec.Ensure(t.Context(), client))
	ensured(t, client, spec)

	sent := len(faults.Requests("UpdateTable", "UpdateTimeToLive"))
	must(t, spec.Ensure(t.Context(), client))
	equal(t, "further writes", len(faults.Requests("UpdateTable", "UpdateTimeToLive"))-sent, 0)
}

// order is an item of the new index.
type order struct {
	N      int    `dynamodbav:"n"`
	GSI2PK string `dynamodbav:"gsi2pk"`
	GSI2SK int    `dynamodbav:"gsi2sk"`
}

// indexUnderWrites adds an index to a table with items while others are written.
func indexUnderWrites(t *testing.T, h Harness) {
	const stored, writers = 2000, 4
	client := h.Client(t)
	live := h.live(t, client)
	spec := nextRelease(live)
	tbl := h.open(t, client, spec, options())
	item := func(writer, n int) table.Op {
		// The key of the first item of all is like that of the last one.
		key := keys.Key{PK: keys.User.PK(fmt.Sprint(writer)), SK: keys.Tx.SK(keys.Str(fmt.Sprint(n)))}
		return table.Put(key, order{N: n, GSI2PK: fmt.Sprint("w", writer), GSI2SK: n})
	}
	var ops []table.Op
	for n := range stored {
		ops = append(ops, item(writers, n))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	wantErr(t, spec.Verify(t.Context(), client), schema.ErrMismatch)

	// Each writer has written before the index is there, and writes once after that.
	var written [writers]int
	var active atomic.Bool
	var started, group sync.WaitGroup
	started.Add(writers)
	for w := range writers {
		group.Go(func() {
			for last := false; ; written[w]++ {
				err := tbl.Do(t.Context(), item(w, written[w]))
				// DynamoDB Local can fail for as long as it builds the index, which can be minutes.
				for attempt := 0; attempt < 10 && table.Classify(err) == table.Transient; {
					if active.Load() {
						attempt++
					}
					err = tbl.Do(t.Context(), item(w, written[w]))
				}
				if err != nil {
					t.Error(err)
					last = true
				}
				if written[w] == 0 {
					started.Done()
				}
				if last {
					return
				}
				last = active.Load()
			}
		})
	}
	started.Wait()
	err := spec.Ensure(t.Context(), client)
	active.Store(true)
	group.Wait()
	must(t, err)
	ensured(t, client, spec)

	for w, want := range append(written[:], stored-1) {
		h.inIndex(t, tbl, keys.PK(fmt.Sprint("w", w)), want+1)
	}
}

// inIndex checks that a partition of the new index has the items from 0 to n-1, as
// soon as the engine's lag allows.
func (h Harness) inIndex(t *testing.T, tbl *table.Table, pk keys.PK, n int) {
	t.Helper()
	deadline := time.Now().Add(h.Capabilities.Lag)
	for {
		got := expect.Value(table.Collect(table.All[order](t.Context(), tbl, table.Query{Index: "GSI2", PK: pk})))(t)
		var ns []int
		for _, o := range got {
			ns = append(ns, o.N)
		}
		if slices.Equal(ns, span(0, n-1)) {
			return
		}
		if !time.Now().Before(deadline) {
			t.Errorf("partition %s of the index has %d items, want %d in order", pk, len(ns), n)
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

func indexesConcurrently(t *testing.T, h Harness) {
	client := h.Client(t)
	spec := nextRelease(h.live(t, client))
	var group sync.WaitGroup
	for range 6 {
		client := h.Client(t)
		group.Go(func() {
			if err := spec.Ensure(t.Context(), client); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ensured(t, client, spec)
}
