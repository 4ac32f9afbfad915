package table

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/response"
	"github.com/singletable/singletable/keys"
)

// maxTransaction is how many items one transaction may touch. AWS: "Constraints
// in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const maxTransaction = 100

// TxError means that DynamoDB cancelled a transaction, or refused it as a whole for what
// its operations write: nothing was written. [errors.Is] looks into all of its causes.
type TxError struct {
	// Failed are the operations that made it fail, as far as the engine tells.
	// The others would have succeeded. Some Regions check a part of a transaction before
	// it runs, and do not tell which of several operations they refuse it for.
	Failed []*Error
	// Err is the SDK's error.
	Err error
}

// Error names the operations that failed.
func (e *TxError) Error() string {
	if len(e.Failed) == 0 {
		return fmt.Sprintf("transaction cancelled: %v", e.Err)
	}
	texts := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		texts[i] = f.Error()
	}
	return "transaction cancelled: " + strings.Join(texts, "; ")
}

// Unwrap returns the failed operations and the SDK's error.
func (e *TxError) Unwrap() []error {
	all := make([]error, 0, len(e.Failed)+1)
	for _, f := range e.Failed {
		all = append(all, f)
	}
	return append(all, e.Err)
}

// Transact runs 1 to 100 ops together, all or none, at twice the write units.
// Each op must be about another item. Only those by which package repo counts are joined with an op
// about the same item, such as a Check of the owner: see [Add]. What DynamoDB would refuse for its
// number, its size or because two ops are about one item is refused before anything is sent, and
// [FailedOp] finds the op.
//
// When DynamoDB cancels the transaction, the error holds a [*TxError]. If it was
// for conflicts with other writes or for lack of capacity only, it is sent again
// first, within the budget of a call, see [Options].MaxAttempts: up to 10 times,
// the SDK's retries included.
//
// A transaction that DynamoDB still works on, as after a lost response, is sent again
// until DynamoDB has finished it. That does not count toward MaxAttempts. The last of
// these attempts begins more than 5 seconds after DynamoDB said so first, since it makes
// DynamoDB finish what it has left.
//
// After a lost response the SDK sends the transaction again. It takes effect once
// at most, since all attempts have one ClientRequestToken. The error is
// [ErrOutcomeUnknown] if no attempt gets a response, and also if a later attempt
// is cancelled: the token stands for a transaction that succeeded, so an attempt
// that is still on its way can take effect after one that was cancelled.
//
// AWS: TransactWriteItems, Amazon DynamoDB API Reference; "Amazon DynamoDB Transactions:
// How it works", Amazon DynamoDB Developer Guide. Seen: nubo-db/dynamodb-conformance,
// transactions/transactWrite.test.ts, limits/transactionLimits.test.ts.
func (t *Table) Transact(ctx context.Context, ops ...Op) error {
	writes, err := t.prepareAll(ops)
	if err == nil {
		err = t.transact(ctx, writes)
	}
	if err != nil {
		return &Error{Op: "Transact", Table: t.schema.Name, Err: explain(err)}
	}
	return nil
}

// Entry is a value and the key to store it under.
type Entry struct {
	Key   keys.Key
	Value any
}

// TransactPut stores several items, of whatever types, in one transaction, and
// replaces what was there. It is short for [Table.Transact] with [Put] ops.
func (t *Table) TransactPut(ctx context.Context, entries ...Entry) error {
	ops := make([]Op, len(entries))
	for i, e := range entries {
		ops[i] = Put(e.Key, e.Value)
	}
	return t.Transact(ctx, ops...)
}

// prepareAll makes the ops of a transaction ready and checks them as a whole.
func (t *Table) prepareAll(given []Op) ([]write, error) {
	if len(given) == 0 {
		return nil, fmt.Errorf("%w: a transaction without ops", errInvalidOp)
	}
	m := merge(given)
	ops := m.ops
	if len(ops) > maxTransaction {
		return nil, opError(m.at(maxTransaction), ops[maxTransaction],
			fmt.Errorf("%w: the transaction has %d ops, DynamoDB takes %d", ErrTooLarge, len(ops), maxTransaction))
	}
	writes := make([]write, len(ops))
	first := make(map[keys.Key]int, len(ops))
	total := 0
	for i, op := range ops {
		w, err := t.prepare(&ops[i])
		w.from = m.at(i)
		if err != nil {
			return nil, w.failed(err)
		}
		if k, twice := first[op.key]; twice {
			return nil, w.failed(fmt.Errorf("%w: it is about the same item as op %d (%s), and a transaction takes one op for an item; "+
				"a key that one entity or copy gives up is free for another in the next transaction", errInvalidOp, m.at(k)+1, ops[k].verb))
		}
		if total += w.size; total > maxTransactionSize {
			return nil, w.failed(fmt.Errorf("%w: the items up to here have %d bytes together, DynamoDB takes %d in a transaction",
				ErrTooLarge, total, maxTransactionSize))
		}
		first[op.key], writes[i] = i, w
	}
	return writes, nil
}

// failed returns the error of a write of a transaction: for a number that it adds to, that of
// the op that was to count there.
func (w *write) failed(err error) *Error {
	failed := opError(w.from, *w.op, err)
	if of, is := errors.AsType[*countError](err); is {
		failed.OpNumber, failed.Name = of.term.from+1, of.term.Counter
	}
	return failed
}

