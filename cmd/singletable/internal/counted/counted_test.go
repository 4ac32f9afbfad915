package counted_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/counted"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func list(all ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: all}
}

func str(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

// A mark that package repo does not write counts nothing.
func TestOf(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "T"}, nil)
	one := &types.AttributeValueMemberN{Value: "1"}
	of := func(in types.AttributeValue) []counted.Count {
		return counted.Of(tbl, table.Item{counted.Attribute: &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"in": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"lines": in}},
		}}})
	}
	want := []counted.Count{{Counter: "lines", Owner: "ORDER", Key: keys.Key{PK: "ORDER#1", SK: "A"}, Attribute: "n", N: "1"}}
	if diff := cmp.Diff(want, of(list(str("ORDER"), str("n"), one, str("ORDER#1"), str("A")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, in := range map[string]types.AttributeValue{
		"no list": str("x"), "short": list(str("ORDER"), str("n"), one), "a text": list(str("ORDER"), str("n"), str("1"), str("a"), str("b")),
		"no key": list(str("ORDER"), str("n"), one, list()), "no type": list(one, str("n"), one, str("a"), str("b")), "nil": nil,
	} {
		if got := of(in); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := counted.Of(tbl, table.Item{counted.Attribute: str("mine")}); got != nil {
		t.Errorf("an attribute of the application: %v", got)
	}
}
