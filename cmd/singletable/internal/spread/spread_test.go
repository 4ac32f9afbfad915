package spread_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/spread"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// read reads a sample, and returns how many items of each prefix it has and how many requests
// it took.
func read(t *testing.T, spec schema.Table, ops []table.Op, limit int) (of map[string]int, requests int) {
	t.Helper()
	tbl := tabletest.New(t, spec, nil)
	if err := tbl.BatchWrite(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
	faults := &tabletest.Faults{}
	got, err := spread.Read(t.Context(), tabletest.Client(t, faults.Install), tbl.Schema(), limit)
	if err != nil {
		t.Fatal(err)
	}
	of = map[string]int{}
	seen := map[keys.Key]bool{}
	for _, item := range got.Items {
		key := tbl.KeyOf("", item)
		if seen[key] {
			t.Errorf("%v was read twice", key)
		}
		seen[key] = true
		prefix, _, _ := strings.Cut(string(key.PK), "#")
		of[prefix]++
	}
	if got.Stats.Capacity == 0 || len(got.Items) > limit {
		t.Errorf("%d items of at most %d for %v units", len(got.Items), limit, got.Stats.Capacity)
	}
	return of, len(faults.Requests("Scan"))
}

// items returns items under so many keys of each prefix.
func items(n int, prefixes ...string) (ops []table.Op) {
	for _, prefix := range prefixes {
		for i := range n {
			ops = append(ops, table.Put(keys.Key{PK: keys.PK(fmt.Sprintf("%s#%05d", prefix, i)), SK: "A"}, table.Item{}))
		}
	}
	return ops
}

var eight = []string{"AUDIT", "CART", "EMAIL", "ORDER", "PRODUCT", "SLOT", "USER", "user"}

// A scan in the order of keys gives items of each prefix.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	of, requests := read(t, schema.Table{Name: "T"}, items(150, eight...), 100)
	for _, prefix := range eight {
		if of[prefix] < 10 {
			t.Errorf("%d items of %s", of[prefix], prefix)
		}
	}
	if requests > 12 {
		t.Errorf("%d requests", requests)
	}
}

// Where there are few places, more is read of each. A table that has no more items than the
// limit is read whole.
func TestReadOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ops         []table.Op
		limit, want int
	}{
		"one prefix":   {items(300, "USER"), 100, 100},
		"two prefixes": {items(300, "ORDER", "USER"), 100, 100},
		"whole":        {items(30, eight...), 1000, 240},
		"empty":        {nil, 100, 0},
		"one item":     {items(30, eight...), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of, _ := read(t, schema.Table{Name: "T"}, test.ops, test.limit)
			total := 0
			for _, n := range of {
				total += n
			}
			if total != test.want {
				t.Errorf("%d items, want %d: %v", total, test.want, of)
			}
		})
	}
}

// Keys of other types, and keys without a prefix.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]schema.Table{
		"numbers": {Name: "T", PKType: types.ScalarAttributeTypeN, SKType: types.ScalarAttributeTypeN},
		"simple":  {Name: "T", SimpleKey: true},
		"number":  {Name: "T", SKType: types.ScalarAttributeTypeN},
		"binary":  {Name: "T", SKType: types.ScalarAttributeTypeB},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ops []table.Op
			for i := range 200 {
				key := keys.Key{PK: keys.PK(strconv.Itoa(i)), SK: "1"}
				if spec.SimpleKey {
					key.SK = ""
				}
				ops = append(ops, table.Put(key, table.Item{}))
			}
			if of, _ := read(t, spec, ops, 100); len(of) < 50 {
				t.Errorf("%d items", len(of))
			}
		})
	}
}
