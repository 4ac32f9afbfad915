package table_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestOutcomeAfterARefusal shows what a failed condition means: after a lost response
// and without one, from an engine that returns the item which made it fail, and from one
// that does not, so that the item has to be read.
func TestOutcomeAfterARefusal(t *testing.T) {
	t.Parallel()
	type outcome struct {
		err    error // nil if the write counts as applied
		reads  bool  // where the engine does not return the item
		stored string
	}
	const (
		nobody  = ``
		own     = `{"pk":{"S":"A"},"sk":{"S":"B"},"n":{"N":"1"},"rev":{"S":"own"}}`
		others  = `{"pk":{"S":"A"},"sk":{"S":"B"},"n":{"N":"1"},"rev":{"S":"other"}}`
		without = `{"pk":{"S":"A"},"sk":{"S":"B"},"n":{"N":"1"}}`
	)
	key := keys.Key{PK: "A", SK: "B"}
	value := table.Item{"n": num("1"), "rev": str("own")}
	n := expression.Set(expression.Name("n"), expression.Value(1))
	for name, tt := range map[string]struct {
		op            table.Op
		lost, settled []outcome
	}{
		"Create": {
			table.Create(key, value),
			[]outcome{{nil, true, own}, {table.ErrOutcomeUnknown, true, others}, {table.ErrOutcomeUnknown, true, nobody}},
			[]outcome{{table.ErrExists, false, own}, {table.ErrExists, false, others}},
		},
		"Create with a condition": {
			table.Create(key, value).If(nIs(1)),
			[]outcome{{nil, true, own}, {table.ErrOutcomeUnknown, true, nobody}},
			[]outcome{{table.ErrExists, true, others}, {table.ErrConditionFailed, true, nobody}},
		},
		"Put with a revision": {
			table.Put(key, value).IfRevision("rev", "before"),
			[]outcome{{nil, true, own}, {table.ErrOutcomeUnknown, true, others}, {table.ErrOutcomeUnknown, true, nobody}},
			[]outcome{{table.ErrStale, false, own}, {table.ErrStale, false, others}},
		},
		"Put that writes no revision": {
			table.Put(key, table.Item{"n": num("1")}).IfRevision("rev", "before"),
			[]outcome{{table.ErrOutcomeUnknown, true, own}, {table.ErrOutcomeUnknown, true, without}},
			nil,
		},
		"Put with a version": {
			table.Put(key, value).IfVersion("n", 7),
			[]outcome{{table.ErrOutcomeUnknown, true, own}},
			[]outcome{{table.ErrStale, false, own}},
		},
		"Patch": {
			table.Patch(key, value).IfRevision("rev", "before"),
			[]outcome{{nil, true, own}, {table.ErrOutcomeUnknown, true, others}},
			[]outcome{{table.ErrStale, false, own}},
		},
		"Patch and the next revision": {
			table.Patch(key, table.Item{"n": num("1")}).IfRevision("rev", "before").WithRevision("rev", "own"),
			[]outcome{{nil, true, own}, {table.ErrOutcomeUnknown, true, others}},
			[]outcome{{table.ErrStale, false, others}},
		},
		"Update and the next revision": {
			table.Update(key, n).IfRevision("rev", "before").WithRevision("rev", "own"),
			[]outcome{{nil, true, own}, {table.ErrOutcomeUnknown, true, others}},
			[]outcome{{table.ErrStale, false, others}},
		},
		"Update with a version": {
			table.Update(key, n).IfVersion("n", 7),
			[]outcome{{table.ErrOutcomeUnknown, false, own}},
			[]outcome{{table.ErrStale, false, own}},
		},
		"Update with a condition": {
			table.Update(key, n).If(nIs(9)),
			[]outcome{{table.ErrOutcomeUnknown, true, own}},
			[]outcome{{table.ErrConditionFailed, true, own}},
		},
		"Delete with a revision": {
			table.Delete(key).IfRevision("rev", "before"),
			[]outcome{{nil, true, nobody}, {table.ErrOutcomeUnknown, true, others}},
			[]outcome{{table.ErrStale, false, others}},
		},
		"Delete with a condition": {
			table.Delete(key).IfRevision("rev", "before").If(nIs(1)),
			[]outcome{{table.ErrOutcomeUnknown, true, nobody}, {table.ErrOutcomeUnknown, true, others}},
			[]outcome{{table.ErrStale, true, others}},
		},
		"Update of what exists": {
			table.Update(key, n).IfExists().IfRevision("rev", "own"),
			nil,
			[]outcome{{table.ErrStale, true, others}, {table.ErrStale, true, nobody}},
		},
	} {
		for lost, outcomes := range map[bool][]outcome{true: tt.lost, false: tt.settled} {
			for _, o := range outcomes {
				for _, returned := range []bool{true, false} {
					if returned && o.stored == nobody {
						continue
					}
					item, refusal, response := "", `{"message":"Injected."`, `{}`
					if o.stored != nobody {
						item, response = `,"Item":`+o.stored, `{"Item":`+o.stored+`}`
					}
					if returned {
						refusal += item
					}
					outage(t, canned(http.StatusBadRequest, "ConditionalCheckFailedException", refusal+"}"), nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
						faults.Always("GetItem", canned(http.StatusOK, "", response))
						if lost {
							for _, write := range []string{"PutItem", "UpdateItem", "DeleteItem"} {
								faults.Next(write, canned(http.StatusInternalServerError, "InternalServerError", `{"message":"Injected."}`))
							}
						}
						err := tbl.Do(t.Context(), tt.op)
						if !errors.Is(err, o.err) || err != nil && o.err == nil {
							t.Errorf("%s, lost %v, returned %v, %s: %v, want %v", name, lost, returned, o.stored, err, o.err)
						}
						if reads := len(faults.Requests("GetItem")) > 0; reads != (o.reads && !returned) {
							t.Errorf("%s, lost %v, returned %v, %s: reads %v", name, lost, returned, o.stored, reads)
						}
					})
				}
			}
		}
	}
}

// TestCountsAreSentOnce shows that a patch which adds to a version is not sent again
// after a lost response, and one that assigns only is.
func TestCountsAreSentOnce(t *testing.T) {
	t.Parallel()
	patch := table.Patch(user, table.Item{"n": num("1")})
	for name, tt := range map[string]struct {
		op   table.Op
		sent int
		want error
	}{
		"assigns":            {patch, 2, nil},
		"assigns a revision": {patch.WithRevision("rev", "own"), 2, nil},
		"counts a version":   {patch.WithNextVersion("version"), 1, table.ErrOutcomeUnknown},
	} {
		outage(t, canned(http.StatusOK, "", "{}"), nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
			faults.Next("UpdateItem", canned(http.StatusInternalServerError, "InternalServerError", `{"message":"Injected."}`))
			if err := tbl.Do(t.Context(), tt.op); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			equal(t, name+": requests", len(faults.Requests("UpdateItem")), tt.sent)
		})
	}
}
