package shard_test

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// FuzzIndex describes arbitrary indexes and files arbitrary ids in them. An
// index that is not refused has every id in one of its shards, under the key of
// that shard.
func FuzzIndex(f *testing.F) {
	f.Add("GSI1", "GLOBAL_TX", 16, "", "tx-abc", "tx-abc", byte(0))
	f.Add("GSI1", "GLOBAL_TX", 1, "", "", "", byte(0))
	f.Add("GSI1", "GLOBAL#TX", 256, "", "a#b", "\xff", byte(0))
	f.Add("GSI1", "", 257, "", "a", "a", byte(0))
	f.Add("", "T", -1, "#a,#b,#b", "a", "a", byte(1))
	f.Add("GSI1", "T", 0, "#a,#b#c,\x00,", "é日🙂", "x", byte(1))
	f.Add("GSI1", "T", 0, "_0,\xff", "c", "x", byte(1))
	f.Add("GSI1", "", 0, "a,b", "c", "x", byte(3))
	f.Add("GSI1", "T", 2, "", "c", "x", byte(3))
	f.Add("GSI1", strings.Repeat("T", 2047), 2, "", "c", strings.Repeat("x", 1025), byte(0))
	f.Add("GSI1", "T", math.MaxInt, strings.Repeat("#a,", 300), "c", "x", byte(0))
	tbl := tabletest.New(f, spec, nil)
	f.Fuzz(func(t *testing.T, name, prefix string, shards int, suffixes, id, sk string, how byte) {
		x := shard.Index{Index: name, Prefix: keys.Prefix(prefix), Shards: shards}
		if how&1 != 0 {
			x.Suffixes = strings.Split(suffixes, ",")
		}
		if how&2 != 0 {
			x.ShardFunc = func(id string) int { return len(id) - 1 }
		}
		// A writer can have keys of an index that nobody has looked at yet.
		key := x.Key(id, keys.SK(sk))
		err := x.Validate()
		_, newErr := shard.New[tx](tbl, x, nil)
		if err != nil {
			if !errors.Is(err, table.ErrInvalid) || !errors.Is(newErr, table.ErrInvalid) {
				t.Errorf("%+v: Validate %v, New %v", x, err, newErr)
			}
			return
		}
		if (newErr == nil) != (name == "GSI1") || newErr != nil && !errors.Is(newErr, table.ErrInvalid) {
			t.Errorf("%+v: New %v", x, newErr)
		}
		number, count := x.Shard(id), max(x.Shards, len(x.Suffixes))
		known := number >= 0 && number < count
		if x.ShardFunc == nil && !known {
			t.Errorf("%+v: %q is in shard %d", x, id, number)
		}
		if again := x.Key(id, keys.SK(sk)); again != key {
			t.Errorf("%q has the keys %q and %q", id, key, again)
		}
		if valid := key.PK.Validate() == nil; valid != known {
			t.Errorf("%+v: %q of shard %d has the key %q, valid: %v", x, id, number, key, valid)
		}
		if known {
			want := x.Prefix.PK()
			switch {
			case x.Suffixes != nil:
				want += keys.PK(x.Suffixes[number])
			case number > 0:
				want = x.Prefix.PK(strconv.Itoa(number))
			}
			expect.Equal(t, "partition key", key.PK, want)
			expect.Equal(t, "stored", x.KeyAt(key.PK, id+"other", keys.SK(sk)), key)
		}
	})
}

// foreignTable returns a table whose next n queries get a response with a body. Later
// queries get an empty response.
func foreignTable(t *testing.T, n int, body string) *table.Table {
	t.Helper()
	faults := &tabletest.Faults{}
	respond := func(body string) tabletest.Fault {
		return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return expect.Response(r, http.StatusOK, "", body), nil
		}
	}
	faults.Next("Query", slices.Repeat([]tabletest.Fault{respond(body)}, n)...)
	faults.Always("Query", respond(`{}`))
	once := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
	return expect.Value(table.New(tabletest.Client(t, once, faults.Install), spec, nil))(t)
}

// FuzzForeignItems has a reader meet arbitrary items of other writers in all of
// its shards. Pages are no longer than their limit, and an error comes without
// a page.
func FuzzForeignItems(f *testing.F) {
	for _, items := range []string{
		``,
		`{}`,
		`{"GSI1PK":{"S":"GLOBAL_TX#1"},"GSI1SK":{"S":"2024"},"pk":{"S":"TX#1"},"sk":{"S":"METADATA"},"id":{"S":"1"}}`,
		`{"GSI1SK":{"S":"2024"},"pk":{"S":"a"},"sk":{"S":"b"}},{"GSI1SK":{"S":"2024"},"pk":{"S":"a"},"sk":{"S":"b"}}`,
		`{"GSI1SK":{"S":"b"},"pk":{"S":"a"},"sk":{"S":"b"}},{"GSI1SK":{"S":"c"},"pk":{"S":"a"},"sk":{"S":"b"}},{"GSI1SK":{"S":"a"}}`,
		`{"GSI1SK":{"N":"1"},"id":{"N":"1"}},{"GSI1SK":null},{"GSI1SK":{"S":""}}`,
	} {
		f.Add(items, `{}`, byte(1))
		f.Add(items, `{"GSI1PK":{"S":"GLOBAL_TX#0"},"GSI1SK":{"S":"a"},"pk":{"S":"a"},"sk":{"S":"b"}}`, byte(0x83))
		f.Add(items, `{"GSI1SK":{"N":"1"}}`, byte(0xC0))
	}
	f.Fuzz(func(t *testing.T, items, last string, how byte) {
		body := `{"Items":[` + items + `],"Count":1,"ScannedCount":1,"LastEvaluatedKey":` + last + `}`
		tbl := foreignTable(t, 6, body)
		index := globalTx(2)
		index.NonUniqueSortKeys = how&0x80 != 0
		var options shard.Options[tx]
		if how&0x40 != 0 {
			options.Dedupe = func(v tx) string { return v.ID }
		}
		r := newReader(t, tbl, index, &options)
		q := shard.Query{Limit: 1 + int(how&3), Descending: how&0x20 == 0, Scope: "alice"}
		page, err := r.Page(t.Context(), q)
		switch {
		case err != nil && (page.Items != nil || page.Next != ""):
			t.Errorf("%v with error %v", page, err)
		case len(page.Items) > q.Limit:
			t.Errorf("%d items, the limit is %d", len(page.Items), q.Limit)
		case page.Next != "" && len(page.Items) > 0 && page.Items[len(page.Items)-1].GSI1SK != "":
			// What it gives out, it takes. There is no place behind an item
			// without sort key, which no index has.
			q.After = page.Next
			_, err := r.Page(t.Context(), q)
			if _, inside := errors.AsType[*table.Error](err); errors.Is(err, paginate.ErrInvalidCursor) && !inside {
				t.Errorf("its own cursor: %v", err)
			}
		}
		ended := false
		for v, err := range r.All(t.Context(), shard.Query{Descending: true}) {
			if ended || err != nil && v != (tx{}) {
				t.Errorf("%v with or after the error %v", v, err)
			}
			ended = err != nil
		}
	})
}
