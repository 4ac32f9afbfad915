package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
)

// AttemptWindow is the time in which attempts are counted. After it, none of them count.
const AttemptWindow = 15 * time.Minute

// limit is how often something may be attempted in a window.
type limit struct {
	name string
	most int
}

// The limits. Client is the network address of a caller.
var (
	requestsOfClient = limit{"CLIENT", 100} // to sign up, to log in, for a mail
	logInsOfClient   = limit{"LOGIN", 10}   // of a client with one e-mail
	logIns           = limit{"LOGINS", 100} // of all clients with one e-mail
	mails            = limit{"MAIL", 5}     // to one e-mail
)

// ErrAttempts means that there were too many attempts.
var ErrAttempts = errors.New("too many attempts; try again in a quarter of an hour")

// attempts counts attempts, of users who are known or not, within a window of time. It is
// stored once, as ATTEMPTS#<limit>#<whose> / WINDOW#<time>, and expires. Since DynamoDB
// counts, concurrent attempts are all counted.
type attempts struct {
	Limit     string    `dynamodbav:"limit"`
	Whose     string    `dynamodbav:"whose"`
	Window    time.Time `dynamodbav:"window"`
	Count     int       `dynamodbav:"count"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,unixtime"`
}

var attemptsEntity = repo.Entity[attempts]{
	Type: "ATTEMPTS",
	Key: func(a attempts) keys.Key {
		return keys.Key{PK: attemptsPrefix.PK(a.Limit, a.Whose), SK: windowPrefix.SK(keys.Time(a.Window))}
	},
}

// Admit counts a request that anybody can send and that costs a hash or a mail. It is
// [ErrAttempts] if a client has sent too many of them. [Shop.LogIn] calls it itself.
func (s *Shop) Admit(ctx context.Context, client string) error {
	return s.count(ctx, requestsOfClient, client)
}

// count counts an attempt, and is [ErrAttempts] if it is one too many.
func (s *Shop) count(ctx context.Context, l limit, whose ...string) error {
	window := s.table.Now().UTC().Truncate(AttemptWindow)
	a := attempts{Limit: l.name, Whose: strings.Join(whose, " "), Window: window, ExpiresAt: window.Add(2 * AttemptWindow)}
	a, err := s.attempts.Upsert(ctx, a, repo.Patch{Add: map[string]any{"count": 1}})
	if err == nil && a.Count > l.most {
		err = ErrAttempts
	}
	return err
}
