package idempotency

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Plan holds the ops and the result of a request. [Snapshot] and [Reference] make
// one; the choice between them is how the result is kept. The zero Plan is
// [table.ErrInvalid].
type Plan[R any] struct {
	ops       []table.Op
	result    R
	reference *keys.Key
	// made means that Snapshot or Reference has made the plan.
	made bool
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
// The first request gets the result in the form that a repeated one gets, so the two are
// equal. What is not stored is empty for both: unexported fields next to exported ones, and
// fields with the tag `dynamodbav:"-"`. What an interface held is a string, a float64, a
// list or a map for both.
//
// A result is [table.ErrInvalid], and nothing is sent, if package table would refuse its type
// in an item, such as a decimal or a [math/big.Int]: attributevalue would store an empty
// value. The error names the field. So is a number in an interface that a float64 does not
// hold, such as an integer over 2^53. Return a type made for the response.
//
// A snapshot is as the release that ran the request made it. The upgrades of package
// repo do not apply: a later release with another R gets what decodes into it, and an
// attribute that was renamed is empty. Do not write a snapshot as an entity.
//
// Make the ops of an entity before its snapshot: they set its version or revision.
//
// AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func Snapshot[R any](result R, ops ...table.Op) Plan[R] {
	return Plan[R]{ops: ops, result: result, made: true}
}

