// Package seats has the code of docs/testing.md: seats of shows, and how to test that
// the last one is sold once.
package seats

import (
	"context"
	"errors"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the one table.
var Schema = schema.Table{Name: "Shows"}

// ErrSoldOut means that a show has no free seats.
var ErrSoldOut = errors.New("sold out")

// Show has free seats, and guests who have the others.
type Show struct {
	ID     string   `dynamodbav:"showId"`
	Free   int      `dynamodbav:"free"`
	Guests []string `dynamodbav:"guests,stringset,omitempty"`
}

func showKey(id string) keys.Key { return keys.Key{PK: keys.Prefix("SHOW").PK(id), SK: keys.Metadata} }

var showEntity = repo.Entity[Show]{Type: "SHOW", Key: func(s Show) keys.Key { return showKey(s.ID) }}

// Shows is the door to the table. It is safe for concurrent use.
type Shows struct {
	table *table.Table
	shows *repo.Repo[Show]
}

// New returns the shows in a table.
func New(t *table.Table) (*Shows, error) {
	shows, err := repo.New(t, showEntity)
	return &Shows{t, shows}, err
}

// Create stores a show.
func (s *Shows) Create(ctx context.Context, id string, seats int) error {
	return s.shows.Create(ctx, &Show{ID: id, Free: seats})
}

// Get reads a show.
func (s *Shows) Get(ctx context.Context, id string) (Show, error) {
	return s.shows.Consistent().Get(ctx, showKey(id))
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
	return s.table.Do(ctx, s.shows.PutOps(&show)[0])
}

// Sell sells a seat if there is one.
func (s *Shows) Sell(ctx context.Context, id, guest string) error {
	err := s.table.Transact(ctx, s.shows.PatchOps(showKey(id), repo.Patch{
		Add: map[string]any{"free": -1, "guests": []string{guest}},
		If:  table.If("free > ?", 0),
	})...)
	if errors.Is(err, table.ErrConditionFailed) {
		return ErrSoldOut
	}
	return err
}
