package table_test

import (
	"bytes"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// sameVerdict stores an item, and compares with what the engine says to the SDK
// alone.
func sameVerdict(t *testing.T, client *dynamodb.Client, tbl *table.Table, item table.Item) {
	t.Helper()
	text := fmt.Sprint(plainValue(mapOf(item)))
	// Without it, the item of the run before could be the one that is found.
	must(t, tbl.Do(t.Context(), table.Delete(secret)))
	err := tbl.Do(t.Context(), table.Put(secret, item))
	wellFormed(t, "Put", err)
	if isRefusal(err) {
		_, direct := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tbl.Schema().Name), Item: item})
		long := func(name string) bool { _, text := table.KeyText(item[name]); return len(text) > keys.MaxSK }
		if !refusedByEngine(direct) && !lenient(mapOf(item)) && !long("gsi1pk") && !long("gsi1sk") && !long("lsi1sk") && !long("b") {
			t.Errorf("%s: the engine accepts it, we say %v", text, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got := expect.Value(table.Get[table.Item](t.Context(), tbl.Consistent(), secret))(t)
	if a, b := plainValue(mapOf(item)), plainValue(mapOf(got)); !reflect.DeepEqual(a, b) {
		t.Errorf("%s is read back otherwise:\n%s", text, cmp.Diff(a, b))
	}
}

// choices are the bytes that a generated value is made by; zeros at the end.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b % n
}

// number returns a text that is about a number: most have digits and an exponent
// close to the limits.
func (c *choices) number() string {
	if c.below(8) == 7 {
		return []string{"", "NaN", "-Infinity", "0x1", "1e", " 1", "+-1", "."}[c.below(8)]
	}
	sign := []string{"", "", "-", "+"}[c.below(4)]
	digits := strings.Repeat([]string{"0", "1", "9", "5"}[c.below(4)], []int{1, 2, 37, 38, 39, 40, 0, 125}[c.below(8)])
	zeros := strings.Repeat("0", []int{0, 0, 1, 88, 130}[c.below(5)])
	fraction := []string{"", "", ".", ".0", ".5", ".05", "." + zeros + "7"}[c.below(7)]
	exponent := []string{"", "", "e0", "E1", "e-1", "e87", "e88", "e89", "e125", "e126", "e-129", "e-130", "e-131", "e-168"}[c.below(14)]
	return sign + digits + zeros + fraction + exponent
}

func (c *choices) text() string {
	return []string{"", "a", "b", "A", "é", "\x00", strings.Repeat("x", 1024), strings.Repeat("x", 1025), strings.Repeat("x", 2049)}[c.below(9)]
}

func (c *choices) value(level int) types.AttributeValue {
	kind := c.below(11)
	if level > 34 {
		kind %= 7
	}
	switch kind {
	case 0:
		return str(c.text())
	case 1, 2:
		return num(c.number())
	case 3:
		return bin(c.text())
	case 4:
		return &types.AttributeValueMemberNULL{Value: c.below(4) > 0}
	case 5:
		s := &types.AttributeValueMemberSS{Value: []string{}}
		for range c.below(20) {
			s.Value = append(s.Value, c.text()+strings.Repeat("y", c.below(30)))
		}
		return s
	case 6:
		s := &types.AttributeValueMemberNS{Value: []string{}}
		for range c.below(20) {
			s.Value = append(s.Value, c.number())
		}
		return s
	case 7:
		return list()
	case 8:
		elements := make([]types.AttributeValue, c.below(4))
		for i := range elements {
			elements[i] = c.value(level + 1)
		}
		return list(elements...)
	case 9: // many levels at once
		inner := c.value(level + 30)
		for range c.below(34) {
			inner = list(inner)
		}
		return inner
	}
	m := map[string]types.AttributeValue{}
	for range c.below(4) {
		m[c.text()] = c.value(level + 1)
	}
	return mapOf(m)
}

