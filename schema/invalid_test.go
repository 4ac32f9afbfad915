package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
)

func TestSchemaValidate(t *testing.T) {
	t.Parallel()
	with := func(change func(*schema.Table)) schema.Table {
		s := appCore()
		change(&s)
		return s
	}
	index := func(x schema.Index) schema.Table {
		return with(func(s *schema.Table) { s.Indexes = []schema.Index{x} })
	}
	for field, spec := range map[string]schema.Table{
		"Name: \"\"":                   {},
		"Name: \"ab\"":                 with(func(s *schema.Table) { s.Name = "ab" }),
		"Name: \"a b\"":                with(func(s *schema.Table) { s.Name = "a b" }),
		"SK: \"pk\"":                   with(func(s *schema.Table) { s.SK = "pk" }),
		"SimpleKey":                    with(func(s *schema.Table) { s.SimpleKey, s.SK, s.Indexes = true, "x", nil }),
		"key attribute \"pk\"":         with(func(s *schema.Table) { s.PKType = "BOOL" }),
		"key attribute \"sk\"":         with(func(s *schema.Table) { s.SKType = "SS" }),
		"key attribute \"x\"":          index(schema.Index{Name: "GSI1", PK: "x", PKType: "L"}),
		"key attribute \"y\": is":      with(twoTypes),
		"of at most 255 characters":    with(func(s *schema.Table) { s.SK = strings.Repeat("x", 256) }),
		"key attribute \"\\xff\"":      with(func(s *schema.Table) { s.PK = "\xff" }),
		"TTLAttribute: \"\\xff\"":      with(func(s *schema.Table) { s.TTLAttribute = "\xff" }),
		"TTLAttribute: \"entityType\"": with(func(s *schema.Table) { s.TTLAttribute = "entityType" }),
		"Shape: \"entityType\"":        with(func(s *schema.Table) { s.Shape = "entityType" }),
		"Shape: \"\\xff\"":             with(func(s *schema.Table) { s.Shape = "\xff" }),
		"the TTL or shape":             with(func(s *schema.Table) { s.TTLAttribute = "sk" }),
		"names it in PKs or SKs":       index(schema.Index{Name: "GSI", PK: "entityType", SK: "x"}),
		"Indexes[0].Name: \"\"":        index(schema.Index{PK: "x"}),
		"Indexes[0].Name: \"a/b\"":     index(schema.Index{Name: "a/b", PK: "x"}),
		"Indexes[1].Name: \"GSI\" is used twice": with(func(s *schema.Table) {
			s.Indexes = []schema.Index{{Name: "GSI", PK: "x"}, {Name: "GSI", PK: "y"}}
		}),
		"Indexes[0].PK: is empty":   index(schema.Index{Name: "GSI1"}),
		"Indexes[0].SK: \"x\"":      index(schema.Index{Name: "GSI1", PK: "x", SK: "x"}),
		"Indexes[0].PK: a local":    index(schema.Index{Name: "LSI1", PK: "x", SK: "y", Local: true}),
		"Indexes[0].SK: is empty":   index(schema.Index{Name: "LSI1", Local: true}),
		"Indexes[0].Projection":     index(schema.Index{Name: "GSI1", PK: "x", Projection: "SOME"}),
		"Indexes[0].Include":        index(schema.Index{Name: "GSI1", PK: "x", Include: []string{"a"}}),
		"Indexes[0].Include: ":      index(schema.Index{Name: "GSI1", PK: "x", Projection: types.ProjectionTypeInclude}),
		"Indexes[0].Local: a table": {Name: "abc", SimpleKey: true, Indexes: []schema.Index{{Name: "LSI1", SK: "x", Local: true}}},
	} {
		err := spec.Validate()
		e, ok := errors.AsType[*schema.Error](err)
		if !ok || !errors.Is(err, keys.ErrInvalid) || e.Table != spec.Name {
			t.Errorf("%s: %v", field, err)
			continue
		}
		if !strings.Contains(strings.Join(e.Problems, "; "), field) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
		if _, err := spec.CreateTableInput(); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%s: CreateTableInput: %v", field, err)
		}
	}
	expiry := func(kind types.ScalarAttributeType) schema.Table {
		return index(schema.Index{Name: "GSI1", PKs: []schema.Attribute{{Name: "x"}}, SKs: []schema.Attribute{{Name: "expiresAt", Type: kind}}})
	}
	if err := expiry("S").Validate(); err == nil || !strings.Contains(err.Error(), "is the TTL attribute, a number, and not S") {
		t.Error(err)
	}
	four := []schema.Attribute{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
	longest := with(sixLocal)
	longest.Name, longest.PK, longest.Indexes = strings.Repeat("n", 255), strings.Repeat("ä", 255), longest.Indexes[:5]
	for name, spec := range map[string]schema.Table{
		"appCore": appCore(), "an expiry in a key": expiry("N"), "longest": longest, "four attributes": index(schema.Index{Name: "GSI1", PKs: four}),
	} {
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := schema.Table{Name: "a", PK: "x", SK: "x", PKType: "Z"}.Validate()
	if e, ok := errors.AsType[*schema.Error](err); !ok || len(e.Problems) < 3 {
		t.Errorf("not everything is listed: %v", err)
	}
}

func twoTypes(s *schema.Table) {
	s.Indexes = []schema.Index{
		{Name: "GSI1", PK: "y"}, {Name: "GSI2", PK: "y", PKType: types.ScalarAttributeTypeN},
	}
}
