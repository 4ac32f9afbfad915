package shard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestUndeclaredTies checks that equal sort keys are an error wherever a walk
// could lose an item because of them. Each walk is complete or fails with that
// error, also when the item at its position is deleted between the pages.
func TestUndeclaredTies(t *testing.T) {
	t.Parallel()
	for _, kilobytes := range []int{0, 5} {
		for _, shards := range [][2]int{{1, 1}, {2, 2}, {5, 5}, {5, 1}} {
			t.Run(fmt.Sprintf("%d KB, items in %d of %d shards", kilobytes, shards[1], shards[0]), func(t *testing.T) {
				t.Parallel()
				reported := 0
				for _, first := range []int{2, 5, 9} {
					tbl := tabletest.New(t, spec, nil)
					var ops []table.Op
					want := map[string]bool{}
					for i := range 24 {
						sk := sortKey(i)
						if i/2 == first {
							sk = keys.None.SK(keys.Time(at(i - i%2))) // two items share it
						}
						value := tx{ID: id(i), GSI1PK: partition(globalTx(shards[0]), i/2%shards[1]), GSI1SK: sk, Note: strings.Repeat("x", kilobytes<<10)}
						ops = append(ops, table.Put(txKey(i), value))
						want[id(i)] = true
					}
					write(t, tbl, ops...)
					for limit := 1; limit <= 6; limit++ {
						for _, oldest := range bothWays {
							got, err := walkOver(t, tbl, globalTx(shards[0]), shard.Query{Limit: limit, Descending: !oldest})
							switch {
							case err != nil && (!errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "NonUniqueSortKeys")):
								t.Errorf("limit %d: %v", limit, err)
							case err != nil:
								reported++
							case len(got) != len(want):
								t.Errorf("limit %d, oldest first: %t: %d of %d items and no error", limit, oldest, len(got), len(want))
							}
							write(t, tbl, ops...) // restore what the walk has deleted
						}
					}
				}
				if reported == 0 {
					t.Error("no walk has met equal sort keys")
				}
			})
		}
	}
}

func txKey(i int) keys.Key { return keys.Key{PK: keys.Tx.PK(id(i)), SK: keys.Metadata} }

// walkOver walks page by page and deletes the last item of each page.
func walkOver(t *testing.T, tbl *table.Table, index shard.Index, q shard.Query) (map[string]bool, error) {
	t.Helper()
	r := newReader(t, tbl, index, nil)
	got := map[string]bool{}
	for {
		page, err := r.Page(t.Context(), q)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Items {
			got[v.ID] = true
		}
		if page.Next == "" {
			return got, nil
		}
		q.After = page.Next
		last := page.Items[len(page.Items)-1]
		expect.OK(t, tbl.Do(t.Context(), table.Delete(keys.Key{PK: keys.Tx.PK(last.ID), SK: keys.Metadata})))
	}
}

// TestUndeclaredTiesInDedupe has different values share a sort key, where only
// copies of one value may.
func TestUndeclaredTiesInDedupe(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	for i := range 4 {
		write(t, tbl, put(id(i), globalTx(4).Key(id(i), keys.None.SK(keys.Time(noon)))))
	}
	r := newReader(t, tbl, globalTx(4), &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }})
	for limit := 1; limit <= 4; limit++ {
		page, err := r.Page(t.Context(), shard.Query{Limit: limit, Descending: true})
		if !errors.Is(err, table.ErrInvalid) || len(page.Items) > 0 {
			t.Errorf("%v, %v", page, err)
		}
	}
}

// TestLongIdentity has one that no cursor has room for.
func TestLongIdentity(t *testing.T) {
	t.Parallel()
	tbl, _ := withFaults(t, nil)
	seed(t, tbl, globalTx(2), 3)
	for size, want := range map[int]error{4096: nil, 4097: table.ErrInvalid} {
		index := globalTx(2)
		index.NonUniqueSortKeys = true
		r := newReader(t, tbl, index, &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID + strings.Repeat("x", size-len(v.ID)) }})
		if err := expect.ErrOf(r.Page(t.Context(), shard.Query{Limit: 1})); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestEmptyIdentities has items share a sort key, some with an identity and some without
