package shard_test

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// FuzzMerge has each byte place one item: its high bits say in which of four
// shards, its low bits at which of sixteen times. Pages and stream are the sorted
// truth, whatever the placement.
func FuzzMerge(f *testing.F) {
	tbl := tabletest.New(f, schema, nil)
	f.Add([]byte{0x00, 0x10, 0x20, 0x30, 0x01, 0x11}, byte(0))
	f.Add([]byte{0x05, 0x05, 0x05, 0x05, 0x15, 0x25, 0x35, 0x35}, byte(0x83))
	f.Add([]byte("all of them in one shard"), byte(0x41))
	f.Add([]byte{}, byte(7))
	f.Fuzz(func(t *testing.T, placements []byte, how byte) {
		ties, oldest, limit := how&0x80 != 0, how&0x40 != 0, 1+int(how&7)
		index := shard.Index{Index: "GSI1", Name: keys.Prefix(rand.Text()), Shards: 4, Ties: ties}
		type placed struct{ sk, id string }
		var truth []placed
		var ops []table.Op
		for i, b := range placements[:min(len(placements), 24)] {
			second := []keys.Segment{keys.Time(at(int(b & 15)))}
			name := fmt.Sprintf("%s-%02d", index.Name, i)
			if !ties {
				second = append(second, keys.Str(name))
			}
			sk := keys.None.SK(second...)
			truth = append(truth, placed{string(sk), name})
			ops = append(ops, put(name, keys.Key{PK: index.Name.PK(fmt.Sprint(b >> 4 & 3)), SK: sk}))
		}
		write(t, tbl, ops...)
		slices.SortFunc(truth, func(a, b placed) int {
			return cmp.Or(cmp.Compare(a.sk, b.sk), cmp.Compare(a.id, b.id))
		})
		if !oldest {
			slices.Reverse(truth)
		}
		want := []string{}
		for _, p := range truth {
			want = append(want, p.id)
		}
		r := newReader(t, tbl, index, nil)
		q := shard.Query{OldestFirst: oldest}
		all, err := table.Collect(r.All(t.Context(), q))
		must(t, err)
		equal(t, "stream", ids(all), want)
		q.Limit = limit
		equal(t, "pages", append([]string{}, slices.Concat(pages(t, r, q, nil)...)...), want)
	})
}

// FuzzToken offers arbitrary text as a token, and as the inside of one. Nothing
// panics, everything is refused, and nothing is sent.
func FuzzToken(f *testing.F) {
	tbl, faults := withFaults(f, nil)
	index := globalTx(4)
	seed(f, tbl, index, 10)
	ties := index
	ties.Ties = true
	readers := []*shard.Reader[tx]{newReader(f, tbl, index, nil), newReader(f, tbl, ties, nil)}
	for _, r := range readers {
		page, err := r.Page(f.Context(), shard.Query{Limit: 3, Scope: "alice"})
		must(f, err)
		f.Add(page.Next)
		raw, err := base64.RawURLEncoding.DecodeString(page.Next)
		must(f, err)
		f.Add(string(raw))
	}
	f.Add("x")
	before := queries(faults)
	f.Fuzz(func(t *testing.T, token string) {
		for _, r := range readers {
			for _, after := range []string{token, base64.RawURLEncoding.EncodeToString([]byte(token))} {
				if after == "" {
					continue
				}
				page, err := r.Page(t.Context(), shard.Query{Limit: 3, After: after, Scope: "bob"})
				if !errors.Is(err, paginate.ErrInvalidCursor) || page.Items != nil || page.Next != "" {
					t.Errorf("%q: %v, %v", after, page, err)
				}
			}
		}
		equal(t, "requests", queries(faults)-before, 0)
	})
}
