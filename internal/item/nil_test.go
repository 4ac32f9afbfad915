package item_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// TestNil measures allocations, so no other test may run.
func TestNil(t *testing.T) {
	none := (*types.AttributeValueMemberBOOL)(nil)
	list := func(of ...types.AttributeValue) types.AttributeValue { return &types.AttributeValueMemberL{Value: of} }
	text := &types.AttributeValueMemberS{Value: "x"}
	endless := attributes{}
	endless["m"] = &types.AttributeValueMemberM{Value: endless}
	lists := &types.AttributeValueMemberL{Value: make([]types.AttributeValue, 1)}
	lists.Value[0] = lists
	for _, c := range []struct {
		value types.AttributeValue
		path  string
		is    bool
	}{
		{nil, "", true},
		{none, "", true},
		{text, "", false},
		{&types.AttributeValueMemberM{}, "", false},
		{list(text, none), "[1]", true},
		{list(&types.AttributeValueMemberM{Value: attributes{"a": text, "b": list(nil)}}), "[0][…][0]", true},
		{endless["m"], "", false},
		{lists, "", false},
	} {
		if path, is := item.Nil(c.value); path != c.path || is != c.is {
			t.Errorf("%#v: %q, %v", c.value, path, is)
		}
	}
	if path, is := item.NilIn(attributes{"a": text, "b": list(none)}); path != "b[0]" || !is {
		t.Errorf("in an item: %q, %v", path, is)
	}
	value := list(&types.AttributeValueMemberM{Value: attributes{"a": text, "b": list(text)}})
	if n := testing.AllocsPerRun(100, func() { item.Nil(value) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
