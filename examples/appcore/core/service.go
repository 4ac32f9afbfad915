// Package core is the payments application: users, transactions and
// notifications in one table. It knows nothing of HTTP.
//
// model.go says what is stored and what it is called; [Service] is what can be
// done.
package core

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// Service is the application. It is safe for concurrent use. Get one from [New].
type Service struct {
	users         *repo.Repo[User]
	transactions  *repo.Repo[Transaction]
	notifications *repo.Repo[Notification]
	// newest reads the transactions of all users from the index.
	newest *shard.Reader[Transaction]
	// requests remembers what was created for which idempotency key.
	requests *idempotency.Store
	former   func(context.Context, *Service, NewTransaction) (Transaction, bool, error)
	now      func() time.Time
}

// Options configures a [Service]. The zero value is for a new table.
type Options struct {
	// Former returns the transaction that another program has created for a request, if
	// there is one: see [Former]. Nil means that there is no such program.
	Former func(ctx context.Context, s *Service, n NewTransaction) (t Transaction, found bool, err error)
}

// New returns the application on a table with the keys and indexes of [Schema]. Options
// may be nil.
func New(t *table.Table, options *Options) (*Service, error) {
	s := &Service{now: t.Now}
	if options != nil {
		s.former = options.Former
	}
	var err error
	if s.users, err = repo.New(t, userEntity); err != nil {
		return nil, err
	}
	if s.transactions, err = repo.New(t, transactionEntity); err != nil {
		return nil, err
	}
	if s.notifications, err = repo.New(t, notificationEntity); err != nil {
		return nil, err
	}
	if s.newest, err = shard.New[Transaction](t.OfType(transactionEntity.Type), globalTx, &shard.Options[Transaction]{Dedupe: transactionID}); err != nil {
		return nil, err
	}
	if s.requests, err = idempotency.New(t, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// Forms returns the stored form of each entity, which a test compares with that of the last
// release.
func (s *Service) Forms() []repo.Form {
	return []repo.Form{s.users.Form(), s.transactions.Form(), s.notifications.Form()}
}

// Transaction returns a transaction of the user by its id. It is [ErrForbidden]
// if the transaction is another user's.
func (s *Service) Transaction(ctx context.Context, user, id string) (Transaction, error) {
	t, err := s.find(ctx, id)
	if err != nil {
		return Transaction{}, err
	}
	if t.UserID != user {
		return Transaction{}, ErrForbidden
	}
	return t, nil
}

// find reads a transaction consistently: a client is to find what it has just
// created.
func (s *Service) find(ctx context.Context, id string) (Transaction, error) {
	t, err := s.transactions.Consistent().Get(ctx, transactionKey(id))
	if errors.Is(err, keys.ErrInvalid) {
		return Transaction{}, ErrNotFound // nothing can have this id
	}
	return t, translate(err)
}

const (
	// DefaultLimit is the length of a page if the caller names none.
	DefaultLimit = 20
	// DefaultNewest is that of the list of all users' transactions.
	DefaultNewest = 10
)

// List asks for a page of a list.
type List struct {
	// User is whom the page is for. A cursor given to one user is refused for
	// another, except in the list of all users' transactions.
	User string
	// Limit is how many items there are to be at most.
	Limit int
	// After is the Next of the page before; empty for the first page.
	After string
}

// Page is one page of a list. Next is empty on the last one, Prev on the first.
type Page[T any] struct {
	Items      []T
	Next, Prev string
}

// Transactions lists the transactions of the user, newest first.
func (s *Service) Transactions(ctx context.Context, l List) (Page[Transaction], error) {
	return ofUser(ctx, s.transactions, keys.Tx, "transactions", l)
}

// Notifications lists the notifications of the user, newest first.
func (s *Service) Notifications(ctx context.Context, l List) (Page[Notification], error) {
	return ofUser(ctx, s.notifications, keys.Notif, "notifications", l)
}

// ofUser lists what has a prefix in the user's partition.
func ofUser[T any](ctx context.Context, r *repo.Repo[T], prefix keys.Prefix, list string, l List) (Page[T], error) {
	page, err := r.Query(ctx, table.Query{
		PK: keys.User.PK(l.User), Range: prefix.All(), Descending: true,
		Limit: l.Limit, After: l.After, Scope: list + " for " + l.User,
	})
	if err != nil {
		return Page[T]{}, translate(err)
	}
	return Page[T]{Items: page.Items, Next: page.Next, Prev: page.Prev}, nil
}

// Newest lists the transactions of all users, newest first. A page is the same for
// everyone who may read the list, and so is its cursor.
func (s *Service) Newest(ctx context.Context, l List) (Page[Transaction], error) {
	page, err := s.newest.Page(ctx, shard.Query{Limit: l.Limit, After: l.After, Scope: "newest", Descending: true})
	if err != nil {
		return Page[Transaction]{}, translate(err)
	}
	return Page[Transaction]{Items: page.Items, Next: page.Next, Prev: page.Prev}, nil
}

// timestamp returns the time in the precision that keys have.
func (s *Service) timestamp() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// newID returns an id that nobody can guess. Time is in the sort keys already.
func newID(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }
