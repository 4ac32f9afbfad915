package shard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestShard pins the shards of some ids. Items are stored by them: a change
// here would make every reader look for them in the wrong place.
func TestShard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id                         string
		of2, of7, of10, of16, of64 string
		of256                      string
	}{
		{"tx-abc", "0", "5", "2", "12", "44", "44"},
		{"TX-ABC", "0", "2", "4", "12", "12", "204"},
		{"tx-000001", "1", "2", "7", "7", "23", "151"},
		{"01HMABCDEF", "0", "2", "2", "14", "30", "94"},
		{"550e8400-e29b-41d4-a716-446655440000", "0", "1", "4", "8", "8", "72"},
		{"ünï", "0", "3", "6", "6", "22", "86"},
		{"a", "0", "5", "6", "12", "12", "140"},
		{"foobar", "0", "6", "8", "8", "40", "232"},
		{"", "1", "2", "7", "5", "37", "37"},
	} {
		for shards, want := range map[int]string{
			1: "", 2: tt.of2, 7: tt.of7, 10: tt.of10, 16: tt.of16, 64: tt.of64, 256: tt.of256,
		} {
			if got := globalTx(shards).Shard(tt.id); got != want {
				t.Errorf("%q of %d: %q, want %q", tt.id, shards, got, want)
			}
		}
	}
}

// TestShardSpreads looks at how ids with a counter, which differ in their last
// bytes only, fall.
func TestShardSpreads(t *testing.T) {
	t.Parallel()
	const ids, shards = 16_000, 16
	count := map[string]int{}
	for i := range ids {
		count[globalTx(shards).Shard(fmt.Sprintf("tx-%06d", i))]++
	}
	for label, n := range count {
		if n < ids/shards*8/10 || n > ids/shards*12/10 {
			t.Errorf("shard %s has %d of %d ids", label, n, ids)
		}
	}
	equal(t, "shards", len(count), shards)
}

