package table

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
)

// attribute is a key attribute's name and type.
type attribute struct {
	name string
	kind types.ScalarAttributeType
}

// shape is what the keys of a table or index look like.
type shape struct {
	pk, sk attribute
	// position are the attributes that say where an item stands: partition key,
	// sort key, then the table's own key.
	position []attribute
}

// keyAttributes returns the table's own.
func (t *Table) keyAttributes() []attribute {
	return []attribute{{t.schema.PK, t.schema.PKType}, {t.schema.SK, t.schema.SKType}}
}

// shape returns what the keys of an index look like, those of the table if the
// name is empty.
func (t *Table) shape(index string) (shape, error) {
	own := shape{pk: attribute{t.schema.PK, t.schema.PKType}, sk: attribute{t.schema.SK, t.schema.SKType}}
	s := own
	if index != "" {
		x, ok := t.schema.index(index)
		if !ok {
			return s, invalid("Index", "the schema has no index %q", index)
		}
		s.pk, s.sk = attribute{x.PK, x.PKType}, attribute{x.SK, x.SKType}
	}
	for _, a := range []attribute{s.pk, s.sk, own.pk, own.sk} {
		if a.name != "" && !slices.Contains(s.position, a) {
			s.position = append(s.position, a)
		}
	}
	return s, nil
}

// checkRange reports why a range cannot be one of these sort keys.
func (s shape) checkRange(r keys.Range) error {
	switch {
	case r == keys.Range{}:
		return nil
	case s.sk.name == "":
		return invalid("Range", "there is no sort key")
	case s.sk.kind == types.ScalarAttributeTypeS:
		return r.Validate()
	case s.sk.kind == types.ScalarAttributeTypeN && r.Prefix != "":
		return invalid("Range", "a number has no prefix")
	}
	for _, sk := range []keys.SK{r.Prefix, r.From, r.To} {
		if sk == "" {
			continue
		}
		if err := checkSK(s.sk.kind, sk); err != nil {
			return err
		}
	}
	if r.Prefix != "" && (r.From != "" || r.To != "") {
		return invalid("Range", "a prefix together with bounds")
	}
	return nil
}

// empty reports whether no sort key can lie in a valid range. Numbers are compared
// as numbers.
func (s shape) empty(r keys.Range) bool {
	return r.From != "" && r.To != "" && compareKeys(s.sk.kind, r.From, r.To) > 0
}

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", errInvalidQuery, field, fmt.Errorf(format, args...))
}
