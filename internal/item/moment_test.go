package item_test

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
)

// timed has times wherever a value can have them.
type timed struct {
	Unix    time.Time  `dynamodbav:",unixtime"`
	Pointer *time.Time `dynamodbav:",unixtime"`
	Named   instant    `dynamodbav:",unixtime"`
	Plain   time.Time
	List    []time.Time
	Array   [1]instant
	Map     map[string]time.Time
	Keyed   map[int]*time.Time
	Inner   struct {
		Unix time.Time `dynamodbav:"unix,unixtime"`
	}
	Inners [1]struct {
		Unix time.Time `dynamodbav:"unix,unixtime"`
	}
}

// timedItem returns an item of timed with the same number for all of its times.
func timedItem(n string) map[string]string {
	number := `{"N":"` + n + `"}`
	return map[string]string{
		"Unix": number, "Pointer": number, "Named": number, "Plain": number, "List": `{"L":[` + number + `]}`, "Array": `{"L":[` + number + `]}`,
		"Map": `{"M":{"a":` + number + `}}`, "Keyed": `{"M":{"1":` + number + `}}`, "Inner": `{"M":{"unix":` + number + `}}`, "Inners": `{"L":[{"M":{"unix":` + number + `}}]}`,
	}
}

// decodeBoth decodes an attribute of timed from JSON, and from attribute values as a client with
// middleware has them.
func decodeBoth(t *testing.T, name, value string) (results [2]timed, errs [2]error) {
	t.Helper()
	json := `{"` + name + `":` + value + `}`
	results[0], errs[0], _ = decode[timed](json)
	m, err := sdkItem(json)
	if err != nil {
		t.Fatal(err)
	}
	errs[1] = item.Decode(&types.AttributeValueMemberM{Value: m}, &results[1])
	return results, errs
}

// A number with a fraction is read as its whole seconds. attributevalue refuses it.
func TestTimesWithFractions(t *testing.T) {
	t.Parallel()
	for n, want := range map[string]int64{
		"1893456000.6": 1893456000, "1893456000": 1893456000, "0.999999999": 0, "-0.5": -1, "-1.5": -2, "-0": 0, "0": 0, "1.8E9": 1800000000,
		"253402300799.9": 253402300799, "-62167219200": -62167219200, "1E-130": 0, "-62135596800": -62135596800,
	} {
		for name, value := range timedItem(n) {
			whole, _ := decodeBoth(t, name, timedItem(strconv.FormatInt(want, 10))[name])
			results, errs := decodeBoth(t, name, value)
			for i := range results {
				if diff := cmp.Diff(whole[i], results[i], exactly); errs[i] != nil || diff != "" {
					t.Errorf("%s of %s, way %d: %v (-want +got):\n%s", n, name, i, errs[i], diff)
				}
			}
			if at := results[0].Unix; name == "Unix" && at.Unix() != want {
				t.Errorf("%s is %v", n, at)
			}
		}
	}
}

// A number of milliseconds is in seconds a time after the year 9999. The error names the type for
// milliseconds, and the attribute.
func TestTimesAfterTheYear9999(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"253402300800", "1700000000000", "1700000000000.5", "-62167219201", "-62167219200.5", "9223372036854775808", "1E30", "-1E125"} {
		for name, value := range timedItem(n) {
			_, errs := decodeBoth(t, name, value)
			for way, err := range errs {
				e, ok := errors.AsType[*item.Error](err)
				if !ok || !strings.HasPrefix(e.Path, name) || !strings.Contains(e.Error(), "table.UnixMilli") || strings.Contains(e.Error(), n) {
					t.Errorf("%s of %s, way %d: %v", n, name, way, err)
				}
			}
		}
	}
	far := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, v := range map[string]any{
		"Unix": timed{Unix: far}, "Pointer": &timed{Pointer: &far}, "Named": timed{Named: instant(far)}, "Plain": timed{Plain: far},
	} {
		_, err := item.Encode(v)
		if e, ok := errors.AsType[*item.Error](err); !ok || e.Path != name {
			t.Errorf("%s is written: %v", name, err)
		}
	}
}

// A field with the option unixtime leaves out the zero time, which attributevalue stores as a time
// in the year 1. Integers of that value stay, as do elements of lists.
func TestZeroTimes(t *testing.T) {
	t.Parallel()
	type inner struct {
		At time.Time `dynamodbav:"at,unixtime"`
	}
	zero := time.Time{}
	for name, tt := range map[string]struct {
		value any
		left  string
	}{
		"time":    {struct{ At inner }{}, "At"},
		"pointer": {struct{ At *inner }{&inner{}}, "At"},
		"to a time": {struct{ At any }{struct {
			P *time.Time `dynamodbav:"at,unixtime"`
		}{&zero}}, "At"},
		"named": {struct{ At any }{struct {
			At instant `dynamodbav:"at,unixtime"`
		}{}}, "At"},
		"UnixTime": {struct{ At any }{struct {
			At attributevalue.UnixTime `dynamodbav:"at"`
		}{}}, "At"},
		"in an array, which only attributevalue encodes": {struct{ At [1]inner }{}, "At[0]"},
		"in a map, which only attributevalue encodes":    {struct{ At map[int]inner }{map[int]inner{1: {}}}, "At.1"},
	} {
		made, err := item.Encode(tt.value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := made.(*types.AttributeValueMemberM).Value["At"]
		if list, ok := at.(*types.AttributeValueMemberL); ok {
			at = list.Value[0]
		} else if strings.HasSuffix(tt.left, ".1") {
			at = at.(*types.AttributeValueMemberM).Value["1"]
		}
		if diff := cmp.Diff(attributes{}, at.(*types.AttributeValueMemberM).Value); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	kept := struct {
		N    int64       `dynamodbav:",unixtime"`
		List []time.Time `dynamodbav:",unixtime"`
		Text time.Time
		Nil  *time.Time `dynamodbav:",unixtime"`
	}{N: -62135596800, List: []time.Time{{}}}
	made, err := item.Encode(kept)
	if m := made.(*types.AttributeValueMemberM).Value; err != nil || len(m) != 4 {
		t.Errorf("left out of %v: %v", m, err)
	}
}

// The floor of a number is what math/big computes.
func FuzzFloor(f *testing.F) {
	for _, n := range []string{"0", "-0", "1.5", "-1.5", "1E3", "-1E-9", "12E-1", "9223372036854775807.5", "-9223372036854775808.5", "1E19", "0.00", "+7.1", "x", "1e1000000", "-1e-1000000", "92233720368547758070e-1"} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n string) {
		got, ok := item.Floor(n)
		d, number := item.ParseNumber(n)
		if !number || !d.InRange() {
			if ok && !number {
				if i, err := strconv.ParseInt(n, 10, 64); err != nil || i != got {
					t.Errorf("%q is no number, and %d", n, got)
				}
			}
			return // more digits, or none
		}
		exact, _ := new(big.Rat).SetString(n)
		want := new(big.Int).Div(exact.Num(), exact.Denom()) // rounds down, since the denominator is positive
		if ok != want.IsInt64() || ok && got != want.Int64() {
			t.Errorf("%q: %d, %v; want %v", n, got, ok, want)
		}
	})
}
