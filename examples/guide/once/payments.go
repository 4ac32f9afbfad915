// Package once has the code of docs/idempotency.md: a payment that is made once,
// however often it is requested.
package once

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/examples/internal/strictjson"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the one table.
var Schema = schema.Table{Name: "Payments", TTLAttribute: "expiresAt"}

// The reasons why there is no payment.
var (
	ErrBody  = errors.New("a payment has cents, and more than 0")
	ErrFunds = errors.New("not enough money")
)

const (
	account keys.Prefix = "ACCOUNT"
	payment keys.Prefix = "PAYMENT"
)

// Payment takes money from an account.
type Payment struct {
	ID      string `json:"id" dynamodbav:"paymentId"`
	Account string `json:"account" dynamodbav:"account"`
	Cents   int64  `json:"cents" dynamodbav:"cents"`
}

// Balance is what an account holds.
type Balance struct {
	Account string `dynamodbav:"account"`
	Cents   int64  `dynamodbav:"cents"`
}

func balanceKey(of string) keys.Key { return keys.Key{PK: account.PK(of), SK: "BALANCE"} }

var balanceEntity = repo.Entity[Balance]{Type: "BALANCE", Key: func(b Balance) keys.Key { return balanceKey(b.Account) }}

var paymentEntity = repo.Entity[Payment]{
	Type: "PAYMENT",
	Key: func(p Payment) keys.Key {
		return keys.Key{PK: account.PK(p.Account), SK: payment.SK(keys.Str(p.ID))}
	},
}

// Payments is the door to the table. It is safe for concurrent use.
type Payments struct {
	payments *repo.Repo[Payment]
	balances *repo.Repo[Balance]
	requests *idempotency.Store
}

// New returns the payments in a table.
func New(t *table.Table) (*Payments, error) {
	p := &Payments{}
	var errs [3]error
	p.payments, errs[0] = repo.New(t, paymentEntity)
	p.balances, errs[1] = repo.New(t, balanceEntity)
	p.requests, errs[2] = idempotency.New(t, nil)
	return p, errors.Join(errs[:]...)
}

// Pay makes the payment that body asks for, once for each key of the account's owner.
func (s *Payments) Pay(ctx context.Context, of, key string, body []byte) (idempotency.Result[Payment], error) {
	request := idempotency.Request{Scope: of + ":Pay", Key: key, Payload: idempotency.Text(body)}
	result, err := idempotency.Do(ctx, s.requests, request, func(context.Context) (idempotency.Plan[Payment], error) {
		var p Payment
		if err := strictjson.Object(body, map[string]any{"cents": &p.Cents}); err != nil || p.Cents < 1 {
			return idempotency.Plan[Payment]{}, ErrBody
		}
		p.ID, p.Account = rand.Text(), of
		take := s.balances.PatchOps(balanceKey(of), repo.Patch{
			Add: map[string]any{"cents": -p.Cents},
			If:  table.If("cents >= ?", p.Cents),
		})
		ops := append(s.payments.CreateOps(&p), take...)
		return idempotency.Snapshot(p, ops...), nil
	})
	if op, failed := table.FailedOp(err, balanceEntity.Type); failed && errors.Is(op, table.ErrConditionFailed) {
		return result, ErrFunds
	}
	return result, err
}

func (s *Payments) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		rest.Fail(w, rest.BadRequest("invalid_body", "the body has 64 KB at most"))
		return
	}
	key, err := rest.IdempotencyKey(r.Header) // which is one header at most
	if err != nil {
		rest.Fail(w, err)
		return
	}
	result, err := s.Pay(r.Context(), r.PathValue("account"), key, body)
	if err != nil {
		rest.Fail(w, failure(err))
		return
	}
	w.WriteHeader(http.StatusCreated) // for a repeated request, too
	_ = json.NewEncoder(w).Encode(result.Value)
}

// failure returns the errors of payments with their statuses. Package rest knows the others.
func failure(err error) error {
	switch {
	case errors.Is(err, ErrBody):
		return rest.BadRequest("invalid_body", "%v", ErrBody)
	case errors.Is(err, ErrFunds), errors.Is(err, table.ErrNotFound):
		return &rest.Failure{Status: http.StatusConflict, Code: "no_funds", Message: ErrFunds.Error()}
	}
	return err
}
