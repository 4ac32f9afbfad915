package idempotency

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Plan is what a request is to do, and what it is to answer. [Snapshot] and
// [Reference] make one; the choice between them is how the answer is kept.
type Plan[R any] struct {
	ops       []table.Op
	result    R
	reference *keys.Key
	extra     any
}

// maxOps is what a transaction leaves to the plan beside the record.
const maxOps = 99

// Snapshot plans ops, up to 99, and a result that is kept in the record. A
// repeated request gets the result as it was, whatever became of the items. It
// is stored by the rules of the SDK's attributevalue package, and record and
// result together must fit into an item of 400 KB.
func Snapshot[R any](result R, ops ...table.Op) Plan[R] {
	return Plan[R]{ops: ops, result: result}
}

// Reference plans ops, up to 99, and a result that is an item of the table. The
// record keeps the item's key. A repeated request gets the item as it is by
// then, and [ErrResultGone] if it was deleted.
func Reference[R any](result R, key keys.Key, ops ...table.Op) Plan[R] {
	return Plan[R]{ops: ops, result: result, reference: &key}
}

// With returns the plan with attributes to keep in the record, such as txId and
// userId: a struct or map. They are for those who look at the table.
func (p Plan[R]) With(attributes any) Plan[R] {
	p.extra = attributes
	return p
}

// The attributes of a record beside key, type and expiry.
const (
	createdAt   = "createdAt"
	fingerprint = "fingerprint"
	attemptMark = "attempt"
	resultValue = "result"
	resultPK    = "resultPK"
	resultSK    = "resultSK"

	recordType = "IDEMPOTENCY"
)

// fill adds what the plan keeps to a record, and returns the answer.
func (p Plan[R]) fill(record table.Item, schema table.Schema) (R, error) {
	var none R
	if p.extra != nil {
		extra, err := encode(p.extra)
		if err != nil {
			return none, fmt.Errorf("%w: With: %w", ErrInvalidRequest, err)
		}
		attributes, ok := extra.(*types.AttributeValueMemberM)
		if !ok {
			return none, fmt.Errorf("%w: With: a %T is no struct or map with values", ErrInvalidRequest, p.extra)
		}
		own := []string{schema.PK, schema.SK, resultValue, resultPK, resultSK}
		for name, value := range attributes.Value {
			if _, taken := record[name]; taken || slices.Contains(own, name) {
				return none, fmt.Errorf("%w: With: attribute %q is the record's own", ErrInvalidRequest, name)
			}
			record[name] = value
		}
	}
	if p.reference != nil {
		if err := p.reference.Validate(); err != nil {
			return none, fmt.Errorf("%w: Reference: %w", ErrInvalidRequest, err)
		}
		record[resultPK] = &types.AttributeValueMemberS{Value: string(p.reference.PK)}
		record[resultSK] = &types.AttributeValueMemberS{Value: string(p.reference.SK)}
		return p.result, nil
	}
	value, err := encode(p.result)
	if err != nil {
		return none, fmt.Errorf("%w: result: %w", ErrInvalidRequest, err)
	}
	record[resultValue] = value
	// What cannot be read back must not be found out after the work was done.
	answer, err := decode[R](value)
	if err != nil {
		return none, fmt.Errorf("%w: result: it cannot be read back: %w", ErrInvalidRequest, err)
	}
	return answer, nil
}
