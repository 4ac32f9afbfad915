package store

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
)

const (
	// attemptWindow is the time in which attempts to log in are counted.
	attemptWindow = 15 * time.Minute
	// maxAttempts is how many there may be with one e-mail.
	maxAttempts = 10
)

// ErrAttempts means that there were too many attempts to log in with an e-mail.
var ErrAttempts = errors.New("too many attempts to log in with this e-mail")

// attempts counts the attempts to log in with an e-mail, known or not, within a window
// of time. It is stored once, as LOGIN#<e-mail> / WINDOW#<time>, and expires. Since
// DynamoDB counts, attempts at the same time are all counted.
type attempts struct {
	Email     string    `dynamodbav:"email"`
	Window    time.Time `dynamodbav:"window"`
	Count     int       `dynamodbav:"count"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,unixtime"`
}

var attemptsEntity = repo.Entity[attempts]{
	Type: "LOGIN_ATTEMPTS",
	Key: func(a attempts) keys.Key {
		return keys.Key{PK: loginPrefix.PK(a.Email), SK: windowPrefix.SK(keys.Time(a.Window))}
	},
}

// countAttempt counts an attempt, and is [ErrAttempts] if it is one too many.
func (s *Shop) countAttempt(ctx context.Context, email string) error {
	window := s.table.Now().UTC().Truncate(attemptWindow)
	a := attempts{Email: email, Window: window, ExpiresAt: window.Add(2 * attemptWindow)}
	a, err := s.attempts.Upsert(ctx, a, expression.Add(expression.Name("count"), expression.Value(1)))
	if err == nil && a.Count > maxAttempts {
		err = ErrAttempts
	}
	return err
}
