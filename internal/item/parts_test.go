package item_test

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// TestParts takes a value of each type apart, and puts it together again.
func TestParts(t *testing.T) {
	t.Parallel()
	text := &types.AttributeValueMemberS{Value: "x"}
	for kind, value := range map[item.Kind]types.AttributeValue{
		item.S:    text,
		item.N:    &types.AttributeValueMemberN{Value: "1"},
		item.B:    &types.AttributeValueMemberB{Value: []byte{0}},
		item.BOOL: &types.AttributeValueMemberBOOL{Value: true},
		item.NULL: &types.AttributeValueMemberNULL{Value: true},
		item.M:    &types.AttributeValueMemberM{Value: attributes{"a": text}},
		item.L:    &types.AttributeValueMemberL{Value: []types.AttributeValue{text}},
		item.SS:   &types.AttributeValueMemberSS{Value: []string{"x"}},
		item.NS:   &types.AttributeValueMemberNS{Value: []string{"1"}},
		item.BS:   &types.AttributeValueMemberBS{Value: [][]byte{{0}}},
	} {
		p := item.ValueOf(value)
		if p.Kind != kind {
			t.Errorf("a %T is %v", value, p.Kind)
		}
		if !reflect.DeepEqual(value, p.Value()) {
			t.Errorf("%v: %v", kind, p.Value())
		}
		want := `{"a":{"` + kind.String() + `":`
		if text := string(item.JSON(attributes{"a": value})); len(text) < len(want) || text[:len(want)] != want {
			t.Errorf("%v in JSON: %s", kind, text)
		}
	}
	for value, kind := range map[types.AttributeValue]item.Kind{
		nil:                                      0,
		(*types.AttributeValueMemberS)(nil):      0,
		(*types.AttributeValueMemberN)(nil):      0,
		(*types.AttributeValueMemberB)(nil):      0,
		(*types.AttributeValueMemberBOOL)(nil):   0,
		(*types.AttributeValueMemberNULL)(nil):   0,
		(*types.AttributeValueMemberM)(nil):      0,
		(*types.AttributeValueMemberL)(nil):      0,
		(*types.AttributeValueMemberSS)(nil):     0,
		(*types.AttributeValueMemberNS)(nil):     0,
		(*types.AttributeValueMemberBS)(nil):     0,
		&types.UnknownUnionMember{Tag: "VECTOR"}: item.Unknown,
	} {
		if p := item.ValueOf(value); p.Kind != kind || p.Value() != nil || kind.String() != "?" {
			t.Errorf("a %T is %v", value, p.Kind)
		}
	}
}
