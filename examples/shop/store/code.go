package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// codeLife is how long a code is good.
const codeLife = time.Hour

// ErrCode means that a code is wrong, used or expired.
var ErrCode = errors.New("the code is wrong, used or expired")

// code is a one-time code that was mailed to a user. Its holder reads the mails of the
// e-mail. It is stored once, as CODE#<hash> / METADATA, and expires. The code itself is
// stored nowhere.
type code struct {
	Hash   string `dynamodbav:"hash"`
	UserID string `dynamodbav:"userId"`
	Email  string `dynamodbav:"email"`
	// Generation is that of the user: a new password ends all codes.
	Generation int       `dynamodbav:"generation"`
	ExpiresAt  time.Time `dynamodbav:"expiresAt,unixtime"`
}

var codeEntity = repo.Entity[code]{
	Type: "CODE",
	Key:  func(c code) keys.Key { return keys.Key{PK: codePrefix.PK(c.Hash), SK: keys.Metadata} },
}

// hashOf returns the hash of a code. A code is random, so the hash needs no salt and no
// rounds.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// NewCode returns a code for the user with that e-mail, which is good once, for an hour. It
// is for a mail to the e-mail, and for nobody else. Without such a user it is
// [table.ErrNotFound], and after too many codes for an e-mail [ErrAttempts].
func (s *Shop) NewCode(ctx context.Context, email string) (to User, text string, err error) {
	if email, err = normalEmail(email); err != nil {
		return to, "", err
	}
	if err := s.count(ctx, mails, email); err != nil {
		return to, "", err
	}
	if to, err = s.users.Consistent().Get(ctx, EmailKey(email)); err != nil {
		return to, "", err
	}
	text = rand.Text()
	c := code{
		Hash: hashOf(text), UserID: to.ID, Email: to.Email, Generation: to.Generation,
		ExpiresAt: s.table.Now().UTC().Add(codeLife),
	}
	return to, text, s.codes.Create(ctx, &c)
}

// SetPassword gives the user with a code a new password, and ends the sessions and codes
// of the user. The e-mail is verified then. The name of a user who was not verified may
// be somebody else's choice, so it becomes the name that is given, or the e-mail if that is
// empty. A verified user keeps the name unless one is given.
//
// Errors: [ErrCode]; [ErrPassword] and [ErrName], which leave the code as it is.
func (s *Shop) SetPassword(ctx context.Context, text, secret, name string) (User, error) {
	c, err := s.codeOf(ctx, text)
	if err != nil {
		return User{}, err
	}
	if name != "" && !validName(name) {
		return User{}, ErrName
	}
	p, err := newPassword(secret, s.rounds)
	if err != nil {
		return User{}, err
	}
	return s.redeem(ctx, c, func(u *User) {
		u.Password, u.Generation = p, u.Generation+1
		if name != "" {
			u.Name = name
		} else if u.Unverified {
			u.Name = u.Email
		}
	})
}

// codeOf returns a code that has not expired. DynamoDB deletes expired items late. AWS:
// "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
func (s *Shop) codeOf(ctx context.Context, text string) (code, error) {
	c, err := s.codes.Consistent().Get(ctx, codeEntity.Key(code{Hash: hashOf(text)}))
	if errors.Is(err, table.ErrNotFound) || err == nil && !s.table.Now().Before(c.ExpiresAt) {
		return c, ErrCode
	}
	return c, err
}

// redeem deletes a code and changes its user, whose e-mail is verified then, in one
// transaction.
func (s *Shop) redeem(ctx context.Context, c code, change func(*User)) (User, error) {
	use := table.Delete(codeEntity.Key(c)).IfExists().WithName(codeEntity.Type)
	u, err := s.users.UpdateWith(ctx, UserKey(c.UserID), func(u *User) ([]table.Op, error) {
		if u.Email != c.Email || u.Generation != c.Generation { // changed since
			return nil, ErrCode
		}
		change(u)
		u.Unverified, u.ChangedBy = false, u.ID
		return []table.Op{use}, nil
	})
	if op, failed := table.FailedOp(err, codeEntity.Type); failed && errors.Is(op, table.ErrConditionFailed) {
		return u, fmt.Errorf("%w: %w", ErrCode, err)
	}
	return u, err
}
