package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
)

// Request is a request to create something. Two requests are the same if operation, user
// and key are equal.
type Request struct {
	Operation, User, Key string
	// Payload is what is asked for.
	Payload []string
}

// Once commits the ops of a plan once for each request. The plan returns the response,
// too, which is stored in the same transaction and kept for a day. A repeated request gets
// exactly that, with replayed set. The plan can be called several times, also for a
// repeated request, so it must only read and draw ids.
//
// Errors: those of the plan, those of the methods that commit the same ops, and
// [idempotency.ErrPayloadMismatch] if the payload differs from that of the first request.
// After an error the key can be used again.
func Once[R any](
	ctx context.Context, s *Store, r Request, plan func(context.Context) (R, []table.Op, error),
) (response R, replayed bool, err error) {
	request := idempotency.Request{Scope: r.Operation + ":" + r.User, Key: r.Key, Payload: idempotency.JSON(r.Payload)}
	err = s.Table.Retry(ctx, func(ctx context.Context) error {
		result, err := idempotency.Do(ctx, s.requests, request, func(ctx context.Context) (idempotency.Plan[R], error) {
			response, ops, err := plan(ctx)
			return idempotency.Snapshot(response, ops...), err
		})
		response, replayed = result.Value, result.Replayed
		return refused(err)
	})
	return response, replayed, err
}

// ErrNoUser means that a user is not registered. It matches [table.ErrNotFound].
var ErrNoUser = fmt.Errorf("the user is not registered: %w", table.ErrNotFound)

// The names of ops that check something. Counters have names, too: that of the entity and
// their own.
const (
	opPost    = "post"
	opOwner   = "owner"
	opAnother = "another owner"
	opFolder  = "folder"
)

// checks are the errors of the ops that check something.
var checks = []struct {
	op  string
	err error
}{
	{"POST posts", ErrNoUser},
	{"MEMBERSHIP groups", ErrNoUser},
	{"MEMBERSHIP members", fmt.Errorf("group: %w", table.ErrNotFound)},
	{"COMMENT comments", fmt.Errorf("post: %w", table.ErrNotFound)},
	{opPost, fmt.Errorf("post: %w", table.ErrNotFound)},
	{opOwner, ErrNotOwner},
	// These were true when they were read, so the write begins again.
	{opAnother, table.ErrConflict},
	{opFolder, table.ErrConflict},
}

// refused returns the reason of a transaction that was cancelled by one of the checks, or
// else the error.
func refused(err error) error {
	for _, c := range checks {
		if failed(err, c.op) {
			return c.err
		}
	}
	return err
}

// failed reports whether a transaction was cancelled because the condition of the op of that
// name did not hold, or the counter of that name has no owner.
func failed(err error, name string) bool {
	op, ok := table.FailedOp(err, name)
	return ok && (errors.Is(op, table.ErrConditionFailed) || errors.Is(op, table.ErrUncounted))
}
