package shard_test

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// FuzzMerge has each byte place one item: its high bits say in which of four
// shards, its low bits at which of sixteen times. Pages and stream are the sorted
// truth, whatever the item.
func FuzzMerge(f *testing.F) {
	tbl := tabletest.New(f, schema, nil)
	f.Add([]byte{0x00, 0x10, 0x20, 0x30, 0x01, 0x11}, byte(0))
	f.Add([]byte{0x05, 0x05, 0x05, 0x05, 0x15, 0x25, 0x35, 0x35}, byte(0x83))
	f.Add([]byte("all of them in one shard"), byte(0x41))
	f.Add([]byte{}, byte(7))
	f.Fuzz(func(t *testing.T, items []byte, how byte) {
		ties, oldest, limit := how&0x80 != 0, how&0x40 != 0, 1+int(how&7)
		index := shard.Index{Index: "GSI1", Prefix: keys.Prefix(rand.Text()), Shards: 4, NonUniqueSortKeys: ties}
		type placed struct{ sk, id string }
		var truth []placed
		var ops []table.Op
		for i, b := range items[:min(len(items), 24)] {
			second := []keys.Segment{keys.Time(at(int(b & 15)))}
			name := fmt.Sprintf("%s-%02d", index.Prefix, i)
			if !ties {
				second = append(second, keys.Str(name))
			}
			sk := keys.None.SK(second...)
			truth = append(truth, placed{string(sk), name})
			ops = append(ops, put(name, keys.Key{PK: partition(index, int(b>>4&3)), SK: sk}))
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
		q := shard.Query{Descending: !oldest}
		all, err := table.Collect(r.All(t.Context(), q))
		must(t, err)
		equal(t, "stream", ids(all), want)
		q.Limit = limit
		equal(t, "pages", append([]string{}, slices.Concat(pages(t, r, q, nil)...)...), want)
	})
}

// FuzzFollowing checks the end of arbitrary prefixes: a sort key that DynamoDB
// takes, after all keys with the prefix, and before those that follow them.
func FuzzFollowing(f *testing.F) {
	f.Add("TX#", "1", "TX$0")
	f.Add("\U0010FFFF", "\U0010FFFF", "")
	f.Add("a\uD7FF", "x", "a\uE000")
	f.Fuzz(func(t *testing.T, prefix, rest, other string) {
		if prefix == "" || len(prefix) > keys.MaxSK || !utf8.ValidString(prefix) || !utf8.ValidString(rest) || !utf8.ValidString(other) {
			return
		}
		end := string(shard.Following(keys.SK(prefix)))
		if len(end) > keys.MaxSK || !utf8.ValidString(end) || strings.HasPrefix(end, prefix) {
			t.Fatalf("%q follows %q", end, prefix)
		}
		if end != "" && prefix+rest >= end {
			t.Errorf("%q follows %q, and %q does not come before it", end, prefix, prefix+rest)
		}
		if other > prefix && !strings.HasPrefix(other, prefix) && (end == "" || other < end) && len(prefix)+utf8.UTFMax <= keys.MaxSK {
			t.Errorf("%q follows %q, and %q comes before it", end, prefix, other)
		}
	})
}

// FuzzCursor offers arbitrary text as a cursor, and as the inside of one. Nothing
// panics, everything is refused, and nothing is sent.
func FuzzCursor(f *testing.F) {
	tbl, faults := withFaults(f, nil)
	index := globalTx(4)
	seed(f, tbl, index, 10)
	ties := index
	ties.NonUniqueSortKeys = true
	readers := []*shard.Reader[tx]{newReader(f, tbl, index, nil), newReader(f, tbl, ties, nil)}
	for _, r := range readers {
		page, err := r.Page(f.Context(), shard.Query{Limit: 3, Scope: "alice", Descending: true})
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
				page, err := r.Page(t.Context(), shard.Query{Limit: 3, After: after, Scope: "bob", Descending: true})
				if !errors.Is(err, paginate.ErrInvalidCursor) || page.Items != nil || page.Next != "" {
					t.Errorf("%q: %v, %v", after, page, err)
				}
			}
		}
		equal(t, "requests", queries(faults)-before, 0)
	})
}
