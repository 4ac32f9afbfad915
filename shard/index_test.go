package shard_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestShard pins the shards of some ids. Items are stored by them: a change
// here would make every reader look for them in the wrong place.
func TestShard(t *testing.T) {
	t.Parallel()
	counts := []int{1, 2, 7, 10, 16, 64, 256}
	for id, want := range map[string][]int{
		"tx-abc":                               {0, 0, 3, 2, 14, 30, 30},
		"TX-ABC":                               {0, 1, 0, 5, 11, 11, 11},
		"tx-000001":                            {0, 1, 5, 1, 11, 43, 171},
		"01HMABCDEF":                           {0, 0, 6, 6, 0, 16, 80},
		"550e8400-e29b-41d4-a716-446655440000": {0, 1, 0, 5, 15, 63, 191},
		"u-1/o-1":                              {0, 1, 6, 5, 11, 59, 59},
		"ünï":                                  {0, 1, 3, 7, 3, 35, 227},
		"a":                                    {0, 1, 1, 5, 11, 27, 91},
		"foobar":                               {0, 1, 3, 5, 11, 43, 43},
		"":                                     {0, 0, 1, 2, 6, 38, 38},
	} {
		var got []int
		for _, shards := range counts {
			got = append(got, globalTx(shards).Shard(id))
		}
		expect.Equal(t, id, got, want)
	}
}

func TestShardOfNoShards(t *testing.T) {
	t.Parallel()
	expect.Equal(t, "shard", shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX"}.Shard("tx-abc"), -1)
}

// TestShardsFillEvenly checks that ordinary ids fill all shards alike.
func TestShardsFillEvenly(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	hex := func(i int) string { return fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15) }
	when := func(i int) time.Time { return noon.Add(time.Duration(i) * 250 * time.Millisecond) }
	for name, id := range map[string]func(i int) string{
		"a counter":                    func(i int) string { return fmt.Sprint(i) },
		"a counter with a prefix":      func(i int) string { return fmt.Sprint("tx-", i) },
		"a counter of fixed width":     func(i int) string { return fmt.Sprintf("tx-%08d", i) },
		"a counter in base 36":         func(i int) string { return strconv.FormatInt(int64(i), 36) },
		"a counter in steps of 16":     func(i int) string { return fmt.Sprint(16 * i) },
		"a counter in steps of 1000":   func(i int) string { return fmt.Sprint(1000 * i) },
		"a number before a name":       func(i int) string { return fmt.Sprint(i, "@example.com") },
		"a number in the middle":       func(i int) string { return fmt.Sprint("order/", i, "/line/1") },
		"a pair with one number twice": func(i int) string { return fmt.Sprintf("u-%d/o-%d", i, i) },
		"one number three times":       func(i int) string { return fmt.Sprintf("%d-%d-%d", i, i, i) },
		"a pair of two numbers":        func(i int) string { return fmt.Sprintf("u-%d/o-%d", i%100, i/100) },
		"a pair, the second reversed":  func(i int) string { return fmt.Sprintf("%06d:%06d", i, 999_999-i) },
		"a time in seconds":            func(i int) string { return fmt.Sprint(noon.Unix() + int64(i)) },
		"a time in milliseconds":       func(i int) string { return fmt.Sprint(when(i).UnixMilli()) },
		"a time as text":               func(i int) string { return when(i).Format(time.RFC3339Nano) },
		"a day and a counter": func(i int) string {
			return fmt.Sprintf("%s-%04d", noon.AddDate(0, 0, i/500).Format(time.DateOnly), i%500)
		},
		"a random UUID":         func(int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", rnd.Uint32(), rnd.Uint64()>>16) },
		"a UUID by time":        func(i int) string { return fmt.Sprintf("%08x-%04x-7000-8000-%012x", i>>16, i&0xffff, i) },
		"a ULID":                func(i int) string { return fmt.Sprintf("01HM%06X%016X", i, rnd.Uint64()) },
		"a ULID, counted up":    func(i int) string { return fmt.Sprintf("01HMABCDEF0000000000%06X", i) },
		"a hash in hexadecimal": hex,
		"an e-mail address":     func(i int) string { return fmt.Sprintf("user%d+%d@mail%d.example.com", i, i, i%3) },
		"a single letter":       func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 1+i/26%40) + fmt.Sprint(i/1040) },
	} {
		for _, shards := range []int{4, 10, 16, 64} {
			const each = 300
			count := make([]int, shards)
			index := globalTx(shards)
			for i := range each * shards {
				count[index.Shard(id(i))]++
			}
			if most, least := slices.Max(count), slices.Min(count); most > each*3/2 || least < each/2 {
				t.Errorf("%s: the shards of %d have %d to %d ids, %d on average", name, shards, least, most, each)
			}
		}
	}
}

