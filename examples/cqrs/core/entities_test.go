package core

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
)

func TestDeclarationsMustBeRight(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"not JSON":              `nonsense`,
		"two values":            `[] []`,
		"unknown field":         `[{"type": "CAT", "streams": true}]`,
		"other letters":         `[{"TYPE": "CAT"}]`,
		"field twice":           `[{"type": "CAT", "type": "DOG"}]`,
		"attribute twice":       `[{"type": "CAT", "attributes": {"age": "number", "age": "bool"}}]`,
		"no type":               `[{}]`,
		"type of commands":      `[{"type": "CAT_CMD"}]`,
		"lower case":            `[{"type": "cat"}]`,
		"type of tasks":         `[{"type": "TASK"}]`,
		"twice":                 `[{"type": "CAT"}, {"type": "CAT"}]`,
		"tree with parents":     `[{"type": "CAT", "tree": true, "parents": 1}]`,
		"numbered, no year":     `[{"type": "CAT", "numbered": true}]`,
		"negative parents":      `[{"type": "CAT", "parents": -1}]`,
		"unknown kind":          `[{"type": "CAT", "attributes": {"age": "int"}}]`,
		"product without price": `[{"type": "PRODUCT"}]`,
	} {
		check.Is(t, check.Err(ParseEntities([]byte(file))), ErrInvalid, name)
	}
	_, err := ParseEntities([]byte(`[{"type": "cat"}, {"type": "DOG", "attributes": {"": "bool"}}]`))
	for _, want := range []string{`"cat"`, `"DOG"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v names no %s", err, want)
		}
	}
}

// A type is nothing but its declaration.
func TestAnyDeclaredTypeHasTheCommands(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	entities := check.Must(ParseEntities([]byte(`[
		{"type": "CAT", "attributes": {"age": "number", "name": "string", "tame": "bool"}, "index": true},
		{"type": "DOG", "parents": 2, "stream": true}
	]`)))(t)
	check.Equal(t, "types", entities.Types(), []string{"CAT", "DOG"})
	acme := check.Must(New(s.table, &Options{Entities: entities}))(t).As(s.acme().caller)

	cat := Change{Ref: NewRef("CAT", "TOM"), Attributes: map[string]any{"age": 3, "name": "Tom", "tame": true}}
	first := check.Must(acme.Publish(t.Context(), cat))(t)
	check.Equal(t, "attributes", first.Attributes, map[string]any{"age": 3.0, "name": "Tom", "tame": true})
	check.Equal(t, "data at once", check.Must(acme.Get(t.Context(), cat.Ref))(t), first)
	check.Equal(t, "by code at once", check.Must(acme.ByCode(t.Context(), "", "TOM", 0, ""))(t).Items, []Record{first})
	cat.Version = 1
	second := check.Must(acme.Publish(t.Context(), cat))(t)
	check.Equal(t, "data at once", check.Must(acme.Get(t.Context(), cat.Ref))(t), second)
	check.Is(t, check.Err(acme.Publish(t.Context(), cat)), table.ErrStale)

	dog := Change{Ref: NewRef("DOG", "A", "B", "REX")}
	check.Must(acme.Publish(t.Context(), dog))(t)
	check.Is(t, check.Err(acme.Get(t.Context(), dog.Ref)), table.ErrNotFound, "data before the stream")
	check.Is(t, check.Err(acme.Publish(t.Context(), priced(0, 40))), ErrInvalid, "a type of another file")
}

// The stream delivers the history of a record whose data was put by the command.
func TestDataInTheTransactionStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ana := NewRef("USER", "ana")
	var last Record
	for version := range int64(3) {
		c := Change{Ref: ana, Name: "Ana", Attributes: map[string]any{"email": "ana@example.com"}, Version: version}
		last = check.Must(s.acme().Publish(t.Context(), c))(t)
	}
	check.Equal(t, "data", check.Must(s.acme().Get(t.Context(), ana))(t), last)
	check.Equal(t, "key", dataKey("ACME", ana).PK, "USER#ACME")
	s.settle(t)
	check.Equal(t, "data", check.Must(s.acme().Get(t.Context(), ana))(t), last)
	check.Equal(t, "of another tenant", check.Must(s.as(Caller{Tenant: "GLOBEX"}).List(t.Context(), "USER", 0, ""))(t).Items, []Record{})
	check.Equal(t, "in the index", len(check.Must(s.acme().ByCode(t.Context(), "", "ana", 0, ""))(t).Items), 0)
	checkAudit(t, s.acme())
}

func TestAttributesMustBeAsDeclared(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for name, attributes := range map[string]map[string]any{
		"unknown":           {"colour": "red"},
		"text for a number": {"price": "40"},
		"bool for a number": {"price": true},
		"nothing":           {"price": nil},
		"a list":            {"price": []any{1}},
		"not a number":      {"price": math.NaN()},
		"too large":         {"price": int64(1 << 53)},
		"too large, JSON":   {"price": json.Number("9007199254740993")},
		"far too large":     {"price": json.Number("1e999")},
		"too near to zero":  {"price": -1e-200},
		"too near, JSON":    {"price": json.Number("1e-200")},
		"rounded to zero":   {"price": json.Number("1e-400")},
	} {
		c := Change{Ref: lamp, Attributes: attributes}
		if err := check.Err(s.acme().Publish(t.Context(), c)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		check.Is(t, s.acme().Import(t.Context(), importID, []Change{c}), ErrInvalid, name)
	}
	got := check.Must(s.acme().Publish(t.Context(), Change{Ref: lamp, Attributes: map[string]any{"price": json.Number("9007199254740991")}}))(t)
	check.Equal(t, "price", got.Attributes["price"], any(9007199254740991.0))
	for text, want := range map[string]float64{"1e-130": 1e-130, "-0.0E5": 0, "0e-999": 0} {
		c := Change{Ref: NewRef("PRODUCT", text), Attributes: map[string]any{"price": json.Number(text)}}
		got := check.Must(s.acme().Publish(t.Context(), c))(t)
		check.Equal(t, text, got.Attributes["price"], any(want))
	}
}
