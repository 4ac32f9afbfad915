package table

import (
	"context"
	"math/rand/v2"
	"time"
)

// recovery paces the attempts of a transaction that DynamoDB says is in progress. The
// zero value is that of a transaction of which it has not said so.
//
// An attempt that begins 5 seconds or more after the first one makes DynamoDB finish the
// transaction. The first response that says so comes after the first attempt, so the
// time counts from there. AWS: TransactionInProgressException, TransactWriteItems, Amazon
// DynamoDB API Reference.
type recovery struct {
	first time.Time // response
	// delay is the greatest one before the next attempt.
	delay time.Duration
	// late means that the attempt before began late enough.
	late bool
}

const (
	recoveryTime       = 5 * time.Second
	firstRecoveryDelay = 500 * time.Millisecond
)

// again reports whether the transaction is to be sent again: until an attempt began
// late enough, within the time of the budget.
func (r *recovery) again(b *budget) bool { return !r.late && b.inTime() }

// wait waits before the next attempt, twice as long each time. It returns an error if
// the context or the time ends.
func (r *recovery) wait(ctx context.Context, b *budget) error {
	if r.first.IsZero() {
		r.first, r.delay = time.Now(), firstRecoveryDelay
	}
	delay := r.delay - rand.N(r.delay/2)
	if left := recoveryTime - time.Since(r.first); delay >= left {
		delay, r.late = max(left, 0)+rand.N(firstRecoveryDelay)+1, true
	}
	r.delay *= 2
	return b.pause(ctx, delay)
}
