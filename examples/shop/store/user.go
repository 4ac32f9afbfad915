package store

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
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
	CreatedAt time.Time `dynamodbav:"createdAt"`
	Revision  string    `dynamodbav:"revision"`
}

// audited implements the interface: users change themselves.
func (u User) audited() (id, by string) { return u.ID, u.ID }

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
	ErrLogin        = errors.New("unknown e-mail or wrong password")
)

// normalEmail returns the form in which e-mails are stored and compared. One
// written in capitals is the same one.
func normalEmail(email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email {
		return "", ErrInvalidEmail
	}
	return email, nil
}

// SignUp creates a user who logs in with that password. If somebody has the
// e-mail already, also since a moment ago, it is [ErrEmailTaken].
func (s *Shop) SignUp(ctx context.Context, u User, secret string) (User, error) {
	var err error
	if u.Email, err = normalEmail(u.Email); err != nil {
		return User{}, err
	}
	if u.Password, err = newPassword(secret, s.rounds); err != nil {
		return User{}, err
	}
	if err := s.users.Create(ctx, &u); err != nil {
		return User{}, emailTaken(err)
	}
	return u, nil
}

// LogIn returns the user with that e-mail and password. It does not tell which
// of the two is wrong, neither by its answer nor by its time.
func (s *Shop) LogIn(ctx context.Context, email, secret string) (User, error) {
	email, err := normalEmail(email)
	if err != nil {
		return User{}, ErrLogin
	}
	u, err := s.users.Get(ctx, EmailKey(email))
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

// ChangeEmail gives a user another e-mail: the item under the old one is deleted
// and one under the new one created, in one transaction with the profile.
func (s *Shop) ChangeEmail(ctx context.Context, userID, email string) (User, error) {
	email, err := normalEmail(email)
	if err != nil {
		return User{}, err
	}
	u, err := s.users.Update(ctx, UserKey(userID), func(u *User) error {
		u.Email = email
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
func failedOps(err error) []*table.OpError {
	if tx, ok := errors.AsType[*table.TxError](err); ok {
		return tx.Failed
	}
	return nil
}
