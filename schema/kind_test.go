package schema_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
)

// Two kinds that one item can have are refused, and so is what no item can have.
func TestKindsExcludeEachOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kinds []schema.Kind
		want  string
	}{
		"by partition keys":        {[]schema.Kind{{Type: "A", PK: "USER#"}, {Type: "B", PK: "ORDER#"}}, ""},
		"by sort keys":             {[]schema.Kind{{Type: "A", PK: "USER#", SK: "META"}, {Type: "B", PK: "USER#", SK: "ORDER#"}}, ""},
		"by two whole keys":        {[]schema.Kind{{Type: "A", SK: "META"}, {Type: "B", SK: "METADATA"}}, ""},
		"by a value":               {[]schema.Kind{{Type: "A", PK: "USER#", Equal: map[string]string{"kind": "a"}}, {Type: "B", PK: "USER#", Equal: map[string]string{"kind": "b"}}}, ""},
		"any key":                  {[]schema.Kind{{Type: "A"}, {Type: "B", PK: "ORDER#"}}, "can be of"},
		"one within the other":     {[]schema.Kind{{Type: "A", PK: "USER#"}, {Type: "B", PK: "USER#ADMIN#"}}, "can be of"},
		"a whole key that begins":  {[]schema.Kind{{Type: "A", SK: "META#"}, {Type: "B", SK: "META#1"}}, "can be of"},
		"what one of them has not": {[]schema.Kind{{Type: "A", PK: "USER#"}, {Type: "B", PK: "USER#", Exists: []string{"x"}}}, "can be of"},
		"twice":                    {[]schema.Kind{{Type: "A", PK: "A#"}, {Type: "A", PK: "B#"}}, "twice"},
		"without a type":           {[]schema.Kind{{PK: "A#"}}, "is empty"},
		"a key":                    {[]schema.Kind{{Type: "A", Exists: []string{"pk"}}}, "another use"},
	} {
		err := schema.Table{Name: "Tbl", Kinds: test.kinds}.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if err := (schema.Table{Name: "Tbl", SKType: types.ScalarAttributeTypeN, Kinds: []schema.Kind{{Type: "A", SK: "A#"}}}).Validate(); err == nil {
		t.Error("a number begins with a text")
	}
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Kinds: []schema.Kind{
		{Type: "USER", PK: "USER#", SK: "META"},
		{Type: "ACCOUNT", PK: "USER#", SK: "ACCOUNT#", Exists: []string{"scope"}},
		{Type: "TOKEN", PK: "TOKEN#", Equal: map[string]string{"use": "once"}},
	}}.WithDefaults()
	item := func(pk, sk string, more ...string) map[string]types.AttributeValue {
		all := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = &types.AttributeValueMemberS{Value: more[i+1]}
		}
		return all
	}
	for _, test := range []struct {
		item map[string]types.AttributeValue
		want string
	}{
		{item("USER#1", "META"), "USER"},
		{item("USER#1", "METADATA"), ""},
		{item("USER#1", "META", "entityType", "BOX"), "USER"},
		{item("USER#1", "BOX#1", "entityType", "BOX"), "BOX"},
		{item("USER#1", "ACCOUNT#1"), ""},
		{item("USER#1", "ACCOUNT#1", "scope", "x"), "ACCOUNT"},
		{item("TOKEN#1", "x", "use", "once"), "TOKEN"},
		{item("TOKEN#1", "x", "use", "twice"), ""},
		{nil, ""},
	} {
		expect.Equal(t, "type", spec.TypeOf(test.item), test.want)
	}
	expect.Equal(t, "kind", spec.KindOf("TOKEN").PK, "TOKEN#")
	expect.Equal(t, "no kind", spec.KindOf("BOX"), nil)
}
