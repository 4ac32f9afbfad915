package idempotency

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Plan holds the ops and the result of a request. [Snapshot] and [Reference] make
// one; the choice between them is how the result is kept.
type Plan[R any] struct {
	ops       []table.Op
	result    R
	reference *keys.Key
	// none means that there is no result.
	none bool
	// extra holds what With was given.
	extra []any
}

// maxOps is what a transaction leaves to the plan in addition to the record.
const maxOps = 99

// Snapshot plans ops, up to 99, and a result that is kept in the record. A
// repeated request gets the result as it was, whatever became of the items. It
// is stored by the rules of the SDK's attributevalue package. Record and result
// together must fit into an item of 400 KB.
//
// A result that storing would change is [table.ErrInvalid], and the error names
// the field. Nothing is written. Examples:
//
//   - a [math/big.Int], a NaN, a field that is unexported or not stored
//   - in an interface: a struct, a time, or an integer that a float64 would print
//     with other digits
//
// Return a type made for the response, or give the type its own marshaling.
//
// A snapshot is as the release that ran the request made it. The upgrades of package
// repo do not apply: a later release with another R gets what decodes into it, and an
// attribute that was renamed is empty. Do not write a snapshot as an entity.
//
// Some differences do not count. The first request then gets the result in the
// form that a repeated request gets:
//
//   - nil and empty slices and maps
//   - the order of a set, and how a number is written
//   - the zone of a time and its monotonic clock; with the tag option unixtime, the fraction
//     of its second
//   - in an interface: float64, []any and map[string]any in place of other
//     numbers, lists and maps
//
// A type that marshals itself is compared by its Equal method, if it has one.
//
// Make the ops of an entity before its snapshot: they set its version or revision.
//
// AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func Snapshot[R any](result R, ops ...table.Op) Plan[R] {
	return Plan[R]{ops: ops, result: result}
}

// Reference plans ops, up to 99, and a result that is an item of the table. The
// record keeps the item's key. A repeated request gets the item as it is by
// then, and [ErrResultGone] if it was deleted. A result that storing would change is
// refused, and what does not count as a difference is in one form, as by [Snapshot].
//
// The item is read as the table that was given to [New] reads. For an entity of package
// repo that has upgrades, make a store of its View: other tables do not upgrade what an
// earlier release has stored.
//
// One of ops must be a Put, Create or Update of that key, which is otherwise
// [table.ErrInvalid]: an item that the transaction does not write may never
// have existed. For an item that the plan only reads, use [Snapshot].
func Reference[R any](result R, key keys.Key, ops ...table.Op) Plan[R] {
	return Plan[R]{ops: ops, result: result, reference: &key}
}

// With returns the plan with attributes to keep in the record, such as txId and
// userId: a struct or map. They are for people who look at the table.
// Attributes of the record, the type, the expiry, and the keys of the table and
// of its indexes are [table.ErrInvalid], and so is a second With.
func (p Plan[R]) With(attributes any) Plan[R] {
	p.extra = append(p.extra[:len(p.extra):len(p.extra)], attributes)
	return p
}

// The attributes of a record, in addition to key, type and expiry.
const (
	createdAt   = "createdAt"
	fingerprint = "fingerprint"
	attemptMark = "attempt"
	resultValue = "result"
	resultPK    = "resultPK"
	resultSK    = "resultSK"

	recordType = "IDEMPOTENCY"
)

// ownNames are the names of these attributes.
var ownNames = []string{createdAt, fingerprint, attemptMark, resultValue, resultPK, resultSK}

// fill adds what the plan keeps to a record, and returns the result as a repeated
// request gets it.
func (p Plan[R]) fill(record table.Item, spec schema.Table) (R, error) {
	var none R
	if err := p.fillExtra(record, spec); err != nil {
		return none, fmt.Errorf("%w: With: %w", errInvalidPlan, err)
	}
	if p.none {
		return none, nil
	}
	value, err := encode(p.result, item.Encode)
	if err != nil {
		return none, fmt.Errorf("%w: %w", errInvalidPlan, quiet("result: it cannot be stored", err))
	}
	if p.reference == nil {
		record[resultValue] = value
	} else {
		if err := p.checkReference(); err != nil {
			return none, fmt.Errorf("%w: Reference: %w", errInvalidPlan, err)
		}
		record[resultPK] = &types.AttributeValueMemberS{Value: string(p.reference.PK)}
		record[resultSK] = &types.AttributeValueMemberS{Value: string(p.reference.SK)}
	}
	result, path, err := readBack(p.result, value)
	switch {
	case err != nil:
		return none, fmt.Errorf("%w: %w", errInvalidPlan, quiet("result: it cannot be read back", err))
	case path != "":
		return none, fmt.Errorf("%w: %s would read back as another value", errInvalidPlan, path)
	}
	return result, nil
}

