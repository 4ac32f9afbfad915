package shard_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
)

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
		page := expect.Value(r.Page(f.Context(), shard.Query{Limit: 3, Scope: "alice", Descending: true}))(f)
		f.Add(page.Next)
		raw := expect.Value(base64.RawURLEncoding.DecodeString(page.Next))(f)
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
		expect.Equal(t, "requests", queries(faults)-before, 0)
	})
}