func (t *Table) transact(ctx context.Context, writes []write) error {
	if err := ended(ctx); err != nil {
		return err
	}
	in := &dynamodb.TransactWriteItemsInput{
		TransactItems: make([]types.TransactWriteItem, len(writes)),
		// One token for all attempts makes them one transaction to DynamoDB.
		ClientRequestToken: aws.String(rand.Text()),
	}
	for i, w := range writes {
		in.TransactItems[i] = t.transactItem(w)
	}
	var progress recovery
	var body []byte
	//mutants:guard all attempts of a transaction have one token | TestTransact ./suites/schedules | ; ; { => ; ; in.ClientRequestToken, body = aws.String(rand.Text()), nil {
	for tries := t.attempts(ctx); ; {
		r := &request{operation: "TransactWriteItems", attempts: tries, body: &body}
		_, err := call(ctx, t, r, t.api.transactWriteItems, in)
		if err == nil {
			return nil
		}
		if isInProgress(err) && progress.again(tries.budget) {
			if ended := progress.wait(ctx, tries.budget); ended != nil {
				return tries.outcome(join(ended, err))
			}
			continue
		}
		cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok {
			return t.refusedWhole(writes, tries.outcome(err))
		}
		var ended error
		if passing(cancelled) && tries.fail(false) {
			if ended = tries.wait(ctx); ended == nil {
				continue
			}
		}
		return join(ended, t.refusal(writes, cancelled, tries, err))
	}
}

// refusal is the error of a transaction whose last attempt was cancelled. An
// earlier one that DynamoDB has responded to has not taken effect, or the last
// one would have succeeded by its token. One without a response may still be on
// its way.
func (t *Table) refusal(writes []write, cancelled *types.TransactionCanceledException, tries *attempts, err error) error {
	//mutants:guard a transaction whose cancelled attempt had a lost one before it is unknown | TestKnownSchedules ./suites/schedules
	if tries.silent {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return t.txError(writes, cancelled, err)
}

// refusedWhole makes a [TxError] of a refusal without reasons, where DynamoDB has not run the
// transaction for what its ops write. Since October 2026 some Regions respond so to what others
// cancel. See the probes in suites/probes/transactions_test.go.
func (t *Table) refusedWhole(writes []write, err error) error {
	api, _ := response.Of(err)
	if api == nil || errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	code, message := api.ErrorCode(), api.ErrorMessage()
	if !outgrown(code, message) && !unfit(code, message) {
		return err
	}
	cancelled := &types.TransactionCanceledException{}
	if len(writes) == 1 {
		cancelled.CancellationReasons = []types.CancellationReason{{Code: &code, Message: &message}}
	}
	return t.txError(writes, cancelled, explain(err))
}

func (t *Table) transactItem(w write) types.TransactWriteItem {
	old := types.ReturnValuesOnConditionCheckFailure("")
	if w.condition != nil {
		old = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	switch w.op.verb {
	case verbUpdate:
		return types.TransactWriteItem{Update: &types.Update{
			TableName: t.name, Key: w.key, UpdateExpression: w.update, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnValuesOnConditionCheckFailure: old,
		}}
	case verbDelete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: t.name, Key: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnValuesOnConditionCheckFailure: old,
		}}
	case verbCheck:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: t.name, Key: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
			ReturnValuesOnConditionCheckFailure: old,
		}}
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: t.name, Item: w.item, ConditionExpression: w.condition,
		ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		ReturnValuesOnConditionCheckFailure: old,
	}}
}

func (t *Table) txError(writes []write, cancelled *types.TransactionCanceledException, err error) error {
	tx := &TxError{Err: err}
	for i, r := range cancelled.CancellationReasons {
		code := aws.ToString(r.Code)
		if i >= len(writes) || code == "" || code == reasonNone {
			continue
		}
		op := writes[i].op
		kind := kindOf(code)
		if errors.Is(kind, ErrConditionFailed) {
			kind = t.reason(op, r.Item)
			if op.adds != nil {
				kind = op.adds.reason(kind, t.Expired(r.Item, t.Now()))
			}
		}
		switch message := aws.ToString(r.Message); {
		case outgrown(code, message):
			kind = fmt.Errorf("%w: %s: %s", ErrTooLarge, code, message)
		case op.isPure() && unfit(code, message):
			kind = op.adds.unfit()
		case kind == nil:
			kind = fmt.Errorf("%s: %s", code, message)
		}
		failed := writes[i].failed(kind)
		if !t.mayRewrite {
			failed.Stored = r.Item
		}
		tx.Failed = append(tx.Failed, failed)
	}
	tx.Failed = withoutLimits(tx.Failed)
	return tx
}

// withoutLimits leaves out the limits of counters, and items that are missing, if they are not all
// that failed: the write itself may have taken the last place in an earlier attempt, and an entity
// that exists already needs no other item.
func withoutLimits(failed []*Error) []*Error {
	for _, counts := range []error{ErrLimit, ErrUncounted} {
		//mutants:guard the caller that has the last place is not told that it is taken | TestLimitIsReportedAlone
		if slices.ContainsFunc(failed, func(f *Error) bool { return !errors.Is(f, counts) }) {
			failed = slices.DeleteFunc(failed, func(f *Error) bool { return errors.Is(f, counts) })
		}
	}
	return failed
}

// FailedOp returns the op of that name, given with [Op.WithName], because of
// which a call failed with err, whether the op ran alone or in a transaction. The name
// of the first one of any name is "". ok is false if no such op failed. Look at the
// op's error before you draw conclusions: it may be throttled as well as a failed
// condition.
func FailedOp(err error, name string) (op *Error, ok bool) {
	var failed []*Error
	for e, is := errors.AsType[*Error](err); is; e, is = errors.AsType[*Error](e.Err) {
		failed = []*Error{e} // the innermost one
	}
	if tx, several := errors.AsType[*TxError](err); several {
		failed = tx.Failed
	}
	i := slices.IndexFunc(failed, func(f *Error) bool { return name == "" || f.Name == name })
	if i < 0 {
		return nil, false
	}
	return failed[i], true
}