// suffixed is an index of listed partitions.
func suffixed(prefix keys.Prefix, suffixes ...string) shard.Index {
	return shard.Index{Index: "GSI1", Prefix: prefix, Suffixes: suffixes}
}

func TestKey(t *testing.T) {
	t.Parallel()
	const sk = "2024-01-15T10:05:00.000Z#tx-abc"
	last := func(string) int { return 2 }
	withFunc := func(x shard.Index) shard.Index {
		x.ShardFunc = last
		return x
	}
	for name, tt := range map[string]struct {
		index shard.Index
		want  keys.PK
	}{
		"16":                   {globalTx(16), "GLOBAL_TX#14"},
		"256":                  {globalTx(256), "GLOBAL_TX#30"},
		"1":                    {globalTx(1), "GLOBAL_TX"},
		"numbered from 0":      {withFunc(suffixed("GLOBAL_TX", "#0", "#1", "#2")), "GLOBAL_TX#2"},
		"another separator":    {withFunc(suffixed("GLOBAL_TX", "_1", "_2", "_3")), "GLOBAL_TX_3"},
		"separator in prefix":  {withFunc(suffixed("GLOBAL_TX_", "1", "2", "3")), "GLOBAL_TX_3"},
		"grown from one":       {withFunc(suffixed("GLOBAL_TX", "#a", "#b", "")), "GLOBAL_TX"},
		"whole partition keys": {withFunc(suffixed("", "0 TX", "1 TX", "2 TX")), "2 TX"},
		"a rule and a number":  {withFunc(globalTx(4)), "GLOBAL_TX#2"},
		"a rule and shard 0":   {shard.Index{Index: "GSI1", Prefix: "A", Shards: 4, ShardFunc: func(string) int { return 0 }}, "A"},
		"by the default rule":  {suffixed("GLOBAL_TX", "-north", "-south"), "GLOBAL_TX-north"},
		"one suffix":           {suffixed("GLOBAL_TX", "#only"), "GLOBAL_TX#only"},
		"an empty one":         {suffixed("GLOBAL_TX", ""), "GLOBAL_TX"},
		"escaped":              {shard.Index{Index: "GSI1", Prefix: "ALL TX", Shards: 16}, "ALL%20TX#14"},
	} {
		expect.OK(t, tt.index.Validate())
		expect.Equal(t, name, tt.index.Key("tx-abc", sk), keys.Key{PK: tt.want, SK: sk})
	}
}

