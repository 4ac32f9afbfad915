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
	ID       string   `dynamodbav:"userId"`
	Email    string   `dynamodbav:"email"`
	Name     string   `dynamodbav:"name"`
	Password password `dynamodbav:"password"`
	Role     Role     `dynamodbav:"role"`
	// Unverified means that the user has not used a code of a mail to Email yet. Such a
	// user does not log in without one.
	Unverified bool `dynamodbav:"unverified,omitempty"`
	// Generation counts new passwords. A session of an earlier one has ended.
	Generation int       `dynamodbav:"generation,omitempty"`
	CreatedAt  time.Time `dynamodbav:"createdAt"`
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
	ErrLogin        = errors.New("unknown e-mail or wrong password, or the code of the mail to a new user is missing or wrong")
)

// normalEmail returns the form in which e-mails are stored and compared.
func normalEmail(email string) (string, error) {
	normal, ok := address.Normal(email)
	if !ok {
		return "", ErrInvalidEmail
	}
	return normal, nil
}

// CheckEmail returns [ErrInvalidEmail] for a text that is no e-mail.
func CheckEmail(email string) error {
	_, err := normalEmail(email)
	return err
}

// SignUp creates a customer who logs in with that password, whatever role u has, and at
// first with a code of [Shop.NewCode]. If somebody has the e-mail already, also since a
// moment ago, it is [ErrEmailTaken].
func (s *Shop) SignUp(ctx context.Context, u User, secret string) (User, error) {
	var err error
	if u.Email, err = normalEmail(u.Email); err != nil {
		return User{}, err
	}
	if !validName(u.Name) {
		return User{}, ErrName
	}
	u.Role, u.Unverified, u.ChangedBy = Customer, true, u.ID
	if u.Password, err = newPassword(secret, s.rounds); err != nil {
		return User{}, err
	}
	// A conflict is of two sign-ups at once, one of which may have failed as well.
	err = s.table.Retry(ctx, func(ctx context.Context) error { return s.users.Create(ctx, &u) })
	if err != nil {
		return User{}, emailTaken(err)
	}
	return u, nil
}

// Login is what a user logs in with.
type Login struct {
	Email, Password string
	// Code is that of a mail. It is for a user who is not verified yet.
	Code string
	// Client is the network address of the caller. It must not be empty.
	Client string
}

// LogIn returns the user with that e-mail and password. If it is not verified yet, the
// code verifies it. The password is asked for as well: who signs up with somebody else's
// e-mail does not get an account that its owner has verified.
//
// LogIn does not tell what is wrong, neither by its error, [ErrLogin], nor by its time. It
// reads consistently, since users log in when they have just signed up. The attempt is
// counted before the password is hashed: beyond a limit it is [ErrAttempts] for a while,
// also with the right password.
func (s *Shop) LogIn(ctx context.Context, l Login) (User, error) {
	email, err := normalEmail(l.Email)
	if err != nil || len(l.Password) > maxPassword {
		return User{}, ErrLogin
	}
	if err := s.countLogIn(ctx, l.Client, email); err != nil {
		return User{}, err
	}
	u, err := s.users.Consistent().Get(ctx, EmailKey(email))
	if errors.Is(err, table.ErrNotFound) {
		u.Password.Rounds = s.rounds // and no hash, which nothing matches
	} else if err != nil {
		return User{}, err
	}
	ok, err := u.Password.matches(l.Password)
	switch {
	case err != nil:
		return User{}, err
	case !ok:
		return User{}, ErrLogin
	case u.Unverified:
		return s.verify(ctx, u, l.Code)
	}
	return u, nil
}

// countLogIn counts an attempt to log in. One that is refused for its client does not
// count for the e-mail, so that a single client does not keep the user out.
func (s *Shop) countLogIn(ctx context.Context, client, email string) error {
	if err := s.Admit(ctx, client); err != nil {
		return err
	}
	if err := s.count(ctx, logInsOfClient, email, client); err != nil {
		return err
	}
	return s.count(ctx, logIns, email)
}

// verify returns the user, whose e-mail is verified by a code.
func (s *Shop) verify(ctx context.Context, u User, text string) (User, error) {
	c, err := s.codeOf(ctx, text)
	if err == nil && c.UserID != u.ID {
		err = ErrCode
	}
	if err == nil {
		u, err = s.redeem(ctx, c, func(*User) {})
	}
	if errors.Is(err, ErrCode) {
		err = ErrLogin
	}
	return u, err
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

// UserOf returns the user whose session is of a generation. It reads consistently: a
// session ends with a new password, and a role counts at once. A missing user and another
// generation are [table.ErrNotFound].
func (s *Shop) UserOf(ctx context.Context, id string, generation int) (User, error) {
	u, err := s.users.Consistent().Get(ctx, UserKey(id))
	if err == nil && u.Generation != generation {
		err = fmt.Errorf("session: %w", table.ErrNotFound)
	}
	return u, err
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

// ChangeEmail gives a user another e-mail, which is not verified: the item under the old
// one is deleted and one under the new one created, in one transaction with the profile.
func (s *Shop) ChangeEmail(ctx context.Context, userID, email string) (User, error) {
	email, err := normalEmail(email)
	if err != nil {
		return User{}, err
	}
	u, err := s.users.Update(ctx, UserKey(userID), func(u *User) error {
		u.Unverified = u.Unverified || u.Email != email
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