// FuzzValue stores items made of values close to DynamoDB's limits, and has them
// stored by updates and compared by conditions.
func FuzzValue(f *testing.F) {
	for kind := range byte(11) {
		for choice := range byte(15) {
			f.Add([]byte{1, 1, kind, choice, choice, 3, choice, 2, choice, choice})
			f.Add([]byte{choice, 1, kind, 0, choice % 4, 1, choice, choice / 2, choice, 5, choice})
		}
	}
	spec := appCore()
	spec.TTLAttribute = ""
	spec.Indexes = append(spec.Indexes, schema.Index{Name: "GSI2", PK: "n", PKType: types.ScalarAttributeTypeN, SK: "b", SKType: types.ScalarAttributeTypeB})
	client := tabletest.Client(f)
	tbl := tabletest.NewWith(f, client, spec, options())
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		item := table.Item{"pk": str(string(secret.PK)), "sk": str(string(secret.SK))}
		for range 1 + c.below(3) {
			item[[]string{"v", "gsi1pk", "gsi1sk", "lsi1sk", "n", "b"}[max(0, c.below(24)-18)]] = c.value(1)
		}
		sameVerdict(t, client, tbl, item)
		for name, value := range item {
			if name == "pk" || name == "sk" {
				continue
			}
			attribute := expression.Name(name)
			for _, op := range []table.Op{
				table.Update(secret, expression.Set(attribute, expression.Value(value))),
				table.Update(secret, expression.Remove(expression.Name("x"))).If(expression.AttributeNotExists(expression.Name("x")).Or(attribute.NotEqual(expression.Value(value)))),
			} {
				if err := tbl.Do(t.Context(), op); err != nil && !isRefusal(err) {
					t.Errorf("%s = %v: %v", name, plainValue(value), err)
				}
			}
		}
	})
}

// farExponent finds numbers with an exponent of more than 32 bits.
var farExponent = regexp.MustCompile(`[eE][+-]?[0-9]{9,}$`)

// lenient reports whether a value holds what the engine accepts and AWS's
// documentation refuses: empty names and long ones, and numbers with exponents
// beyond those of the engine's arithmetic; or what the SDK leaves out: nil. The
// engine also accepts keys of indexes that are too long.
func lenient(value types.AttributeValue) bool {
	switch v := value.(type) {
	case nil:
		return true
	case *types.AttributeValueMemberN:
		return farExponent.MatchString(v.Value)
	case *types.AttributeValueMemberNS:
		return slices.ContainsFunc(v.Value, farExponent.MatchString)
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, lenient)
	case *types.AttributeValueMemberM:
		for name, element := range v.Value {
			if name == "" || len(name) > 1<<16-1 || lenient(element) {
				return true
			}
		}
	case *types.UnknownUnionMember:
		return true
	}
	return false
}

// plainValue is a value in which numbers and sets have one form.
func plainValue(value types.AttributeValue) any {
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		return plainNumber(v.Value)
	case *types.AttributeValueMemberNS:
		numbers := make([]string, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = plainNumber(n)
		}
		slices.Sort(numbers)
		return numbers
	case *types.AttributeValueMemberSS:
		return append([]string{"set"}, slices.Sorted(slices.Values(v.Value))...)
	case *types.AttributeValueMemberBS:
		return append([][]byte{}, slices.SortedFunc(slices.Values(v.Value), bytes.Compare)...)
	case *types.AttributeValueMemberB:
		return append([]byte{}, v.Value...)
	case *types.AttributeValueMemberL:
		elements := []any{}
		for _, e := range v.Value {
			elements = append(elements, plainValue(e))
		}
		return elements
	case *types.AttributeValueMemberM:
		members := map[string]any{}
		for name, e := range v.Value {
			members[name] = plainValue(e)
		}
		return members
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	}
	return nil
}

func plainNumber(s string) string {
	if n, ok := new(big.Rat).SetString(s); ok {
		return "number " + n.RatString()
	}
	return "number " + s
}