func TestKeyAt(t *testing.T) {
	t.Parallel()
	const sk = "2024-01-15T10:05:00.000Z#tx-abc"
	before, after := globalTx(10), globalTx(16)
	stored := before.Key("tx-abc", sk)
	if moved := after.Key("tx-abc", sk); moved == stored {
		t.Fatalf("the shard of 10 and that of 16 are the same: %q", moved.PK)
	}
	expect.Equal(t, "stored", after.KeyAt(stored.PK, "tx-abc", sk), stored)
	expect.Equal(t, "not stored", after.KeyAt("", "tx-abc", sk), after.Key("tx-abc", sk))

	// An item that was in the index for another access pattern must not stay where
	// no reader of this one looks.
	suffixes := shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Suffixes: []string{"_1", "_2"}}
	whole := shard.Index{Index: "GSI1", Suffixes: []string{"ALL_TX", "MORE_TX"}}
	for _, tt := range []struct {
		index  shard.Index
		stored keys.PK
		stays  bool
	}{
		{after, "GLOBAL_TX", true},
		{after, "GLOBAL_TX#15", true},
		{after, "GLOBAL_TX#99", true}, // of a newer release, which has more shards
		{after, "GLOBAL_TX_1", false},
		{after, "GLOBAL_TXN", false},
		{after, "GLOBAL", false},
		{after, "USER#u-123", false},
		{suffixes, "GLOBAL_TX_2", true},
		{after, "GLOBAL_TX#255", true},
		{after, "GLOBAL_TX#256", false},
		{after, "GLOBAL_TX#0", false},
		{after, "GLOBAL_TX#07", false},
		{after, "GLOBAL_TX#+7", false},
		{after, "GLOBAL_TX#", false},
		{after, "GLOBAL_TX#OPEN", false},
		{after, "GLOBAL_TX#7#x", false},
		{suffixes, "GLOBAL_TX_3", false}, // of a release that has one more: it moves to where both read
		{suffixes, "GLOBAL_TX", false},
		{suffixes, "GLOBAL_TXN", false},
		{suffixes, "USER#u-123", false},
		{whole, "MORE_TX", true},
		{whole, "USER#u-123", false},
		{whole, "", false},
	} {
		want := tt.index.Key("tx-abc", sk)
		if tt.stays {
			want.PK = tt.stored
		}
		expect.Equal(t, string(tt.stored), tt.index.KeyAt(tt.stored, "tx-abc", sk), want)
	}
}

