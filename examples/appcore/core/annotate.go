package core

import (
	"context"
	"errors"
	"unicode/utf8"
)

// MaxNote bounds the note of a transaction, in bytes.
const MaxNote = 1000

// NewNote is what a user asks for: a note for one of the user's transactions.
type NewNote struct {
	User, ID, Note string
	// Revision is that of the transaction which the user has seen. The note is
	// stored only if it is still the stored one. Empty means whatever is stored.
	Revision string
}

// Annotate sets the note of a transaction, and returns the transaction as it is
// then. It is [ErrChanged] if the transaction has changed since the user saw it,
// and [ErrForbidden] if it is another user's: nothing is stored then.
//
// After [ErrUnavailable] the note may be stored.
func (s *Service) Annotate(ctx context.Context, n NewNote) (Transaction, error) {
	if len(n.Note) > MaxNote || !utf8.ValidString(n.Note) {
		return Transaction{}, invalid("invalid_note", "note must be UTF-8 of at most %d bytes", MaxNote)
	}
	key := transactionKey(n.ID)
	if key.Validate() != nil {
		return Transaction{}, ErrNotFound // nothing can have this id
	}
	annotated, err := s.transactions.Update(ctx, key, func(t *Transaction) error {
		switch {
		case t.UserID != n.User:
			return ErrForbidden
		case n.Revision != "" && t.Revision != n.Revision:
			return ErrChanged
		}
		t.Note = n.Note
		return nil
	})
	if errors.Is(err, ErrForbidden) || errors.Is(err, ErrChanged) {
		return Transaction{}, err
	}
	return annotated, translate(err)
}
