package table_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
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
	of := func(attributes string) string { return `{"pk":{"S":"A"},"sk":{"S":"B"},` + attributes + `}` }
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
		"Update with a version": {
			table.Update(key, n).IfVersion("n", 7),
			[]outcome{{table.ErrOutcomeUnknown, false, own}},
			[]outcome{{table.ErrStale, false, own}},
		},
		"Update with a condition": {
			table.Update(key, n).If(nIs(9)),
			[]outcome{{table.ErrOutcomeUnknown, false, own}},
			[]outcome{{table.ErrConditionFailed, false, own}},
		},
		"Delete with a revision": {
			table.Delete(key).IfRevision("rev", "before"),
			[]outcome{{nil, true, nobody}, {table.ErrOutcomeUnknown, true, others}},
			[]outcome{{table.ErrStale, false, others}},
		},
		"Delete with a condition": {
			table.Delete(key).IfRevision("rev", "before").If(nIs(1)),
			[]outcome{{table.ErrOutcomeUnknown, true, nobody}, {table.ErrOutcomeUnknown, true, others}},
			[]outcome{{table.ErrStale, true, others}, {table.ErrConditionFailed, true, of(`"n":{"N":"2"},"rev":{"S":"before"}`)}},
		},
		"Delete with a version and a condition": {
			table.Delete(key).IfVersion("version", 3).If(nIs(1)),
			nil,
			[]outcome{{table.ErrStale, true, of(`"n":{"N":"1"},"version":{"N":"2"}`)}, {table.ErrConditionFailed, true, of(`"n":{"N":"2"},"version":{"N":"3"}`)}},
		},
		"Delete of what exists, without a version": {
			table.Delete(key).IfExists().IfVersion("version", 0),
			nil,
			[]outcome{{table.ErrNotFound, true, nobody}, {table.ErrStale, true, of(`"version":{"N":"3"}`)}},
		},
		"Delete of a type and a version": {
			table.Delete(key).IfType("user").IfVersion("version", 7),
			nil,
			[]outcome{
				{table.ErrStale, true, nobody},
				{table.ErrStale, true, of(`"entityType":{"S":"user"},"version":{"N":"3"}`)},
				{table.ErrWrongType, true, of(`"entityType":{"S":"order"},"version":{"N":"7"}`)},
			},
		},
		"Delete of a shape and a version": {
			table.Delete(key).IfVersion("version", 7).Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: 2}}),
			nil,
			[]outcome{
				{table.ErrStale, true, of(`"version":{"N":"3"},"entityShape":{"N":"2"}`)},
				{table.ErrNewerShape, true, of(`"version":{"N":"3"},"entityShape":{"N":"3"},"entityShapeFrom":{"N":"2"}`)},
			},
		},
		"Delete of what a shape admits, and a version": {
			table.Delete(key).IfVersion("version", 7).Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: 2, Admits: true}}),
			nil,
			[]outcome{
				{table.ErrStale, true, of(`"version":{"N":"3"},"entityShape":{"N":"3"},"entityShapeFrom":{"N":"2"}`)},
				{table.ErrNewerShape, true, of(`"version":{"N":"3"},"entityShape":{"N":"3"},"entityShapeFrom":{"N":"3"}`)},
			},
		},
		"Update of what exists": {
			table.Update(key, n).IfExists().IfRevision("rev", "own"),
			nil,
			[]outcome{{table.ErrStale, false, others}, {table.ErrStale, false, nobody}},
		},
		"Update of a type and a revision": {
			table.Update(key, n).IfType("user").IfRevision("rev", ""),
			nil,
			[]outcome{{table.ErrWrongType, true, others}, {table.ErrConflict, true, nobody}},
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
						if !errors.Is(err, o.err) || err != nil && o.err == nil || errors.Is(o.err, table.ErrConditionFailed) && errors.Is(err, table.ErrStale) {
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

// TestReasonThatCannotBeRead shows that a failed condition of several possible reasons
// has the error and the class of the read that was to tell which it is. One that has a
// single reason needs no read, and one that DynamoDB explains by the item neither.
func TestReasonThatCannotBeRead(t *testing.T) {
	t.Parallel()
	key := keys.Key{PK: "A", SK: "B"}
	n := expression.Set(expression.Name("n"), expression.Value(1))
	refusal := canned(http.StatusBadRequest, "ConditionalCheckFailedException", `{"message":"Injected."}`)
	reads := map[string]struct {
		fault tabletest.Fault
		is    error
		class table.Class
	}{
		"throttled":  {tabletest.Throttle(), table.ErrThrottled, table.Transient},
		"500":        {tabletest.Status(http.StatusInternalServerError, "InternalServerError", ""), nil, table.Transient},
		"broken":     {tabletest.DropRequest(), nil, table.Transient},
		"unreadable": {canned(http.StatusOK, "", "<html>"), nil, table.Transient},
		"ended":      {tabletest.Block(nil), context.DeadlineExceeded, table.Transient},
		"denied":     {tabletest.Status(http.StatusBadRequest, "AccessDeniedException", ""), nil, table.Unclassified},
	}
	for name, write := range map[string]struct {
		op      table.Op
		several bool
	}{
		"Create":                {table.Create(key, nil), false},
		"Create, condition":     {table.Create(key, nil).If(nIs(1)), true},
		"Put, type":             {table.Put(key, nil).IfType("user"), false},
		"Put, type, revision":   {table.Put(key, nil).IfType("user").IfRevision("rev", "a"), true},
		"Patch, type, version":  {table.Patch(key, table.Item{"n": num("1")}).IfType("user").IfVersion("v", 7), true},
		"Update, condition":     {table.Update(key, n).If(nIs(1)), false},
		"Update, exists":        {table.Update(key, n).IfExists(), false},
		"Update, version":       {table.Update(key, n).IfExists().IfVersion("v", 7), false},
		"Update, shape, exists": {table.Update(key, n).IfExists().Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: 2}}), true},
		"Delete, condition":     {table.Delete(key).IfExists().If(nIs(1)), true},
		"Delete, type, admits":  {table.Delete(key).IfType("user").Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: 2, Admits: true}}), true},
	} {
		for fault, read := range reads {
			outage(t, refusal, nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				faults.Always("GetItem", read.fault)
				err := tbl.Do(ctx, write.op)
				failed, _ := errors.AsType[*types.ConditionalCheckFailedException](err)
				switch {
				case !write.several:
					if len(faults.Requests("GetItem")) > 0 || table.Classify(err) != table.Permanent {
						t.Errorf("%s, %s: %v, %v", name, fault, err, table.Classify(err))
					}
				case !errors.Is(err, table.ErrConditionFailed), failed == nil, read.is != nil && !errors.Is(err, read.is):
					t.Errorf("%s, %s: %v", name, fault, err)
				case table.Classify(err) != read.class:
					t.Errorf("%s, %s: %v is %v", name, fault, err, table.Classify(err))
				}
			})
		}
	}
}

// TestCountsAreSentOnce shows that an update which adds is not sent again after a lost
// response, and a patch is.
func TestCountsAreSentOnce(t *testing.T) {
	t.Parallel()
	patch := table.Patch(user, table.Item{"n": num("1")})
	for name, tt := range map[string]struct {
		op   table.Op
		sent int
		want error
	}{
		"assigns": {patch, 2, nil},
		"counts":  {table.Update(user, expression.Add(expression.Name("n"), expression.Value(1))), 1, table.ErrOutcomeUnknown},
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
