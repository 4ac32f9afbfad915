package item_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
)

// The types of the items of pages.
type (
	keyed struct {
		PK   string `dynamodbav:"pk"`
		SK   string `dynamodbav:"sk"`
		Type string `dynamodbav:"entityType"`
	}
	record struct {
		keyed
		ID        string    `dynamodbav:"id"`
		UserID    string    `dynamodbav:"userId"`
		Amount    int64     `dynamodbav:"amount"`
		Status    string    `dynamodbav:"status"`
		CreatedAt time.Time `dynamodbav:"createdAt"`
		Tags      []string  `dynamodbav:"tags"`
		Note      string    `dynamodbav:"note"`
		Revision  string    `dynamodbav:"revision"`
	}
	counted struct {
		Price    float64 `dynamodbav:"price"`
		Quantity int     `dynamodbav:"quantity"`
		Version  int64   `dynamodbav:"version"`
		Latitude float64 `dynamodbav:"latitude"`
		Counts   struct {
			Seen, Sent, Failed int64
			Small              int32
			Size               uint64
			Price, Rate        float64
		} `dynamodbav:"counts"`
	}
	dated struct {
		StartedAt time.Time `dynamodbav:"startedAt"`
		UpdatedAt time.Time `dynamodbav:"updatedAt"`
		ShippedAt time.Time `dynamodbav:"shippedAt"`
		PaidAt    time.Time `dynamodbav:"paidAt"`
		ExpiresAt time.Time `dynamodbav:"expiresAt,unixtime"`
	}
	sparse struct {
		record
		counted
		dated
		City   string `dynamodbav:"city"`
		Street string `dynamodbav:"street"`
		Email  string `dynamodbav:"email"`
		Phone  string `dynamodbav:"phone"`
	}
	ordered struct {
		keyed
		Paid  bool `dynamodbav:"paid"`
		Lines []struct {
			Product  string
			Quantity int
			Price    float64
		} `dynamodbav:"lines"`
		Labels map[string]string `dynamodbav:"labels"`
		Tags   []string          `dynamodbav:"tags"`
	}
)

// pages are the shapes that a page of items comes in. Each function returns the
// attributes of the nth item.
var pages = []struct {
	name   string
	decode func(tb testing.TB, body []byte, size int) any
	item   func(n int, random *rand.Rand) []string
}{
	{"ordinary", decodePage[record], func(n int, _ *rand.Rand) []string { return ordinary(n) }},
	{"shuffled", decodePage[record], func(n int, random *rand.Rand) []string {
		item := ordinary(n)
		random.Shuffle(len(item), func(i, j int) { item[i], item[j] = item[j], item[i] })
		return item
	}},
	{"sparse", decodePage[sparse], func(n int, random *rand.Rand) []string {
		item := slices.Concat(ordinary(n), address(n), numbers(n), times(n))
		return slices.DeleteFunc(item, func(a string) bool { return a[1] != 'p' && a[1] != 's' && random.IntN(2) == 0 })
	}},
	{"escapes", decodePage[record], func(n int, _ *rand.Rand) []string {
		item := ordinary(n)
		item[9] = strings.Replace(item[9], ", ", `,\n`, 1)
		return item
	}},
	{"numbers", decodePage[struct {
		keyed
		counted
	}], func(n int, _ *rand.Rand) []string { return slices.Concat(key(n), numbers(n)) }},
	{"times", decodePage[struct {
		keyed
		dated
	}], func(n int, _ *rand.Rand) []string { return slices.Concat(key(n), times(n)) }},
	{"nested", decodePage[ordered], func(n int, _ *rand.Rand) []string {
		return append(key(n),
			`"lines":{"L":[`+strings.Repeat(`{"M":{"Product":{"S":"apples"},"Quantity":{"N":"3"},"Price":{"N":"1.25"}}},`, 3)+`{"M":{}}]}`,
			`"labels":{"M":{"color":{"S":"red"},"size":{"S":"large"}}}`,
			`"tags":{"SS":["a","b"]}`, `"paid":{"BOOL":true}`)
	}},
}

func key(n int) []string {
	return []string{
		`"pk":{"S":"USER#u-123"}`, fmt.Sprintf(`"sk":{"S":"TX#2024-01-15T10:05:00.000Z#tx-%06d"}`, n), `"entityType":{"S":"Transaction"}`,
	}
}

func ordinary(n int) []string {
	return append(key(n),
		fmt.Sprintf(`"id":{"S":"tx-%06d"}`, n), `"userId":{"S":"u-123"}`, fmt.Sprintf(`"amount":{"N":"%d"}`, 100_000+n), `"status":{"S":"open"}`,
		fmt.Sprintf(`"createdAt":{"S":"2024-01-15T10:%02d:00Z"}`, n%60), `"tags":{"L":[{"S":"groceries"},{"S":"card"},{"S":"weekly"}]}`,
		fmt.Sprintf(`"note":{"S":"%d: %s"}`, n, strings.Repeat("paid at the market, ", 14)), fmt.Sprintf(`"revision":{"S":"R%025d"}`, n))
}

func address(n int) []string {
	return []string{
		`"city":{"S":"Plzeň"}`, `"street":{"S":"Americká 12"}`, fmt.Sprintf(`"email":{"S":"user-%d@example.com"}`, n), `"phone":{"S":"+420 123 456 789"}`,
	}
}

