package core

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/singletable/singletable/examples/internal/address"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

const (
	// MaxUserID bounds the id of a user, in bytes. It is the subject of the user's
	// access tokens.
	MaxUserID = 128
	// MaxEmail bounds an e-mail address, in bytes.
	MaxEmail = address.MaxLen
	// MaxName bounds the name of a user, in bytes.
	MaxName = 200
)

// NewUser is a user to be registered.
type NewUser struct{ ID, Email, Name string }

// normal returns the user as it is stored.
func (n NewUser) normal() (NewUser, error) {
	if n.ID == "" || len(n.ID) > MaxUserID || !isText(n.ID) || n.ID == "." || n.ID == ".." { // in no path
		return n, invalid("invalid_userId", "userId must be 1 to %d bytes of printable UTF-8", MaxUserID)
	}
	if n.Name == "" || len(n.Name) > MaxName || !isText(n.Name) {
		return n, invalid("invalid_name", "name must be 1 to %d bytes of printable UTF-8", MaxName)
	}
	var err error
	n.Email, err = normalEmail(n.Email)
	return n, err
}

// isText also refuses the character that takes the place of what is not Unicode:
// different texts would become the same one.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError })
}

// normalEmail returns an e-mail address as it is stored.
func normalEmail(email string) (string, error) {
	normal, ok := address.Normal(email)
	if !ok {
		return "", invalid("invalid_email", "email must be an address with one @, of at most %d printable bytes", MaxEmail)
	}
	return normal, nil
}

// Register adds a user, and reports whether it is new. The same user can be
// registered again, also after [ErrUnavailable].
//
// It is [ErrUserExists] if the id has another e-mail or name, and [ErrEmailTaken] if
// the e-mail is another user's. Nothing is stored then.
func (s *Service) Register(ctx context.Context, n NewUser) (_ User, created bool, err error) {
	n, err = n.normal()
	if err != nil {
		return User{}, false, err
	}
	u := User{ID: n.ID, Email: n.Email, Name: n.Name, CreatedAt: s.timestamp()}
	err = s.users.Create(ctx, &u)
	if err == nil {
		return u, true, nil
	}
	if !errors.Is(err, table.ErrExists) {
		return User{}, false, translate(err)
	}
	stored, err := s.users.Consistent().Get(ctx, userKey(n.ID))
	switch {
	case errors.Is(err, table.ErrNotFound):
		return User{}, false, ErrEmailTaken
	case err != nil:
		return User{}, false, translate(err)
	case address.Fold(stored.Email) != n.Email || stored.Name != n.Name:
		return User{}, false, ErrUserExists
	}
	// A user that another program has stored does not own its e-mail yet.
	claimed, err := s.users.Refresh(ctx, userKey(n.ID))
	if err != nil {
		return User{}, false, emailTaken(err)
	}
	if claimed {
		stored, err = s.users.Consistent().Get(ctx, userKey(n.ID))
	}
	return stored, false, translate(err)
}

// User returns a user by the id.
func (s *Service) User(ctx context.Context, id string) (User, error) {
	u, err := s.users.Consistent().Get(ctx, userKey(id))
	if errors.Is(err, keys.ErrInvalid) {
		return User{}, ErrNotFound // nothing can have this id
	}
	return u, translate(err)
}

// ChangeEmail gives a user another e-mail. The former one is free then. It is
// [ErrEmailTaken] if the new one is another user's.
func (s *Service) ChangeEmail(ctx context.Context, id, email string) (User, error) {
	email, err := normalEmail(email)
	if err != nil {
		return User{}, err
	}
	key := userKey(id)
	if key.Validate() != nil {
		return User{}, ErrNotFound // nothing can have this id
	}
	u, err := s.users.Update(ctx, key, func(u *User) error {
		u.Email = email
		return nil
	})
	return u, emailTaken(err)
}

// emailTaken translates the error of a write that claims an e-mail.
func emailTaken(err error) error {
	if errors.Is(err, table.ErrExists) {
		return ErrEmailTaken
	}
	return translate(err)
}
