package table

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Do runs one op by itself. A [Check] costs as much as a transaction, because
// DynamoDB has it as part of one only.
//
// A failed condition is [ErrConditionFailed], and [ErrExists] for a [Create]
// that met an item. An item over 400 KB is [ErrTooLarge], and anything else
// that cannot be right is [ErrInvalidOp] or [keys.ErrInvalid]; none of these
// sends anything.
//
// When the answer of a write is lost, the SDK repeats it, and Do finds out
// whether the first attempt was carried out: its own work is not reported as a
// failed condition. For that it compares the stored item with its own, so an
// item that serves as a lock must say whose it is. The repetition is a write
// like the first, and so can undo what another writer did between the two. An
// update that would count twice, such as an ADD, is not repeated, and a lost
// answer to a write under a version stays lost, since two writers may have
// written the same. What cannot be known is [ErrOutcomeUnknown]. As a
// transaction of one op, each of these is carried out once, however often it is
// sent.
func (t *Table) Do(ctx context.Context, op Op) error {
	if err := t.do(ctx, op); err != nil {
		verb := op.verb
		if verb == "" {
			verb = "Do"
		}
		return &Error{Op: verb, Name: op.name, Table: t.schema.Name, Key: op.key, Err: explain(err)}
	}
	return nil
}

func (t *Table) do(ctx context.Context, op Op) error {
	w, err := t.prepare(op)
	if err != nil {
		return err
	}
	if op.verb == verbCheck {
		return t.transact(ctx, []write{w})
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	tries := &attempts{once: !repeatable(w.update)}
	for attempt := 1; ; attempt++ {
		err := t.send(ctx, w, tries)
		conflict, failed := (*types.TransactionConflictException)(nil), (*types.ConditionalCheckFailedException)(nil)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &conflict) && attempt < t.options.MaxAttempts:
			if cause := wait(ctx, attempt); cause != nil {
				return tries.outcome(errors.Join(cause, err))
			}
		case errors.As(err, &failed):
			return t.conditionFailed(ctx, w, tries, failed.Item, err)
		default:
			return tries.outcome(err)
		}
	}
}

// outcome marks an error after which nobody knows what happened.
func (a *attempts) outcome(err error) error {
	if a.unknown(err) {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// send sends the request of a single write.
func (t *Table) send(ctx context.Context, w write, tries *attempts) error {
	old := types.ReturnValuesOnConditionCheckFailure("")
	if w.condition != nil {
		old = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	var err error
	switch w.op.verb {
	case verbUpdate:
		_, err = send(ctx, t, &request{operation: "UpdateItem", attempts: tries}, t.client.UpdateItem, &dynamodb.UpdateItemInput{
			TableName: t.name, Key: w.key,
			UpdateExpression: w.update, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnConsumedCapacity:              t.returnCapacity(),
			ReturnValuesOnConditionCheckFailure: old,
		}, func(out *dynamodb.UpdateItemOutput) float64 { return capacity(out.ConsumedCapacity) })
	case verbDelete:
		_, err = send(ctx, t, &request{operation: "DeleteItem", attempts: tries}, t.client.DeleteItem, &dynamodb.DeleteItemInput{
			TableName: t.name, Key: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnConsumedCapacity:              t.returnCapacity(),
			ReturnValuesOnConditionCheckFailure: old,
		}, func(out *dynamodb.DeleteItemOutput) float64 { return capacity(out.ConsumedCapacity) })
	default:
		_, err = send(ctx, t, &request{operation: "PutItem", attempts: tries}, t.client.PutItem, &dynamodb.PutItemInput{
			TableName: t.name, Item: w.item, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnConsumedCapacity:              t.returnCapacity(),
			ReturnValuesOnConditionCheckFailure: old,
		}, func(out *dynamodb.PutItemOutput) float64 { return capacity(out.ConsumedCapacity) })
	}
	return err
}

// conditionFailed says what a failed condition means. stored is the item that
// made it fail, if the engine returned it.
func (t *Table) conditionFailed(ctx context.Context, w write, tries *attempts, stored Item, cause error) error {
	puts := w.op.verb == verbPut || w.op.verb == verbCreate
	if stored == nil && (tries.unsettled && puts || w.op.condition.IsSet()) {
		// Some engines do not return the item that tells which it is.
		item, err := t.stored(ctx, w.op.key)
		if err != nil {
			if tries.unsettled {
				return fmt.Errorf("%w: %w", ErrOutcomeUnknown, errors.Join(cause, err))
			}
			return cause
		}
		stored = item
	}
	switch {
	case tries.unsettled && puts && !w.op.version.set && sameItem(stored, w.item):
		// An earlier attempt was carried out; the condition failed on its work.
		// A version proves nothing: two writers that count from the same one
		// write the same item.
		return nil
	case tries.unsettled:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause)
	}
	return fmt.Errorf("%w: %w", t.conditionKind(w.op, stored), cause)
}

// conditionKind tells which of an op's conditions failed on the stored item.
func (t *Table) conditionKind(op Op, stored Item) error {
	if t.expired(watched(stored, t.schema.TTL), t.Now()) {
		stored = nil
	}
	switch {
	case op.verb == verbCreate && (stored != nil || !op.condition.IsSet()):
		return ErrExists
	case !op.version.set:
		return ErrConditionFailed
	case op.condition.IsSet() && versionOf(stored, op.version.attribute) == op.version.want:
		return ErrConditionFailed
	}
	return ErrStale
}

// versionOf returns the number in an attribute, 0 if there is none.
func versionOf(item Item, attribute string) int64 {
	n, ok := item[attribute].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	version, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// repeatable reports whether an update expression leads to the same item when
// it is carried out twice: it assigns constants only, and touches no elements of
// lists, which move. Its placeholders are numbers, so its text holds no name or
// value that could deceive.
func repeatable(update *string) bool {
	if update == nil {
		return true
	}
	for _, sign := range []string{"ADD ", "list_append", " + ", " - ", "= #", "["} {
		if strings.Contains(*update, sign) {
			return false
		}
	}
	for _, m := range withDefault.FindAllStringSubmatch(*update, -1) {
		if m[1] != m[2] {
			return false
		}
	}
	return true
}

// withDefault finds the attribute that is set and the one whose absence decides.
var withDefault = regexp.MustCompile(`(\S+) = if_not_exists ?\((\S+),`)