// Reference plans ops, up to 99, and a result that is an item of the table. The
// record keeps the item's key. A repeated request gets the item as it is by
// then, and [ErrResultGone] if it was deleted. A result is refused as by [Snapshot], and so is
// an R that the item does not decode into, such as a number.
//
// The first request gets what a repeated one reads of the item that a Put or Create writes,
// with its key attributes, type and version, and not the result. Of an Update, the plan does
// not tell the item: the first request gets the result, which is no nil then, with the key
// attributes of the item. Give it what the item has after the Update, also its type
// attribute, or the two differ.
//
// The item is read as the table that was given to [New] reads. For an entity of package
// repo that has upgrades, make a store of its View: other tables do not upgrade what an
// earlier release has stored.
//
// One of ops must be a Put, Create or Update of that key, which is otherwise
// [table.ErrInvalid]: an item that the transaction does not write may never
// have existed. For an item that the plan only reads, use [Snapshot].
func Reference[R any](result R, key keys.Key, ops ...table.Op) Plan[R] {
	return Plan[R]{ops: ops, result: result, reference: &key, made: true}
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
func (p Plan[R]) fill(record table.Item, t *table.Table, spec schema.Table) (R, error) {
	var none R
	if err := p.fillExtra(record, spec); err != nil {
		return none, fmt.Errorf("%w: With: %w", errInvalidPlan, err)
	}
	if p.none {
		return none, nil
	}
	if !p.made {
		return none, fmt.Errorf("%w: it is the zero Plan; make one with Snapshot or Reference", errInvalidPlan)
	}
	value, err := encode(p.result)
	if err != nil {
		return none, fmt.Errorf("%w: the result cannot be stored: %w", errInvalidPlan, err)
	}
	result, err := decode[R](value)
	if err != nil {
		return none, fmt.Errorf("%w: %w", errInvalidPlan, err)
	}
	if back, err := encode(result); err == nil {
		if path := rounded(item.AsStored(value), item.AsStored(back), reflect.ValueOf(p.result), "result"); path != "" {
			return none, fmt.Errorf("%w: attribute %q: the number would read back as another one, as a float64 does in an interface; "+
				"give the field a type, or store a string", errInvalidPlan, path)
		}
	}
	if p.reference == nil {
		record[resultValue] = value
		return result, nil
	}
	attributes, err := p.referred(value, t, spec)
	if err != nil {
		return none, fmt.Errorf("%w: Reference: %w", errInvalidPlan, err)
	}
	if result, err = decode[R](attributes); err != nil {
		return none, fmt.Errorf("%w: Reference: the item does not read as a %T; use Snapshot: %w", errInvalidPlan, result, err)
	}
	record[resultPK] = &types.AttributeValueMemberS{Value: string(p.reference.PK)}
	record[resultSK] = &types.AttributeValueMemberS{Value: string(p.reference.SK)}
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
	extra, is := itemOf(p.extra[0])
	if !is {
		var err error
		if extra, err = item.EncodeToRead(p.extra[0]); err != nil {
			return err // which names the attribute and its type
		}
	}
	attributes, ok := extra.(*types.AttributeValueMemberM)
	if !ok {
		return fmt.Errorf("a %T is no struct or map with values", p.extra[0])
	}
	for name, value := range attributes.Value {
		switch {
		case slices.Contains(ownNames, name):
			return fmt.Errorf("attribute %q is the record's own", name)
		case slices.ContainsFunc(tableAttributes(spec), func(a schema.Attribute) bool { return a.Name == name }):
			return fmt.Errorf("attribute %q is the type, the expiry, a key or of an index of the table", name)
		}
		record[name] = value
	}
	return nil
}

// referred returns the item that a repeated request reads, as far as the plan tells: what a
// Put or Create writes, else the result, which is given, with its key.
func (p Plan[R]) referred(given types.AttributeValue, t *table.Table, spec schema.Table) (types.AttributeValue, error) {
	if err := p.reference.Validate(); err != nil {
		return nil, err
	}
	result, is := given.(*types.AttributeValueMemberM)
	var known map[string]types.AttributeValue
	written := false
	for _, op := range p.ops {
		if op.Key() != *p.reference {
			continue
		}
		switch op.Verb() {
		case "Put", "Create":
			known, written = t.Written(op.Key(), p.ops...).Item, true // nil if the transaction will be refused
		case "Update":
			written = true
		}
	}
	switch {
	case !written:
		return nil, errors.New("no Put, Create or Update of the plan writes the item")
	case known != nil:
		return &types.AttributeValueMemberM{Value: known}, nil
	case !is || result.Value == nil:
		return nil, fmt.Errorf("the result, a %T, is no struct or map with values, and a repeated request reads an item; use Snapshot", p.result)
	}
	known = maps.Clone(result.Value)
	known[spec.PK] = &types.AttributeValueMemberS{Value: string(p.reference.PK)}
	known[spec.SK] = &types.AttributeValueMemberS{Value: string(p.reference.SK)}
	return &types.AttributeValueMemberM{Value: known}, nil
}

// itemOf makes an attribute of an item, which attributevalue does not know.
func itemOf(v any) (attribute types.AttributeValue, is bool) {
	switch attributes := v.(type) {
	case table.Item:
		return &types.AttributeValueMemberM{Value: attributes}, true
	case map[string]types.AttributeValue:
		return &types.AttributeValueMemberM{Value: attributes}, true
	}
	return nil, false
}

// encode makes the attribute of a result, as a field of its type: this is what it is read as.
func encode[R any](result R) (types.AttributeValue, error) {
	if value, is := itemOf(result); is {
		return value, nil
	}
	record := struct {
		Result R `dynamodbav:"result"`
	}{result}
	value, err := item.EncodeToRead(&record)
	if err != nil {
		return nil, err
	}
	return value.(*types.AttributeValueMemberM).Value[resultValue], nil
}

// decode returns a result as a repeated request gets it. The first request gets
// the same, so that the two are equal to the byte.
func decode[R any](value types.AttributeValue) (v R, err error) {
	value = item.AsStored(value)
	if m, ok := value.(*types.AttributeValueMemberM); ok {
		err = table.Item(m.Value).Decode(&v)
	} else {
		err = item.Decode(value, &v)
	}
	if misfit, ok := errors.AsType[*item.Error](err); ok {
		err = misfit.OfValue()
	}
	if err != nil {
		err = fmt.Errorf("the result cannot be read: %w", err)
	}
	return v, err
}

// rounded returns the path of a number that reads back as another one, "" if there is none.
// The path is that in the Go value, without the keys of maps.
func rounded(stored, back types.AttributeValue, v reflect.Value, path string) string {
	a, b := item.ValueOf(stored), item.ValueOf(back)
	//mutants:guard a result whose numbers read back as others is refused | TestResultsThatCannotBeReplayed
	if a.Kind == item.N && b.Kind == item.N && a.Text != b.Text {
		return path
	}
	for name, value := range a.Map {
		step, to := item.Step(v, name)
		if p := rounded(value, b.Map[name], to, path+step); p != "" {
			return p
		}
	}
	for i, number := range a.Texts { // a set, which an interface reads as a list
		if i < len(b.List) && item.ValueOf(b.List[i]).Text != number {
			return path
		}
	}
	for i, value := range a.List {
		if i == len(b.List) {
			break // a type has methods of its own
		}
		if p := rounded(value, b.List[i], elementOf(v, i), path+"[]"); p != "" {
			return p
		}
	}
	return ""
}

// elementOf returns an element of a list, no value if v is none.
func elementOf(v reflect.Value, i int) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && i < v.Len() {
		return v.Index(i)
	}
	return reflect.Value{}
}
