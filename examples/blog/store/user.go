package store

import (
	"context"
	"errors"
	"time"

	"github.com/singletable/singletable/examples/internal/address"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// EmailPrefix is the prefix of the claims that make e-mail addresses unique.
const EmailPrefix keys.Prefix = "EMAIL"

// The reasons why an e-mail address is refused.
var (
	ErrEmailTaken   = errors.New("another user has this e-mail address")
	ErrInvalidEmail = errors.New("this is no e-mail address")
)

// User is stored as USER#<id> / PROFILE. If there is an e-mail address, the user claims
// EMAIL#<e-mail> / METADATA, which makes the address unique and finds its user. Another name
// or avatar does not write the claim.
type User struct {
	ID        string    `dynamodbav:"userId"`
	Email     string    `dynamodbav:"email,omitempty"` // as [Store.AddUser] stores it; empty of users from before
	Name      string    `dynamodbav:"name"`
	Avatar    string    `dynamodbav:"avatar,omitempty"` // address of a picture
	CreatedAt time.Time `dynamodbav:"createdAt,omitempty"`
	Posts     int64     `dynamodbav:"postCount"`
	Groups    int64     `dynamodbav:"groupCount"`
	Version   int64     `dynamodbav:"version"`
}

// UserEntity says how users are stored.
var UserEntity = repo.Entity[User]{
	Type:    "USER",
	Key:     func(u User) keys.Key { return UserKey(u.ID) },
	Claims:  func(u User) []keys.Key { return []keys.Key{EmailKey(u.Email)} },
	Counted: []string{"postCount", "groupCount"},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
}

// UserKey is the key of a user's profile.
func UserKey(id string) keys.Key { return keys.Key{PK: keys.User.PK(id), SK: keys.Profile} }

// EmailKey is the key that a user with the e-mail address, as it is stored, claims. It is
// the zero key for no address.
func EmailKey(email string) keys.Key {
	if email == "" {
		return keys.Key{}
	}
	return keys.Key{PK: EmailPrefix.PK(email), SK: keys.Metadata}
}

// User returns a user, or [ErrNoUser].
func (s *Store) User(ctx context.Context, id string) (User, error) {
	u, err := s.Users.Consistent().Get(ctx, UserKey(id))
	return u, noUser(err)
}

func noUser(err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return ErrNoUser
	}
	return err
}

// AddUser stores a new user. Errors: [ErrInvalidEmail], [ErrEmailTaken], and
// [table.ErrExists] if the id is in use.
func (s *Store) AddUser(ctx context.Context, u User) error {
	var err error
	if u.Email, err = normalEmail(u.Email); err != nil {
		return err
	}
	return emailTaken(s.Users.Create(ctx, &u))
}

// PutUser stores a new user, or gives name, avatar and e-mail address to the one with the
// id. It can be repeated, also at the same time. Errors: [ErrInvalidEmail], [ErrEmailTaken].
func (s *Store) PutUser(ctx context.Context, u User) (User, error) {
	change := func() (User, error) {
		return s.ChangeUser(ctx, u.ID, func(stored *User) { stored.Email, stored.Name, stored.Avatar = u.Email, u.Name, u.Avatar })
	}
	stored, err := change()
	if !errors.Is(err, table.ErrNotFound) {
		return stored, err
	}
	if u.Email, err = normalEmail(u.Email); err != nil {
		return User{}, err
	}
	err = emailTaken(s.Users.Create(ctx, &u))
	if !errors.Is(err, table.ErrExists) {
		return u, err
	}
	// The address is another user's, or another request has just stored this user.
	stored, changed := change()
	if errors.Is(changed, table.ErrNotFound) {
		return User{}, err
	}
	return stored, changed
}

// ChangeUser changes name, avatar or e-mail address of a user. The consumer of
// [Store.Router] brings name and avatar into the user's comments and memberships. The
// former address is free then. Errors: [ErrNoUser], [ErrInvalidEmail], [ErrEmailTaken].
func (s *Store) ChangeUser(ctx context.Context, id string, change func(*User)) (User, error) {
	u, err := s.Users.Update(ctx, UserKey(id), func(u *User) (err error) {
		former := u.Email
		if change(u); u.Email != former {
			u.Email, err = normalEmail(u.Email)
		}
		return err
	})
	return u, noUser(emailTaken(err))
}

// Rename gives a user another name.
func (s *Store) Rename(ctx context.Context, id, name string) (User, error) {
	return s.ChangeUser(ctx, id, func(u *User) { u.Name = name })
}

// normalEmail returns the form in which e-mails are stored and compared.
func normalEmail(email string) (string, error) {
	normal, ok := address.Normal(email)
	if !ok {
		return "", ErrInvalidEmail
	}
	return normal, nil
}

func emailTaken(err error) error {
	if op, ok := table.FailedOp(err, "USER claim"); ok && errors.Is(op, table.ErrExists) {
		return errors.Join(ErrEmailTaken, err)
	}
	return err
}
