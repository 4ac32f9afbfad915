// Package ledger keeps accounts and moves money between them. It is small on
// purpose: it is there for its tests, which show how to test code that uses
// DynamoDB. The README goes through them.
package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// Schema is the table of the ledger.
var Schema = schema.Table{Name: "Ledger"}

var (
	// ErrNoAccount means that there is no account of that name.
	ErrNoAccount = errors.New("no such account")
	// ErrInsufficient means that an account holds less than it is to give.
	ErrInsufficient = errors.New("not enough money in the account")
	// ErrAmount means that the amount is not positive.
	ErrAmount = errors.New("the amount is not positive")
)

// Ledger is the accounts in a table. It is safe for concurrent use.
type Ledger struct{ tbl *table.Table }

// New returns the ledger in a table of the [Schema].
func New(tbl *table.Table) *Ledger { return &Ledger{tbl} }

type account struct {
	Cents int64 `dynamodbav:"cents"`
}

const accountPrefix keys.Prefix = "ACCOUNT"

var cents = expression.Name("cents")

func key(name string) keys.Key {
	return keys.Key{PK: accountPrefix.PK(name), SK: keys.Metadata}
}

// Open creates an account with some money in it. If there is one of that name,
// the error is [table.ErrExists].
func (l *Ledger) Open(ctx context.Context, name string, amount int64) error {
	ctx = telemetry.WithPattern(ctx, "open account")
	return l.tbl.Do(ctx, table.Create(key(name), account{amount}))
}

// Balance returns what is in an account.
func (l *Ledger) Balance(ctx context.Context, name string) (int64, error) {
	ctx = telemetry.WithPattern(ctx, "balance")
	a, err := table.Get[account](ctx, l.tbl.Consistent(), key(name))
	if errors.Is(err, table.ErrNotFound) {
		return 0, fmt.Errorf("%w: %w", ErrNoAccount, err)
	}
	return a.Cents, err
}

// Move takes money from one account and puts it into another, both or neither.
func (l *Ledger) Move(ctx context.Context, from, to string, amount int64) error {
	if amount <= 0 {
		return ErrAmount
	}
	ctx = telemetry.WithPattern(ctx, "move money")
	err := l.tbl.Transact(ctx,
		table.Update(key(from), expression.Add(cents, expression.Value(-amount))).
			If(table.If("cents >= ?", amount)).WithName("from"),
		table.Update(key(to), expression.Add(cents, expression.Value(amount))).
			If(cents.AttributeExists()).WithName("to"),
	)
	if op, ok := table.FailedOp(err, "from"); ok && errors.Is(op, table.ErrConditionFailed) && op.Stored != nil {
		return fmt.Errorf("%w: %w", ErrInsufficient, err)
	}
	if errors.Is(err, table.ErrConditionFailed) {
		return fmt.Errorf("%w: %w", ErrNoAccount, err)
	}
	return err
}