// one: no item without one is taken for another.
func TestEmptyIdentities(t *testing.T) {
	t.Parallel()
	index := globalTx(3)
	index.NonUniqueSortKeys = true
	tbl := tabletest.New(t, spec, nil)
	all := map[string]int{}
	for i := range 12 {
		write(t, tbl, put(id(i), index.Key(id(i), keys.None.SK(keys.Time(noon)))))
		all[id(i)] = 1
	}
	r := newReader(t, tbl, index, &shard.Options[tx]{Dedupe: func(v tx) string {
		if v.ID < id(6) {
			return v.ID
		}
		return ""
	}})
	for limit := 1; limit <= 12; limit++ {
		got := map[string]int{}
		for q := (shard.Query{Limit: limit}); ; {
			page := expect.Value(r.Page(t.Context(), q))(t)
			for _, v := range page.Items {
				got[v.ID]++
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		expect.Equal(t, "items", got, all)
	}
}

// TestATieIsInsertedLater inserts an item under the sort key of the position.
// No item is lost, but the index declares its sort keys as unique.
func TestATieIsInsertedLater(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	seed(t, tbl, globalTx(4), 20)
	r := newReader(t, tbl, globalTx(4), nil)
	page := expect.Value(r.Page(t.Context(), shard.Query{Limit: 5, Descending: true}))(t)
	write(t, tbl, put("late", globalTx(4).Key("late", sortKey(15))))
	_, err := r.Page(t.Context(), shard.Query{Limit: 5, After: page.Next, Descending: true})
	expect.Err(t, err, table.ErrInvalid)
}

// TestUndecodableRows checks that an item that cannot be decoded fails the page
// that it is on, and no page before.
func TestUndecodableRows(t *testing.T) {
	t.Parallel()
	for _, dedupe := range []func(tx) string{nil, func(v tx) string { return v.ID }} {
		for _, nonUnique := range []bool{false, true} {
			index := globalTx(2)
			index.NonUniqueSortKeys = nonUnique
			tbl := tabletest.New(t, spec, nil)
			seed(t, tbl, index, 20)
			key := index.Key(id(7), sortKey(7))
			expect.OK(t, tbl.Do(t.Context(), table.Put(txKey(7), table.Item{
				"id": &types.AttributeValueMemberN{Value: "7"}, "note": &types.AttributeValueMemberBOOL{Value: true},
				"GSI1PK": attribute(string(key.PK)), "GSI1SK": attribute(string(key.SK)),
			})))
			r := newReader(t, tbl, index, &shard.Options[tx]{Dedupe: dedupe})
			q := shard.Query{Limit: 6, Descending: true}
			for _, want := range [][]string{span(19, 14), span(13, 8)} {
				page := expect.Value(r.Page(t.Context(), q))(t)
				expect.Equal(t, "items", ids(page.Items), want)
				q.After = page.Next
			}
			page, err := r.Page(t.Context(), q)
			refused, ok := errors.AsType[*table.Error](err)
			if !ok || refused.Key != txKey(7) || page.Items != nil || page.Next != "" {
				t.Errorf("%v, %v", page, err)
			}
		}
	}
}

// TestUndecodableCopy checks that a copy that cannot be decoded is not taken for that
// of the value at which the page before has ended.
func TestUndecodableCopy(t *testing.T) {
	t.Parallel()
	tbl, index := tabletest.New(t, spec, nil), globalTx(2)
	seed(t, tbl, index, 4)
	key := index.Key(id(2), sortKey(2))
	copied := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Tx.SK(keys.Str(id(2)))}
	expect.OK(t, tbl.Do(t.Context(), table.Put(copied, table.Item{
		"id": attribute(id(2)), "note": &types.AttributeValueMemberBOOL{Value: true},
		"GSI1PK": attribute(string(key.PK)), "GSI1SK": attribute(string(key.SK)),
	})))
	r := newReader(t, tbl, index, &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }})
	q := shard.Query{Limit: 2, Descending: true}
	page := expect.Value(r.Page(t.Context(), q))(t)
	expect.Equal(t, "items", ids(page.Items), span(3, 2))
	q.After = page.Next
	_, err := r.Page(t.Context(), q)
	if refused, ok := errors.AsType[*table.Error](err); !ok || refused.Key != copied {
		t.Errorf("%v", err)
	}
}
