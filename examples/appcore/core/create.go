package core

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
)

// MaxAmount is the greatest amount of a transaction.
const MaxAmount = 1_000_000_000_000

// maxKey bounds the length of an idempotency key.
const maxKey = 255

// NewTransaction is what a user asks for. The JSON of Amount and Currency is
// what two requests with the same key are compared by.
type NewTransaction struct {
	User string `json:"-"`
	// Key is the idempotency key: the same request with the same key creates one
	// transaction. Keys of different users never meet.
	Key      string `json:"-"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

func (n NewTransaction) validate() error {
	switch {
	case n.Key == "":
		return invalid("missing_idempotency_key", "an Idempotency-Key is required")
	case len(n.Key) > maxKey || !printable(n.Key):
		return invalid("invalid_idempotency_key", "the Idempotency-Key must be 1 to %d printable ASCII characters", maxKey)
	case n.Amount < 1 || n.Amount > MaxAmount:
		return invalid("invalid_amount", "amount must be a whole number from 1 to %d", int64(MaxAmount))
	case !validCurrency(n.Currency):
		return invalid("invalid_currency", "currency must be an ISO 4217 code such as ARS")
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// CreateTransaction creates a transaction once for each idempotency key.
// respond makes the response of it. The response is stored together with the
// transaction. A retry gets exactly that response, with replayed set, even if
// the transaction has changed since.
//
// The function is called before anything is written, also for a request that
// turns out to be a retry. For a retry of a request to a program of the source
// design it gets the transaction as it is now.
func CreateTransaction[A any](
	ctx context.Context, s *Service, n NewTransaction, respond func(Transaction) (A, error),
) (a A, replayed bool, err error) {
	if err := n.validate(); err != nil {
		return a, false, err
	}
	former, found, err := s.former(ctx, n)
	if err != nil {
		return a, false, translate(err)
	}
	if found {
		a, err := respond(former)
		return a, true, err
	}
	request := idempotency.Request{Scope: "CreateTransaction:" + n.User, Key: n.Key, Payload: n}
	result, err := idempotency.Do(ctx, s.requests, request, func(context.Context) (idempotency.Plan[A], error) {
		t := Transaction{
			ID: newID("tx"), UserID: n.User, Amount: n.Amount, Currency: n.Currency,
			Status: Pending, CreatedAt: s.timestamp(),
		}
		t.GlobalPK = t.globalKey().PK
		ops := s.transactions.CreateOps(&t)
		a, err := respond(t)
		plan := idempotency.Snapshot(a, ops...)
		return plan.With(map[string]string{"txId": t.ID, "userId": t.UserID}), err
	})
	if err != nil {
		return a, false, translate(err)
	}
	return result.Value, result.Replayed, nil
}

// former returns the transaction that a program of the source design has created
// for the user's idempotency key, if there is one. Its records are under IDE#<key>,
// without the user, and do not expire: that of another user does not count.
func (s *Service) former(ctx context.Context, n NewTransaction) (t Transaction, found bool, err error) {
	record, err := s.requests.Lookup(ctx, idempotency.Request{Key: n.Key})
	if errors.Is(err, table.ErrNotFound) {
		return t, false, nil
	}
	if err != nil {
		return t, false, err
	}
	var names struct {
		TxID   string `dynamodbav:"txId"`
		UserID string `dynamodbav:"userId"`
	}
	if err := attributevalue.UnmarshalMap(record.Item, &names); err != nil {
		return t, false, err
	}
	if names.UserID != n.User {
		return t, false, nil
	}
	t, err = s.Transaction(ctx, n.User, names.TxID)
	// Without its transaction, the record gives nothing to repeat.
	other := errors.Is(err, ErrNotFound) || errors.Is(err, ErrForbidden)
	if other || err == nil && (t.Amount != n.Amount || t.Currency != n.Currency) {
		err = ErrPayloadMismatch
	}
	return t, true, err
}
