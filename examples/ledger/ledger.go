// Package ledger keeps accounts and moves money between them. It is small on
// purpose: it is there for its tests, which show how to test code that uses
// DynamoDB. The README goes through them.
package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
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

// account is stored once, as ACCOUNT#<name> / METADATA.
type account struct {
	Name  string `dynamodbav:"name"`
	Cents int64  `dynamodbav:"cents"`
}

func key(name string) keys.Key {
	return keys.Key{PK: keys.Prefix("ACCOUNT").PK(name), SK: keys.Metadata}
}

var accountEntity = repo.Entity[account]{Type: "ACCOUNT", Key: func(a account) keys.Key { return key(a.Name) }}

// Ledger is the accounts in a table. It is safe for concurrent use.
type Ledger struct {
	tbl      *table.Table
	accounts *repo.Repo[account]
}

// New returns the ledger in a table of the [Schema].
func New(tbl *table.Table) (*Ledger, error) {
	accounts, err := repo.New(tbl, accountEntity)
	return &Ledger{tbl, accounts}, err
}

// Forms returns the stored form of each entity, which a test compares with that of the last
// release.
func (l *Ledger) Forms() []repo.Form { return []repo.Form{l.accounts.Form()} }

// Open creates an account with some money in it. If there is one of that name,
// the error is [table.ErrExists].
func (l *Ledger) Open(ctx context.Context, name string, amount int64) error {
	ctx = telemetry.WithPattern(ctx, "open account")
	return l.accounts.Create(ctx, &account{name, amount})
}

// Balance returns what is in an account.
func (l *Ledger) Balance(ctx context.Context, name string) (int64, error) {
	ctx = telemetry.WithPattern(ctx, "balance")
	a, err := l.accounts.Consistent().Get(ctx, key(name))
	return a.Cents, noAccount(err)
}

// Move takes money from one account and puts it into another, both or neither.
func (l *Ledger) Move(ctx context.Context, from, to string, amount int64) error {
	if amount <= 0 {
		return ErrAmount
	}
	ctx = telemetry.WithPattern(ctx, "move money")
	take := repo.Patch{Add: map[string]any{"cents": -amount}, If: table.If("cents >= ?", amount)}
	give := repo.Patch{Add: map[string]any{"cents": amount}}
	err := l.tbl.Transact(ctx, append(l.accounts.PatchOps(key(from), take), l.accounts.PatchOps(key(to), give)...)...)
	if errors.Is(err, table.ErrConditionFailed) {
		return fmt.Errorf("%w: %w", ErrInsufficient, err)
	}
	return noAccount(err)
}

func noAccount(err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNoAccount, err)
	}
	return err
}
