package table_test

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// sizes are values with the bytes that DynamoDB counts for them.
var sizes = []struct {
	name  string
	value types.AttributeValue
	bytes int
}{
	{"empty text", str(""), 0},
	{"text", str("hello"), 5},
	{"text of several bytes a character", str("é日🙂"), 2 + 3 + 4},
	{"binary", bin("\x00\x01\x02"), 3},
	{"true", &types.AttributeValueMemberBOOL{Value: true}, 1},
	{"null", &types.AttributeValueMemberNULL{Value: true}, 1},
	{"zero", num("0"), 1},
	{"zero of many digits", num("-000.000e7"), 1},
	{"1 digit", num("5"), 2},
	{"2 digits", num("42"), 2},
	{"3 digits", num("427"), 3},
	{"zeros at the end", num("4200000000"), 2},
	{"zeros in front", num("0.00000042"), 2},
	{"exponent", num("4.2e-7"), 2},
	{"exponent above", num("42E+10"), 2},
	{"pairs from the point on", num("4.2"), 3},
	{"negative", num("-42"), 3},
	{"38 digits", num("12345678901234567890123456789012345678"), 20},
	{"negative, 38 digits", num("-12345678901234567890123456789012345678"), 21},
	{"set of text", &types.AttributeValueMemberSS{Value: []string{"a", "bc"}}, 3},
	{"set of numbers", &types.AttributeValueMemberNS{Value: []string{"1", "-42"}}, 5},
	{"set of binaries", &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, 3},
	{"empty list", list(), 3},
	{"list", list(str("ab"), num("1")), 3 + 1 + 2 + 1 + 2},
	{"empty map", mapOf(nil), 3},
	{"map", mapOf(map[string]types.AttributeValue{"ab": str("c")}), 3 + 1 + 2 + 1},
	{"nested", list(list(mapOf(map[string]types.AttributeValue{"é": list()}))), 3 + 1 + 3 + 1 + 3 + 1 + 2 + 3},
}

func mapOf(m map[string]types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: m}
}

func TestItemSize(t *testing.T) {
	t.Parallel()
	for _, tt := range sizes {
		if got := (table.Item{"é": tt.value}).Size(); got != len("é")+tt.bytes {
			t.Errorf("%s: %d, want %d", tt.name, got, len("é")+tt.bytes)
		}
	}
	equal(t, "nothing", table.Item(nil).Size(), 0)
}

// TestMeasuringAllocatesNothing shows that checking an ordinary item is free of
// allocations.
func TestMeasuringAllocatesNothing(t *testing.T) {
	item := table.Item{}
	for _, tt := range sizes {
		item[tt.name] = tt.value
	}
	if n := testing.AllocsPerRun(100, func() { item.Size() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLargestItem finds the largest item that the engine takes, and compares.
func TestLargestItem(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	name := tabletest.NewWith(t, client, schema.Table{}, nil).Schema().Name
	for _, tt := range sizes {
		if strings.HasPrefix(tt.name, "empty text") {
			continue // Not every engine takes it.
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// 300 of the value make a difference of a byte visible.
			item := table.Item{"pk": str("A"), "sk": str(tt.name)}
			for i := range 300 {
				item[fmt.Sprintf("é%03d", i)] = tt.value
			}
			rest := table.MaxItemSize - item.Size() - len("filler")
			fits := func(filler int) bool {
				item["filler"] = str(strings.Repeat("x", filler))
				_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(name), Item: item})
				if api, ok := errors.AsType[smithy.APIError](err); err != nil && (!ok || api.ErrorCode() != "ValidationException") {
					t.Fatal(err)
				}
				return err == nil
			}
			const window = 1024
			if !fits(rest-window) || fits(rest+window) {
				t.Fatalf("the engine counts otherwise by more than %d bytes", window)
			}
			over := sort.Search(2*window, func(i int) bool { return !fits(rest - window + i) })
			if largest := rest - window + over - 1; largest != rest {
				t.Errorf("the engine takes %d bytes more than we do", largest-rest)
			}
		})
	}
}

func TestLongNamesAreShortened(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	whole := strings.Repeat("x", 256)
	for name, want := range map[string]string{whole: whole, whole + "y": whole + "…", whole[:255] + "é": whole[:255] + "…"} {
		err := tbl.Do(t.Context(), table.Put(user, table.Item{name: nil}))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("attribute %q is nil", want)) {
			t.Errorf("a name of %d bytes: %v", len(name), err)
		}
	}
}

func TestLongestName(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	name := strings.Repeat("x", 65535)
	must(t, tbl.Do(t.Context(), table.Put(user, table.Item{name: num("0")})))
	must(t, tbl.Do(t.Context(), table.Delete(user).IfVersion(name, 0)))
	for what, op := range map[string]table.Op{
		"put":     table.Put(user, table.Item{name + "x": str("x")}),
		"version": table.Delete(user).IfVersion(name+"x", 0),
	} {
		if err := tbl.Do(t.Context(), op); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLargestTransaction runs as many ops, and as many bytes, as DynamoDB takes.
func TestLargestTransaction(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	puts := func(n, bytes int) []table.Op {
		ops := make([]table.Op, n)
		for i := range ops {
			key := keys.Key{PK: "A", SK: keys.SK(fmt.Sprintf("%03d", i))}
			item := table.Item{"pk": str(string(key.PK)), "sk": str(string(key.SK)), "x": str("")}
			size := bytes / (n - i)
			bytes -= size
			ops[i] = table.Put(key, table.Item{"x": str(strings.Repeat("x", size-item.Size()))})
		}
		return ops
	}
	must(t, tbl.Transact(t.Context(), puts(100, 4096)...))
	must(t, tbl.Transact(t.Context(), puts(11, 4<<20)...))
	for _, ops := range [][]table.Op{puts(101, 4096), puts(11, 4<<20+1)} {
		if err := tbl.Transact(t.Context(), ops...); !errors.Is(err, table.ErrTooLarge) {
			t.Errorf("%d ops: %v", len(ops), err)
		}
	}
}

func TestFirstFaultIsNamed(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	for range 10 { // since the order of a map is random
		err := tbl.Do(t.Context(), table.Put(user, table.Item{"b": num("x"), "a": num("x"), "c": num("x")}))
		if err == nil || !strings.Contains(err.Error(), `attribute "a" is not a decimal number`) {
			t.Fatal(err)
		}
	}
}