func TestKey(t *testing.T) {
	t.Parallel()
	labels := func(labels ...string) shard.Index {
		return shard.Index{Index: "GSI1", Name: "GLOBAL_TX", Labels: labels}
	}
	const sk = "2024-01-15T10:05:00.000Z#tx-abc"
	for name, tt := range map[string]struct {
		index shard.Index
		want  keys.PK
	}{
		"16":              {globalTx(16), "GLOBAL_TX#12"},
		"256":             {globalTx(256), "GLOBAL_TX#44"},
		"1":               {globalTx(1), "GLOBAL_TX"},
		"labels":          {labels("north", "south", "west#1"), "GLOBAL_TX#south"},
		"one label":       {labels("only"), "GLOBAL_TX#only"},
		"one empty label": {labels(""), "GLOBAL_TX"},
		"escaped":         {shard.Index{Index: "GSI1", Name: "ALL TX", Shards: 16}, "ALL%20TX#12"},
	} {
		must(t, tt.index.Validate())
		equal(t, name, tt.index.Key("tx-abc", sk), keys.Key{PK: tt.want, SK: sk})
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	const sk = "2024-01-15T10:05:00.000Z#tx-abc"
	before, after := globalTx(10), globalTx(16)
	stored := before.Key("tx-abc", sk)
	equal(t, "before", stored.PK, "GLOBAL_TX#2")
	equal(t, "stored", after.Stored(stored.PK, "tx-abc", sk), stored)
	equal(t, "not stored", after.Stored("", "tx-abc", sk), after.Key("tx-abc", sk))
}

// TestKeyOfNoShard checks that an item cannot be written where no reader looks.
func TestKeyOfNoShard(t *testing.T) {
	t.Parallel()
	tbl, err := table.New(tabletest.Client(t), schema, nil)
	must(t, err)
	for name, index := range map[string]shard.Index{
		"no shards":      {Index: "GSI1", Name: "GLOBAL_TX"},
		"minus one":      globalTx(-1),
		"unknown label":  {Index: "GSI1", Name: "GLOBAL_TX", Labels: []string{"a"}, Of: func(string) string { return "b" }},
		"empty label":    {Index: "GSI1", Name: "GLOBAL_TX", Labels: []string{"a"}, Of: func(string) string { return "" }},
		"numbered shard": {Index: "GSI1", Name: "GLOBAL_TX", Shards: 1, Of: func(string) string { return "0" }},
	} {
		_, err := tbl.IndexKey("GSI1", index.Key("tx-abc", "1"))
		if !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	of := func(string) string { return "a" }
	many := make([]string, 257)
	for i := range many {
		many[i] = fmt.Sprint("s", i)
	}
	long := keys.Prefix(strings.Repeat("x", keys.MaxPK-2))
	for name, tt := range map[string]struct {
		index shard.Index
		want  []string // parts of the message; none if it is valid
	}{
		"one":             {shard.Index{Index: "GSI1", Name: "A", Shards: 1}, nil},
		"most":            {shard.Index{Index: "GSI1", Name: "A", Shards: 256, Ties: true}, nil},
		"labels":          {shard.Index{Index: "GSI1", Name: "A", Labels: []string{"a", "b#c"}, Of: of}, nil},
		"most labels":     {shard.Index{Index: "GSI1", Name: "A", Labels: many[:256]}, nil},
		"an empty label":  {shard.Index{Index: "GSI1", Name: "A", Labels: []string{""}}, nil},
		"long name":       {shard.Index{Index: "GSI1", Name: long, Shards: 10}, nil},
		"nothing":         {shard.Index{}, []string{"Index: is empty", "Name: ", "Shards: 0 is not 1 to 256"}},
		"no index":        {shard.Index{Name: "A", Shards: 1}, []string{"Index: is empty"}},
		"no name":         {shard.Index{Index: "GSI1", Shards: 1}, []string{"Name: "}},
		"bad name":        {shard.Index{Index: "GSI1", Name: "\xff", Shards: 2}, []string{"Name: "}},
		"name too long":   {shard.Index{Index: "GSI1", Name: long, Shards: 11}, []string{`Labels: "10": `}},
		"negative":        {shard.Index{Index: "GSI1", Name: "A", Shards: -3}, []string{"Shards: -3 is not 1 to 256"}},
		"too many":        {shard.Index{Index: "GSI1", Name: "A", Shards: 257}, []string{"Shards: 257 is not 1 to 256"}},
		"far too many":    {shard.Index{Index: "GSI1", Name: "A", Shards: 1 << 62}, []string{"is not 1 to 256"}},
		"both":            {shard.Index{Index: "GSI1", Name: "A", Shards: 2, Labels: []string{"a", "b"}}, []string{"Labels: go without Shards"}},
		"too many labels": {shard.Index{Index: "GSI1", Name: "A", Labels: many}, []string{"Labels: 257 are more than 256"}},
		"label twice":     {shard.Index{Index: "GSI1", Name: "A", Labels: []string{"a", "b", "a"}}, []string{`Labels: "a" is there twice`}},
		"empty label":     {shard.Index{Index: "GSI1", Name: "A", Labels: []string{"a", ""}}, []string{`Labels: "" is there twice or empty`}},
		"bad label":       {shard.Index{Index: "GSI1", Name: "A", Labels: []string{"a\xff"}}, []string{`Labels: "a\xff": `}},
		"hash alone":      {shard.Index{Index: "GSI1", Name: "A", Shards: 4, Of: of}, []string{"Of: goes with Labels"}},
	} {
		err := tt.index.Validate()
		if len(tt.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, shard.ErrInvalidIndex) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v; want %q in it", name, err, part)
			}
		}
		if n := strings.Count(err.Error(), ";") + 1; n != len(tt.want) {
			t.Errorf("%s: %v; want %d problems", name, err, len(tt.want))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	s := schema
	s.Indexes = append(s.Indexes[:1:1],
		table.Index{Name: "numbers", PK: "npk", SK: "nsk", SKType: "N"},
		table.Index{Name: "binaries", PK: "bpk", PKType: "B", SK: "bsk"},
		table.Index{Name: "unordered", PK: "upk"})
	tbl, err := table.New(tabletest.Client(t), s, nil)
	must(t, err)
	for name, tt := range map[string]struct {
		tbl     *table.Table
		index   shard.Index
		options *shard.Options[tx]
	}{
		"nil table":            {nil, globalTx(4), nil},
		"bad index":            {tbl, globalTx(0), nil},
		"unknown index":        {tbl, shard.Index{Index: "GSI9", Name: "A", Shards: 4}, nil},
		"sort key of numbers":  {tbl, shard.Index{Index: "numbers", Name: "A", Shards: 4}, nil},
		"partitions of bytes":  {tbl, shard.Index{Index: "binaries", Name: "A", Shards: 4}, nil},
		"no sort key":          {tbl, shard.Index{Index: "unordered", Name: "A", Shards: 4}, nil},
		"negative concurrency": {tbl, globalTx(4), &shard.Options[tx]{Concurrency: -1}},
	} {
		r, err := shard.New(tt.tbl, tt.index, tt.options)
		if !errors.Is(err, shard.ErrInvalidIndex) || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	_ = newReader(t, tbl, globalTx(4), &shard.Options[tx]{})
}
