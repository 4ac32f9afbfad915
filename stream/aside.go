package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Aside says which record a [Reader] has set aside, and why. The record itself stays in
// the stream for a day; the item is in the table. AWS: "Change data capture for
// DynamoDB Streams", Amazon DynamoDB Developer Guide.
type Aside struct {
	// Key is the key of the item, and Type its type.
	Key  keys.Key
	Type string
	// Sequence and EventID are those of the record.
	Sequence, EventID string
	// Reason is the error of the last attempt.
	Reason string
	At     time.Time
}

// maxReason bounds the stored text of an error, in bytes.
const maxReason = 4096

func (s *shardReader) setAside(ctx context.Context, r *record, reason error) error {
	text := strings.ToValidUTF8(reason.Error(), "\uFFFD")
	a := lease.Aside{
		Type: cmp.Or(s.Router.schema.TypeOf(r.new), s.Router.schema.TypeOf(r.old)), Sequence: r.sequence, EventID: r.id,
		Reason: strings.ToValidUTF8(text[:min(len(text), maxReason)], ""), // it may be cut within a character
	}
	return lease.SetAside(ctx, s.Table, itemType, s.partition, r.key, a, keys.Str(s.held.State.Shard), keys.Str(r.sequence))
}

// SetAside reads what the reader has set aside in its stream, by shard. The error is
// yielded once, last, and must be looked at.
func (r Reader) SetAside(ctx context.Context) iter.Seq2[Aside, error] {
	return func(yield func(Aside, error) bool) {
		r, err := r.opened(ctx)
		if err != nil {
			yield(Aside{}, r.fail("SetAside", err))
			return
		}
		for a, err := range lease.Asides(ctx, r.Table, itemType, partition(r.Name, r.StreamARN)) {
			aside := Aside{Key: a.Key(), Type: a.Type, Sequence: a.Sequence, EventID: a.EventID, Reason: a.Reason, At: a.At()}
			if !yield(aside, r.fail("SetAside", err)) {
				return
			}
		}
	}
}

// Forget deletes the checkpoints of the consumer in its stream and what it has set aside.
// No process may run it at the same time. Its next run begins with the oldest record.
func (r Reader) Forget(ctx context.Context) error {
	r, err := r.opened(ctx)
	if err == nil {
		err = lease.Forget(ctx, r.Table, itemType, partition(r.Name, r.StreamARN))
	}
	return r.fail("Forget", err)
}

// fail returns an error with what it is about, nil for nil.
func (r Reader) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	name := ""
	if r.Router != nil {
		name = r.Router.schema.Name
	}
	type coded interface {
		error
		ErrorCode() string
	}
	if api, ok := errors.AsType[coded](err); ok && api.ErrorCode() == "UnknownOperationException" {
		err = fmt.Errorf("%w: %w", schema.ErrUnsupported, err)
	}
	return &table.Error{Op: "stream " + op, Name: r.Name, Table: name, Err: err}
}
