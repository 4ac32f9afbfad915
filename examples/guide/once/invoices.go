package once

import (
	"context"
	"strconv"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

const invoice keys.Prefix = "INVOICE"

// Book has the number of the last invoice of an account.
type Book struct {
	Account  string `dynamodbav:"account"`
	Last     int64  `dynamodbav:"last"`
	Revision string `dynamodbav:"revision"`
}

func bookKey(of string) keys.Key { return keys.Key{PK: account.PK(of), SK: "BOOK"} }

var bookEntity = repo.Entity[Book]{
	Type: "BOOK", Version: "revision",
	Key: func(b Book) keys.Key { return bookKey(b.Account) },
}

// Invoice has a number without gaps in its account.
type Invoice struct {
	Account string `dynamodbav:"account"`
	Number  int64  `dynamodbav:"number"`
	Cents   int64  `dynamodbav:"cents"`
}

var invoiceEntity = repo.Entity[Invoice]{
	Type: "INVOICE",
	Key: func(i Invoice) keys.Key {
		return keys.Key{PK: account.PK(i.Account), SK: invoice.SK(keys.Int(i.Number, 9))}
	},
}

// Invoices is the door to the table. It is safe for concurrent use.
type Invoices struct {
	books    *repo.Repo[Book]
	invoices *repo.Repo[Invoice]
	requests *idempotency.Store
}

// NewInvoices returns the invoices in a table.
func NewInvoices(t *table.Table) (*Invoices, error) {
	books, err := repo.New(t, bookEntity)
	if err != nil {
		return nil, err
	}
	invoices, err := repo.New(t, invoiceEntity)
	if err != nil {
		return nil, err
	}
	requests, err := idempotency.New(t, nil)
	return &Invoices{books, invoices, requests}, err
}

// Issue stores an invoice under the number after the last one, once for each key.
func (s *Invoices) Issue(ctx context.Context, of, key string, cents int64) (Invoice, error) {
	request := idempotency.Request{Scope: of + ":Issue", Key: key, Payload: idempotency.Text(strconv.FormatInt(cents, 10))}
	result, err := idempotency.Do(ctx, s.requests, request, func(ctx context.Context) (idempotency.Plan[Invoice], error) {
		book, err := s.books.Consistent().Get(ctx, bookKey(of))
		if err != nil {
			return idempotency.Plan[Invoice]{}, err
		}
		old := book
		book.Last++
		i := Invoice{Account: of, Number: book.Last, Cents: cents}
		ops := append(s.books.UpdateOps(old, &book), s.invoices.CreateOps(&i)...)
		return idempotency.Snapshot(i, ops...), nil
	})
	return result.Value, err
}
