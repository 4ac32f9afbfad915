// Package seats has the code of docs/testing.md: seats of shows, and how to test that
// the last one is sold once.
package seats

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the one table.
var Schema = schema.Table{Name: "Shows"}

// ErrSoldOut means that a show has no free seats.
var ErrSoldOut = errors.New("sold out")

// Show has free seats, and guests who have the others.
type Show struct {
	Free   int      `dynamodbav:"free"`
	Guests []string `dynamodbav:"guests"`
}

func showKey(id string) keys.Key { return keys.Key{PK: keys.Prefix("SHOW").PK(id), SK: keys.Metadata} }

// Shows is the door to the table. It is safe for concurrent use.
type Shows struct{ table *table.Table }

// New returns the shows in a table.
func New(t *table.Table) *Shows { return &Shows{t} }

// Create stores a show.
func (s *Shows) Create(ctx context.Context, id string, seats int) error {
	return s.table.Do(ctx, table.Create(showKey(id), Show{Free: seats, Guests: []string{}}))
}

// Get reads a show.
func (s *Shows) Get(ctx context.Context, id string) (Show, error) {
	return table.Get[Show](ctx, s.table.Consistent(), showKey(id))
}

// SellNaively sells the last seat twice.
func (s *Shows) SellNaively(ctx context.Context, id, guest string) error {
	show, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if show.Free == 0 {
		return ErrSoldOut
	}
	show.Free--
	show.Guests = append(show.Guests, guest)
	return s.table.Do(ctx, table.Put(showKey(id), show))
}

// Sell sells a seat if there is one.
func (s *Shows) Sell(ctx context.Context, id, guest string) error {
	free, guests := expression.Name("free"), expression.Name("guests")
	sell := table.Update(showKey(id), expression.Add(free, expression.Value(-1)).
		Set(guests, expression.ListAppend(guests, expression.Value([]string{guest}))))
	err := s.table.Transact(ctx, sell.If(table.If("free > ?", 0)))
	if errors.Is(err, table.ErrConditionFailed) {
		return ErrSoldOut
	}
	return err
}
