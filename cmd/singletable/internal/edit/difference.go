package edit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// Difference is one attribute, or one element of a map or list in it, that a plan
// changes.
type Difference struct {
	// Path leads to it, such as address.lines[0]. A name with a dot or bracket in it is
	// in quotation marks.
	Path string
	// Old and New are its values; nil where it is missing.
	Old, New types.AttributeValue
}

// differences returns the differences of two items, without those of one attribute if a
// name is given. Nil is the missing item.
func differences(before, after table.Item, but string) []Difference {
	var all []Difference
	for _, name := range names(before, after) {
		if but == "" || name != but {
			all = append(all, valueDifferences(step(name), before[name], after[name])...)
		}
	}
	return all
}

// valueDifferences returns the differences of two values: those of their elements, if
// both are maps or lists with some, and not a vector.
func valueDifferences(path string, before, after types.AttributeValue) []Difference {
	if Equal(before, after) {
		return nil
	}
	switch b := before.(type) {
	case *types.AttributeValueMemberM:
		if a, ok := after.(*types.AttributeValueMemberM); ok && len(b.Value) > 0 && len(a.Value) > 0 {
			return memberDifferences(path, b.Value, a.Value)
		}
	case *types.AttributeValueMemberL:
		if a, ok := after.(*types.AttributeValueMemberL); ok && len(b.Value) > 0 && len(a.Value) > 0 && (!isVector(b) || !isVector(a)) {
			return elementDifferences(path, b.Value, a.Value)
		}
	}
	return []Difference{{path, before, after}}
}

// isVector reports whether a list has so many numbers, and nothing else, that people compare
// it as a whole.
func isVector(list *types.AttributeValueMemberL) bool {
	const many = 9
	return len(list.Value) >= many && !slices.ContainsFunc(list.Value, func(e types.AttributeValue) bool {
		_, number := e.(*types.AttributeValueMemberN)
		return !number
	})
}

func memberDifferences(path string, before, after map[string]types.AttributeValue) []Difference {
	var all []Difference
	for _, name := range names(before, after) {
		all = append(all, valueDifferences(path+"."+step(name), before[name], after[name])...)
	}
	return all
}

func elementDifferences(path string, before, after []types.AttributeValue) []Difference {
	var all []Difference
	for i := range max(len(before), len(after)) {
		all = append(all, valueDifferences(fmt.Sprintf("%s[%d]", path, i), at(before, i), at(after, i))...)
	}
	return all
}

// names returns the names of both maps in order.
func names(a, b map[string]types.AttributeValue) []string {
	all := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(all)
	return slices.Compact(all)
}

func step(name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\" \n") {
		return strconv.Quote(name)
	}
	return name
}

func at(list []types.AttributeValue, i int) types.AttributeValue {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// Equal reports whether two values are equal to DynamoDB, to which 1 and 1.0 are, and sets
// have no order. Nil is a missing value, which equals no other.
func Equal(a, b types.AttributeValue) bool {
	return (a == nil) == (b == nil) && bytes.Equal(canonical(a), canonical(b))
}

// Seen returns a name of the item: 16 hexadecimal digits. It is that of Plan.Seen.
func Seen(item table.Item) string {
	if item == nil {
		return "missing"
	}
	hash := sha256.Sum256(canonical(&types.AttributeValueMemberM{Value: item}))
	return hex.EncodeToString(hash[:8])
}

// canonical returns a text that is the same for equal values and for no others.
func canonical(v types.AttributeValue) []byte {
	text, err := json.Marshal(plain(v))
	if err != nil {
		panic(err) // Plain returns nothing that package json refuses.
	}
	return text
}

func plain(v types.AttributeValue) [2]any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return [2]any{"S", []byte(v.Value)} // Not as text, which package json mends.
	case *types.AttributeValueMemberN:
		return [2]any{"N", number(v.Value)}
	case *types.AttributeValueMemberB:
		return [2]any{"B", append([]byte{}, v.Value...)} // Nil is as empty.
	case *types.AttributeValueMemberBOOL:
		return [2]any{"BOOL", v.Value}
	case *types.AttributeValueMemberSS:
		return [2]any{"SS", slices.SortedFunc(slices.Values(v.Value), cmp.Compare[string])}
	case *types.AttributeValueMemberNS:
		set := make([]string, len(v.Value))
		for i, n := range v.Value {
			set[i] = number(n)
		}
		slices.Sort(set)
		return [2]any{"NS", set}
	case *types.AttributeValueMemberBS:
		return [2]any{"BS", slices.SortedFunc(slices.Values(v.Value), bytes.Compare)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = plain(e)
		}
		return [2]any{"L", list}
	case *types.AttributeValueMemberM:
		m := make(map[string]any, len(v.Value))
		for name, e := range v.Value {
			m[name] = plain(e)
		}
		return [2]any{"M", m}
	}
	return [2]any{"NULL", nil}
}

// number returns a text that equal numbers have in common. DynamoDB's have exponents of
// three digits; longer ones would only take memory.
func number(text string) string {
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > len("e-999") {
		return text
	}
	if r, ok := new(big.Rat).SetString(text); ok {
		return r.String()
	}
	return text
}
