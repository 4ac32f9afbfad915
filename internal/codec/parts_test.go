package codec_test

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
)

// TestParts takes a value of each type apart, and puts it together again.
func TestParts(t *testing.T) {
	t.Parallel()
	text := &types.AttributeValueMemberS{Value: "x"}
	for kind, value := range map[codec.Kind]types.AttributeValue{
		codec.S:    text,
		codec.N:    &types.AttributeValueMemberN{Value: "1"},
		codec.B:    &types.AttributeValueMemberB{Value: []byte{0}},
		codec.BOOL: &types.AttributeValueMemberBOOL{Value: true},
		codec.NULL: &types.AttributeValueMemberNULL{Value: true},
		codec.M:    &types.AttributeValueMemberM{Value: item{"a": text}},
		codec.L:    &types.AttributeValueMemberL{Value: []types.AttributeValue{text}},
		codec.SS:   &types.AttributeValueMemberSS{Value: []string{"x"}},
		codec.NS:   &types.AttributeValueMemberNS{Value: []string{"1"}},
		codec.BS:   &types.AttributeValueMemberBS{Value: [][]byte{{0}}},
	} {
		p := codec.PartsOf(value)
		if p.Kind != kind {
			t.Errorf("a %T is %v", value, p.Kind)
		}
		if !reflect.DeepEqual(value, p.Value()) {
			t.Errorf("%v: %v", kind, p.Value())
		}
		want := `{"a":{"` + kind.String() + `":`
		if text := string(codec.JSON(item{"a": value})); len(text) < len(want) || text[:len(want)] != want {
			t.Errorf("%v in JSON: %s", kind, text)
		}
	}
	for value, kind := range map[types.AttributeValue]codec.Kind{
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
		&types.UnknownUnionMember{Tag: "VECTOR"}: codec.Unknown,
	} {
		if p := codec.PartsOf(value); p.Kind != kind || p.Value() != nil || kind.String() != "?" {
			t.Errorf("a %T is %v", value, p.Kind)
		}
	}
}