// fillExtra adds what With was given.
func (p Plan[R]) fillExtra(record table.Item, spec schema.Table) error {
	switch {
	case len(p.extra) > 1:
		return errors.New("it is given twice")
	case len(p.extra) == 0 || p.extra[0] == nil:
		return nil
	}
	extra, err := encode(p.extra[0], item.EncodeToRead)
	switch {
	case errors.Is(err, item.ErrRoundTrip):
		return err // which names the attribute and its type
	case err != nil:
		return quiet("the attributes cannot be stored", err)
	}
	attributes, ok := extra.(*types.AttributeValueMemberM)
	if !ok {
		return fmt.Errorf("a %T is no struct or map with values", p.extra[0])
	}
	taken := append(keyNames(spec), spec.Type, spec.TTL)
	for name, value := range attributes.Value {
		switch {
		case slices.Contains(ownNames, name):
			return fmt.Errorf("attribute %q is the record's own", name)
		case slices.Contains(taken, name):
			return fmt.Errorf("attribute %q is the type, the expiry or a key of the table or of an index", name)
		}
		record[name] = value
	}
	return nil
}

// keyNames returns the key attributes of a table and of its indexes.
func keyNames(spec schema.Table) []string {
	names := []string{spec.PK, spec.SK}
	for _, x := range spec.Indexes {
		partition, sort := x.Keys()
		for _, a := range slices.Concat(partition, sort) {
			names = append(names, a.Name)
		}
	}
	return names
}

// checkReference reports why the item referred to may not exist.
func (p Plan[R]) checkReference() error {
	if err := p.reference.Validate(); err != nil {
		return err
	}
	for _, op := range p.ops {
		if op.Key() != *p.reference {
			continue
		}
		switch op.Verb() {
		case "Put", "Create", "Update":
			return nil
		}
	}
	return errors.New("no Put, Create or Update of the plan writes the item")
}

// encode makes an attribute of a value, by a function of package item. An item is one
// already, which attributevalue does not know.
func encode(v any, by func(any) (types.AttributeValue, error)) (types.AttributeValue, error) {
	switch item := v.(type) {
	case table.Item:
		return &types.AttributeValueMemberM{Value: item}, nil
	case map[string]types.AttributeValue:
		return &types.AttributeValueMemberM{Value: item}, nil
	}
	return by(v)
}

// isItem reports whether a value is of a type that holds attributes.
func isItem[R any](v R) bool {
	switch any(&v).(type) {
	case *table.Item, *map[string]types.AttributeValue:
		return true
	}
	return false
}

// readBack returns a result as it is read from the attribute that was made of it. path is
// that of what differs then, "" if nothing does.
func readBack[R any](result R, value types.AttributeValue) (back R, path string, err error) {
	back, err = decode[R](value)
	if err != nil || isItem(result) {
		return back, "", err
	}
	return back, differs(reflect.ValueOf(&result).Elem(), reflect.ValueOf(&back).Elem(), "result"), nil
}

// inOrder returns a result that was read from an item of the table as the first request
// gets one: DynamoDB returns sets in any order. A result that this would change otherwise
// stays as it is. AWS: "Supported data types and naming rules in Amazon DynamoDB", Amazon
// DynamoDB Developer Guide.
func inOrder[R any](result R) R {
	value, err := encode(result, item.Encode)
	if err != nil {
		return result
	}
	back, path, err := readBack(result, value)
	if err != nil || path != "" {
		return result
	}
	return back
}

// decode returns a result as a repeated request gets it. The first request gets
// the same, so that the two are equal to the byte.
func decode[R any](value types.AttributeValue) (R, error) {
	var v R
	value = item.AsStored(value)
	if m, ok := value.(*types.AttributeValueMemberM); ok {
		err := table.Item(m.Value).Decode(&v)
		return v, err
	}
	err := item.Decode(value, &v)
	return v, err
}
