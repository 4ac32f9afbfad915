package core

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/singletable/singletable/idempotency"
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

// Create creates a transaction once for each idempotency key. A retry gets the transaction
// as it was created, with replayed set, also if it has changed since.
func (s *Service) Create(ctx context.Context, n NewTransaction) (t Transaction, replayed bool, err error) {
	if err := n.validate(); err != nil {
		return Transaction{}, false, err
	}
	if s.former != nil {
		if t, found, err := s.former(ctx, s, n); found || err != nil {
			return t, found, translate(err)
		}
	}
	request := idempotency.Request{Scope: "CreateTransaction:" + n.User, Key: n.Key, Payload: idempotency.JSON(n)}
	result, err := idempotency.Do(ctx, s.requests, request, func(context.Context) (idempotency.Plan[Transaction], error) {
		t := Transaction{
			ID: newID("tx"), UserID: n.User, Amount: n.Amount, Currency: n.Currency,
			Status: Pending, CreatedAt: s.timestamp(),
		}
		t.GlobalPK = t.globalKey().PK
		ops := s.transactions.CreateOps(&t)
		plan := idempotency.Snapshot(t, ops...)
		return plan.With(map[string]string{"txId": t.ID, "userId": t.UserID}), nil
	})
	if err != nil {
		return Transaction{}, false, translate(err)
	}
	if result.Value.ID != "" {
		return result.Value, result.Replayed, nil
	}
	// For a day, there are records of the release that kept the response instead.
	_, t, err = s.recorded(ctx, request)
	return t, true, translate(err)
}

// recorded returns whose request a record is of, and the transaction that it names, if that
// is the same user's.
func (s *Service) recorded(ctx context.Context, request idempotency.Request) (user string, t Transaction, err error) {
	record, err := s.requests.Lookup(ctx, request)
	if err != nil {
		return "", t, err
	}
	var names struct {
		TxID   string `dynamodbav:"txId"`
		UserID string `dynamodbav:"userId"`
	}
	if err := attributevalue.UnmarshalMap(record.Item, &names); err != nil {
		return "", t, err
	}
	t, err = s.Transaction(ctx, names.UserID, names.TxID)
	return names.UserID, t, err
}