func numbers(n int) []string {
	return []string{
		fmt.Sprintf(`"price":{"N":"%d.25"}`, n), fmt.Sprintf(`"quantity":{"N":"%d"}`, n), `"version":{"N":"4503599627370496"}`, `"latitude":{"N":"-49.7384"}`,
		`"counts":{"M":{"Seen":{"N":"1200"},"Sent":{"N":"-7"},"Failed":{"N":"0"},"Small":{"N":"12"},"Size":{"N":"123456789"},"Price":{"N":"9.5"},"Rate":{"N":"0.001"}}}`,
	}
}

func times(n int) []string {
	return []string{
		fmt.Sprintf(`"startedAt":{"S":"2024-01-15T10:%02d:00Z"}`, n%60), fmt.Sprintf(`"updatedAt":{"S":"2024-02-29T12:30:%02d.123456789Z"}`, n%60),
		`"shippedAt":{"S":"2024-03-01T00:00:00+01:00"}`, `"paidAt":{"N":"1700000000"}`, fmt.Sprintf(`"expiresAt":{"N":"%d"}`, 1_800_000_000+n),
	}
}

// page returns the list of items of a response.
func page(item func(int, *rand.Rand) []string, size int) string {
	random := rand.New(rand.NewPCG(1, 2))
	items := make([]string, size)
	for n := range items {
		items[n] = "{" + strings.Join(item(n, random), ",") + "}"
	}
	return "[" + strings.Join(items, ",") + "]"
}

// decodePage decodes a page as table does.
func decodePage[T any](tb testing.TB, body []byte, size int) any {
	values := make([]T, 0, size)
	r := item.NewParser(body)
	watched := []item.Watched{{Name: "entityType"}, {Name: "ttl"}, {Name: "pk"}, {Name: "sk"}}
	d := item.NewDecoder(reflect.TypeFor[T](), watched)
	var v T
	to := reflect.ValueOf(&v).Elem()
	if !r.Array(func(int) bool {
		v = *new(T)
		refusal, ok := d.Decode(r, to)
		values = append(values, v)
		return refusal == nil && ok
	}) || !r.End() || len(values) != size {
		tb.Fatalf("stopped at %d of %d", r.Pos(), len(body))
	}
	return values
}

// The items of a page are decoded as each of them is alone, in few allocations, and
// stay as they are when the response's memory is used again or a list grows.
func TestDecodePage(t *testing.T) {
	for _, p := range pages {
		body := page(p.item, 100)
		used := []byte(body)
		got := p.decode(t, used, 100)
		for i := range used {
			used[i] = '#'
		}
		values := reflect.ValueOf(got)
		var items []json.RawMessage
		if err := json.Unmarshal([]byte(body), &items); err != nil {
			t.Fatal(err)
		}
		for i, item := range items {
			v := values.Index(i)
			if tags := v.FieldByName("Tags"); tags.IsValid() {
				_ = append(tags.Interface().([]string), "one more")
			}
			m, err := sdkItem(string(item))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(theirDecode(v.Type(), m).value, v.Interface(), exactly); diff != "" {
				t.Errorf("%s: item %d (-theirs +ours):\n%s", p.name, i, diff)
			}
		}
		if n := testing.AllocsPerRun(10, func() { p.decode(t, []byte(body), 100) }); n > 120 && p.name != "nested" {
			t.Errorf("%s: %v allocations", p.name, n)
		}
	}
}

// What is an integer, and what is a time, is for strconv and package time to say.
func TestDecodeScalars(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "-0", "007", "+1", "-", "", "1_000", "999999999999999999", "1000000000000000000", "-9223372036854775808", "9223372036854775808", "1x",
	} {
		checkDecode(t, reflect.TypeFor[struct{ I int64 }](), nil, `{"I":{"N":"`+text+`"}}`, `{"I":{"N":"1"}}`, `{"I":{"N":"`+text+`"}}`)
	}
	const whole = "2024-02-28T23:59:58"
	times := []string{whole, whole + "+", whole + "z", whole + ".5", whole + ".55", whole + ",5Z", whole + "x5Z", whole + ".Z", whole + "Z ", "024-02-28T23:59:58Z", "2024-02-29T00:00:00Z", "2024-02-00T00:00:00Z", "2023-02-29T00:00:00Z", "0000-01-01T00:00:00Z"}
	for digits := range 12 {
		times = append(times, whole+".123456789012"[:digits+1]+"Z")
	}
	for i := range len(whole) {
		for _, c := range "0123456789-T:. x" {
			times = append(times, whole[:i]+string(c)+whole[i+1:]+"Z", whole[:i]+string(c)+whole[i+1:]+".000000001Z")
		}
	}
	for _, text := range times {
		checkDecode(t, reflect.TypeFor[struct{ T time.Time }](), nil, `{"T":{"S":"`+text+`"}}`, `{"T":{"S":"`+whole+`Z"}}`)
	}
}

func BenchmarkDecodePage(b *testing.B) {
	for _, p := range pages {
		for _, size := range []int{1, 100} {
			b.Run(fmt.Sprintf("shape=%s/items=%d", p.name, size), func(b *testing.B) {
				body := []byte(page(p.item, size))
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					p.decode(b, body, size)
				}
			})
		}
	}
}
