package once

import (
	"context"
	"errors"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/lease"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Refund is sent by a provider that takes no idempotency key.
type Refund struct {
	ID       string `dynamodbav:"refundId"`
	Cents    int64  `dynamodbav:"cents"`
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

// The statuses of a refund.
const (
	Requested = "REQUESTED"
	Sending   = "SENDING" // the call may have been made
	Sent      = "SENT"
	Refused   = "REFUSED"
	Unknown   = "UNKNOWN" // a person asks the provider
)

func refundKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("REFUND").PK(id), SK: keys.Metadata}
}

var refundEntity = repo.Entity[Refund]{
	Type: "REFUND", Version: "revision",
	Key: func(r Refund) keys.Key { return refundKey(r.ID) },
}

// Refunds sends refunds. It is safe for concurrent use.
type Refunds struct {
	table   *table.Table
	refunds *repo.Repo[Refund]
	// call calls the provider, within much less than the life of a lease. ErrRefused means
	// that it has refused. After any other error the refund may have been made.
	call func(ctx context.Context, r Refund) error
}

// ErrRefused is the error of a provider that does nothing.
var ErrRefused = errors.New("the provider refuses")

// Send makes the call once at most, whichever processes send a refund, and wherever they die.
func (s *Refunds) Send(ctx context.Context, id string) (Refund, error) {
	lock, err := lease.New(s.table, keys.Key{PK: keys.Prefix("REFUND").PK(id), SK: "LEASE"}, &lease.Options{Life: time.Minute})
	if err != nil {
		return Refund{}, err
	}
	held, err := lock.Acquire(ctx)
	if err != nil {
		return Refund{}, err // lease.ErrHeld: another process is at it
	}
	defer func() { _ = held.Release(context.WithoutCancel(ctx)) }() // or it ends by itself
	r, err := s.move(ctx, held, id, map[string]string{Requested: Sending, Sending: Unknown})
	if err != nil || r.Status != Sending {
		return r, err
	}
	outcome := Sent
	switch err := s.call(ctx, r); {
	case errors.Is(err, ErrRefused):
		outcome = Refused
	case err != nil:
		outcome = Unknown
	}
	return s.move(ctx, held, id, map[string]string{Sending: outcome})
}

// move gives a refund its next status, as long as the lease is held.
func (s *Refunds) move(ctx context.Context, held *lease.Lease, id string, next map[string]string) (Refund, error) {
	return s.refunds.UpdateWith(ctx, refundKey(id), func(r *Refund) ([]table.Op, error) {
		status, moves := next[r.Status]
		if !moves {
			return nil, nil
		}
		r.Status = status
		return []table.Op{held.Check()}, nil
	})
}
