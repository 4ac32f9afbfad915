package core

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/singletable/singletable/examples/internal/strictjson"
)

// Entity declares a type of records that tenants may publish. Types come with requests,
// and only declared ones are let through: a type such as ORDER_CMD would reach into the
// commands.
type Entity struct {
	// Type begins the keys of the records: upper case letters and digits.
	Type string
	// Parents is how many parents a record has. They are part of its key and need not
	// exist.
	Parents int
	// Tree means that a record has any number of parents, which are records of the same
	// type and must exist.
	Tree bool
	// Numbered means that only a sequence gives codes, below a year: see
	// [Tenant.PlaceOrder]. Commands and imports create no such record.
	Numbered bool
	// Attributes are the names and kinds of the attributes that a record can have. None
	// of them is required.
	Attributes map[string]Kind
	// Index means that records are found by their code.
	Index bool
	// Stream means that the data follows from the stream, a moment after the command.
	// Otherwise it is written in the transaction of the command.
	Stream bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Entity) UnmarshalJSON(text []byte) error {
	return strictjson.Object(text, map[string]any{
		"type": &e.Type, "parents": &e.Parents, "tree": &e.Tree, "numbered": &e.Numbered,
		"attributes": &e.Attributes, "index": &e.Index, "stream": &e.Stream,
	})
}

// Kind is the kind of an attribute: string, number or bool. Numbers are stored as
// float64 and have a magnitude below 2^53, so that whole numbers are exact.
type Kind string

const (
	stringKind Kind = "string"
	numberKind Kind = "number"
	boolKind   Kind = "bool"
)

// Entities are the declared types.
type Entities map[string]Entity

//go:embed entities.json
var declared []byte

// typeForm has no underscore, which begins the types of commands and history.
var typeForm = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,63}$`)

// reserved begin the keys of items that are no records.
var reserved = []string{"BACKFILL", "CATALOGUE", "IDE", "IMPORT", "SEQ", "STREAM", "TASK"}

// ParseEntities reads a file such as entities.json: a JSON array of entities. The error
// matches [ErrInvalid] and lists all problems.
func ParseEntities(file []byte) (Entities, error) {
	var list []Entity
	if err := cmp.Or(strictjson.Check(file), json.Unmarshal(file, &list)); err != nil {
		return nil, fmt.Errorf("%w: entities: %w", ErrInvalid, err)
	}
	all := Entities{}
	var problems []error
	for _, e := range list {
		problem := e.validate()
		if _, twice := all[e.Type]; twice {
			problem = errors.New("is declared twice")
		}
		if problem != nil {
			problems = append(problems, fmt.Errorf("%w: entity %q: %w", ErrInvalid, e.Type, problem))
		}
		all[e.Type] = e
	}
	return all, errors.Join(problems...)
}

func (e Entity) validate() error {
	switch {
	case !typeForm.MatchString(e.Type):
		return errors.New("the type must be upper case letters and digits")
	case slices.Contains(reserved, e.Type):
		return errors.New("the type is reserved")
	case e.Parents < 0 || e.Tree && e.Parents > 0:
		return errors.New("parents and tree do not go together, and parents is not negative")
	case e.Numbered && e.Parents != 1:
		return errors.New("a numbered type has one parent, the year")
	}
	for name, kind := range e.Attributes {
		if name == "" || !slices.Contains([]Kind{stringKind, numberKind, boolKind}, kind) {
			return fmt.Errorf("attribute %q has the unknown kind %q", name, kind)
		}
	}
	if e.Type == listedType && e.Attributes[listedPrice] != numberKind {
		return fmt.Errorf("the catalogue needs the number %s", listedPrice)
	}
	return nil
}

// Types returns the declared types in their order.
func (es Entities) Types() []string { return slices.Sorted(maps.Keys(es)) }

// of returns the entity of a type.
func (es Entities) of(typ string) (Entity, error) {
	e, ok := es[typ]
	if !ok {
		return Entity{}, fmt.Errorf("%w: no such type", ErrInvalid)
	}
	return e, nil
}

// check reports whether a ref can name a record. Empty and overlong codes are found by
// package keys.
func (es Entities) check(r Ref) error {
	e, err := es.of(r.Type)
	if err == nil && !e.Tree && len(r.Parents) != e.Parents {
		return fmt.Errorf("%w: a %s has %d parents, not %d", ErrInvalid, r.Type, e.Parents, len(r.Parents))
	}
	return err
}

// given checks a change whose code the caller has chosen.
func (es Entities) given(c Change) error {
	err := es.check(c.Ref)
	if err == nil && c.Version == 0 && es[c.Type].Numbered {
		err = fmt.Errorf("%w: only a sequence gives numbers to a new %s", ErrInvalid, c.Type)
	}
	return err
}

// prepare checks a change, and returns it with its numbers as they are stored.
func (es Entities) prepare(c Change) (Change, error) {
	if err := es.check(c.Ref); err != nil {
		return c, err
	}
	if len(c.Attributes) == 0 {
		c.Attributes = nil
		return c, nil
	}
	c.Attributes = maps.Clone(c.Attributes)
	for name, value := range c.Attributes {
		kind, known := es[c.Type].Attributes[name]
		stored, ok := kind.stored(value)
		if !known || !ok {
			return c, fmt.Errorf("%w: a %s has no attribute of that name and kind, or a number is not 0 and not from 1e-130 to 2^53 - 1", ErrInvalid, c.Type)
		}
		c.Attributes[name] = stored
	}
	return c, nil
}

// A number is 0, or its magnitude is from tiny to exact: DynamoDB stores none that is
// nearer to zero, and a float64 tells larger ones from their neighbors no more. AWS:
// "Supported data types and naming rules in Amazon DynamoDB", Amazon DynamoDB Developer
// Guide.
const (
	tiny  = 1e-130
	exact = 1<<53 - 1
)

// stored returns a value as reads return it. It is not ok for a value of another kind, and
// for a number that cannot be stored.
func (k Kind) stored(value any) (v any, ok bool) {
	if n, isNumber := value.(json.Number); isNumber {
		f, err := n.Float64()
		mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
		rounded := f == 0 && strings.ContainsAny(mantissa, "123456789")
		return f, err == nil && !rounded && k.holds(f)
	}
	v = value
	switch r := reflect.ValueOf(value); {
	case r.Kind() == reflect.String:
		ok = k == stringKind
	case r.Kind() == reflect.Bool:
		ok = k == boolKind
	case r.CanInt():
		v, ok = float64(r.Int()), k == numberKind && -exact <= r.Int() && r.Int() <= exact
	case r.CanFloat():
		v, ok = r.Float(), k.holds(r.Float())
	}
	return v, ok
}

// holds reports whether a number can be stored as a value of the kind. NaN cannot.
func (k Kind) holds(f float64) bool {
	magnitude := math.Abs(f)
	return k == numberKind && (f == 0 || tiny <= magnitude && magnitude <= exact)
}
