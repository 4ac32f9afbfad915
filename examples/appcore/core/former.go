package core

import (
	"context"
	"errors"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
)

// Former is for [Options].Former, of a table in which a program of the source design has
// created transactions. Its records are under IDE#<key>, without the user, and do not
// expire. This takes a request for each creation. Delete this file if there are none, or
// once no client repeats a request to that program.
//
// A record of the same user is that of the request: the transaction is returned as it is
// now, or [ErrPayloadMismatch] if it is missing or another one. Another user's record does
// not count. One that the design's program writes while a request with the same key runs is not
// seen.
func Former(ctx context.Context, s *Service, n NewTransaction) (t Transaction, found bool, err error) {
	user, t, err := s.recorded(ctx, idempotency.Request{Key: n.Key})
	switch {
	case user == "" && errors.Is(err, table.ErrNotFound), user != "" && user != n.User:
		return Transaction{}, false, nil
	case user == "" && err != nil:
		return Transaction{}, false, err
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrForbidden), err == nil && (t.Amount != n.Amount || t.Currency != n.Currency):
		return Transaction{}, true, ErrPayloadMismatch
	}
	return t, true, err
}