// TestKeyOfAMissingShard checks that no item is written to a shard that no reader
// reads.
func TestKeyOfAMissingShard(t *testing.T) {
	t.Parallel()
	tbl := expect.Value(table.New(tabletest.Client(t), spec, nil))(t)
	by := func(x shard.Index, number int) shard.Index {
		x.ShardFunc = func(string) int { return number }
		return x
	}
	for name, index := range map[string]shard.Index{
		"no shards":                 {Index: "GSI1", Prefix: "GLOBAL_TX"},
		"no shards, with a rule":    by(globalTx(0), 0),
		"minus one":                 globalTx(-1),
		"a number too high":         by(globalTx(4), 4),
		"a number too low":          by(globalTx(4), -1),
		"a suffix too far":          by(suffixed("GLOBAL_TX", "#a"), 1),
		"a partition key too far":   by(suffixed("", "GLOBAL_TX"), 1),
		"a suffix before the first": by(suffixed("GLOBAL_TX", "#a"), -1),
	} {
		_, err := tbl.IndexKey("GSI1", index.Key("tx-abc", "1"))
		if !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	of := func(string) int { return 0 }
	many := make([]string, 257)
	for i := range many {
		many[i] = fmt.Sprint("#s", i)
	}
	long := keys.Prefix(strings.Repeat("x", keys.MaxPK-2))
	for name, tt := range map[string]struct {
		index shard.Index
		want  []string // parts of the message; none if it is valid
	}{
		"one":                 {shard.Index{Index: "GSI1", Prefix: "A", Shards: 1}, nil},
		"most":                {shard.Index{Index: "GSI1", Prefix: "A", Shards: 256, NonUniqueSortKeys: true}, nil},
		"a rule":              {shard.Index{Index: "GSI1", Prefix: "A", Shards: 4, ShardFunc: of}, nil},
		"suffixes":            {shard.Index{Index: "GSI1", Prefix: "A", Suffixes: []string{"#a", "_b#c", ""}, ShardFunc: of}, nil},
		"whole keys":          {suffixed("", "a", "0", "b#c"), nil},
		"prefix with its end": {suffixed("A-", "0", "1"), nil},
		"most suffixes":       {suffixed("A", many[:256]...), nil},
		"long prefix":         {shard.Index{Index: "GSI1", Prefix: long, Shards: 10}, nil},
		"nothing":             {shard.Index{}, []string{"Index: is empty", "Shards: 0 is not 1 to 256", "Prefix: "}},
		"no index":            {shard.Index{Prefix: "A", Shards: 1}, []string{"Index: is empty"}},
		"no prefix":           {shard.Index{Index: "GSI1", Shards: 1}, []string{"Prefix: "}},
		"bad prefix":          {shard.Index{Index: "GSI1", Prefix: "\xff", Shards: 2}, []string{"Prefix: "}},
		"prefix too long":     {shard.Index{Index: "GSI1", Prefix: long, Shards: 11}, []string{"Shards: 10: "}},
		"negative":            {shard.Index{Index: "GSI1", Prefix: "A", Shards: -3}, []string{"Shards: -3 is not 1 to 256"}},
		"too many":            {shard.Index{Index: "GSI1", Prefix: "A", Shards: 257}, []string{"Shards: 257 is not 1 to 256"}},
		"far too many":        {shard.Index{Index: "GSI1", Prefix: "A", Shards: math.MaxInt}, []string{"is not 1 to 256"}},
		"both":                {shard.Index{Index: "GSI1", Prefix: "A", Shards: 2, Suffixes: []string{"#a", "#b"}}, []string{"Suffixes: do not go together with Shards"}},
		"too many suffixes":   {suffixed("A", many...), []string{"Suffixes: 257 are more than 256"}},
		"suffix twice":        {suffixed("A", "#a", "#b", "#a"), []string{"Suffixes: 2: is in the list twice"}},
		"empty twice":         {suffixed("A", "", "#a", ""), []string{"Suffixes: 2: is in the list twice"}},
		"empty whole key":     {suffixed("", "a", ""), []string{"Suffixes: 1: keys: invalid partition key"}},
		"bad suffix":          {suffixed("A", "#a\xff"), []string{"Suffixes: 0: keys: invalid partition key"}},
		"forgotten separator": {suffixed("GLOBAL_TX", "0", "1"), []string{"Suffixes: 0: no separator", "Suffixes: 1: no separator"}},
	} {
		err := tt.index.Validate()
		if len(tt.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v; want %q in it", name, err, part)
			}
		}
		if n := strings.Count(err.Error(), "; ") + 1 - strings.Count(err.Error(), "; put it first"); n != len(tt.want) {
			t.Errorf("%s: %v; want %d problems", name, err, len(tt.want))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	s := spec
	s.Indexes = append(s.Indexes[:1:1],
		schema.Index{Name: "numbers", PK: "npk", SK: "nsk", SKType: "N"},
		schema.Index{Name: "binaries", PK: "bpk", PKType: "B", SK: "bsk"},
		schema.Index{Name: "unordered", PK: "upk"})
	tbl := expect.Value(table.New(tabletest.Client(t), s, nil))(t)
	for name, tt := range map[string]struct {
		tbl     *table.Table
		index   shard.Index
		options *shard.Options[tx]
	}{
		"nil table":            {nil, globalTx(4), nil},
		"bad index":            {tbl, globalTx(0), nil},
		"unknown index":        {tbl, shard.Index{Index: "GSI9", Prefix: "A", Shards: 4}, nil},
		"sort key of numbers":  {tbl, shard.Index{Index: "numbers", Prefix: "A", Shards: 4}, nil},
		"partitions of bytes":  {tbl, shard.Index{Index: "binaries", Prefix: "A", Shards: 4}, nil},
		"no sort key":          {tbl, shard.Index{Index: "unordered", Prefix: "A", Shards: 4}, nil},
		"negative concurrency": {tbl, globalTx(4), &shard.Options[tx]{Concurrency: -1}},
	} {
		r, err := shard.New(tt.tbl, tt.index, tt.options)
		if !errors.Is(err, table.ErrInvalid) || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	_ = newReader(t, tbl, globalTx(4), &shard.Options[tx]{})
}
