package edit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
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
	var add func(path string, a, b types.AttributeValue)
	add = func(path string, a, b types.AttributeValue) {
		switch {
		case a != nil && b != nil && equal(a, b):
			return
		case a == nil || b == nil:
			all = append(all, Difference{path, a, b})
			return
		}
		before, after := codec.PartsOf(a), codec.PartsOf(b)
		switch {
		case len(before.Map) > 0 && len(after.Map) > 0:
			for _, name := range names(before.Map, after.Map) {
				add(path+"."+step(name), before.Map[name], after.Map[name])
			}
		case len(before.List) > 0 && len(after.List) > 0:
			for i := range max(len(before.List), len(after.List)) {
				add(fmt.Sprintf("%s[%d]", path, i), at(before.List, i), at(after.List, i))
			}
		default:
			all = append(all, Difference{path, a, b})
		}
	}
	for _, name := range names(before, after) {
		if but == "" || name != but {
			add(step(name), before[name], after[name])
		}
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

// equal reports whether two values are equal to DynamoDB, to which 1 and 1.0 are, and sets
// have no order.
func equal(a, b types.AttributeValue) bool {
	return bytes.Equal(codec.AppendCanonical(nil, a), codec.AppendCanonical(nil, b))
}

// Seen returns a name of the item: 16 hexadecimal digits. It is that of Plan.Seen.
func Seen(item table.Item) string {
	if item == nil {
		return "missing"
	}
	hash := sha256.Sum256(codec.AppendCanonical(nil, &types.AttributeValueMemberM{Value: item}))
	return hex.EncodeToString(hash[:8])
}
