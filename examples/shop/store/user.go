package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/singletable/singletable/examples/internal/address"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Role is what a user may do.
type Role string

const (
	// Customer may have a cart and orders. It is the role of all who sign up.
	Customer Role = "customer"
	// Admin may see all users and orders, and change the catalogue and the status of
	// orders. Only [Shop.SetRole] makes one.
	Admin Role = "admin"
)

// User is stored twice: as USER#<id> / PROFILE, and as EMAIL#<e-mail> /
// METADATA. The second item finds the user who logs in, with one read, and
// makes the e-mail unique: of two users with one e-mail, only one can be created
// under that key.
type User struct {
	ID        string    `dynamodbav:"userId"`
	Email     string    `dynamodbav:"email"`
	Name      string    `dynamodbav:"name"`
	Password  password  `dynamodbav:"password"`
	Role      Role      `dynamodbav:"role"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
	// ChangedBy made the last change: see [Order].
	ChangedBy string `dynamodbav:"changedBy"`
	Revision  string `dynamodbav:"revision"`
}

func (u User) audited() (id, by string) { return u.ID, u.ChangedBy }

const byEmail = "by e-mail"

var userEntity = repo.Entity[User]{
	Type:    UserType,
	Key:     func(u User) keys.Key { return UserKey(u.ID) },
	Copies:  []repo.Copy[User]{{Name: byEmail, Key: func(u User) keys.Key { return EmailKey(u.Email) }}},
	Version: "revision",
}

// UserKey is the key of a user.
func UserKey(id string) keys.Key {
	return keys.Key{PK: keys.User.PK(id), SK: keys.Profile}
}

// EmailKey expects an e-mail as [normalEmail] returns it.
func EmailKey(email string) keys.Key {
	return keys.Key{PK: emailPrefix.PK(email), SK: keys.Metadata}
}

// Errors of users.
var (
	ErrEmailTaken   = errors.New("another user has this e-mail")
	ErrInvalidEmail = errors.New("this is no e-mail")
	ErrPassword     = fmt.Errorf("a password has %d to %d bytes", minPassword, maxPassword)
	ErrName         = errors.New("a name has 1 to 100 printable characters")
	ErrRole         = errors.New("there is no such role")
	ErrLogin        = errors.New("unknown e-mail or wrong password")
)

// normalEmail returns the form in which e-mails are stored and compared.
func normalEmail(email string) (string, error) {
	normal, ok := address.Normal(email)
	if !ok {
		return "", ErrInvalidEmail
	}
	return normal, nil
}

// SignUp creates a customer who logs in with that password, whatever role u has. If somebody has the
// e-mail already, also since a moment ago, it is [ErrEmailTaken].
func (s *Shop) SignUp(ctx context.Context, u User, secret string) (User, error) {
	var err error
	if u.Email, err = normalEmail(u.Email); err != nil {
		return User{}, err
	}
	if !validName(u.Name) {
		return User{}, ErrName
	}
	u.Role, u.ChangedBy = Customer, u.ID
	if u.Password, err = newPassword(secret, s.rounds); err != nil {
		return User{}, err
	}
	if err := s.users.Create(ctx, &u); err != nil {
		return User{}, emailTaken(err)
	}
	return u, nil
}

// LogIn returns the user with that e-mail and password. It does not tell which
// of the two is wrong, neither by its result nor by its time. It reads consistently,
// since users log in when they have just signed up. After
// [maxAttempts] with an e-mail it is [ErrAttempts] for a while, also with the
// right password.
func (s *Shop) LogIn(ctx context.Context, email, secret string) (User, error) {
	email, err := normalEmail(email)
	if err != nil || len(secret) > maxPassword {
		return User{}, ErrLogin
	}
	if err := s.countAttempt(ctx, email); err != nil {
		return User{}, err
	}
	u, err := s.users.Consistent().Get(ctx, EmailKey(email))
	if errors.Is(err, table.ErrNotFound) {
		u.Password.Rounds = s.rounds // and no hash, which nothing matches
	} else if err != nil {
		return User{}, err
	}
	ok, err := u.Password.matches(secret)
	if err != nil {
		return User{}, err
	}
	if !ok {
		return User{}, ErrLogin
	}
	return u, nil
}

// validName reports whether people can read a name.
func validName(name string) bool {
	printable := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	n := utf8.RuneCountInString(name)
	return n >= 1 && n <= 100 && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return !printable(r) })
}

// UserByID returns a user. A missing one is [table.ErrNotFound].
func (s *Shop) UserByID(ctx context.Context, id string) (User, error) {
	return s.users.Get(ctx, UserKey(id))
}

// SetRole gives the user with that e-mail a role. by is the acting user, for
// the audit trail.
func (s *Shop) SetRole(ctx context.Context, by, email string, role Role) (User, error) {
	if role != Customer && role != Admin {
		return User{}, ErrRole
	}
	email, err := normalEmail(email)
	if err != nil {
		return User{}, err
	}
	found, err := s.users.Consistent().Get(ctx, EmailKey(email))
	if err != nil {
		return User{}, err
	}
	return s.users.Update(ctx, UserKey(found.ID), func(u *User) error {
		if u.Email != email { // changed since
			return fmt.Errorf("user by e-mail: %w", table.ErrNotFound)
		}
		if u.Role != role {
			u.Role, u.ChangedBy = role, by
		}
		return nil
	})
}

// ChangeEmail gives a user another e-mail: the item under the old one is deleted
// and one under the new one created, in one transaction with the profile.
func (s *Shop) ChangeEmail(ctx context.Context, userID, email string) (User, error) {
	email, err := normalEmail(email)
	if err != nil {
		return User{}, err
	}
	u, err := s.users.Update(ctx, UserKey(userID), func(u *User) error {
		u.Email, u.ChangedBy = email, u.ID
		return nil
	})
	return u, emailTaken(err)
}

// emailTaken returns err, and says so if it is the e-mail that exists already.
func emailTaken(err error) error {
	if op, failed := table.FailedOp(err, UserType+" "+byEmail); failed && errors.Is(op, table.ErrExists) {
		return fmt.Errorf("%w: %w", ErrEmailTaken, err)
	}
	return err
}

// failedOps returns the writes for which a transaction was refused.
func failedOps(err error) []*table.Error {
	if tx, ok := errors.AsType[*table.TxError](err); ok {
		return tx.Failed
	}
	return nil
}
