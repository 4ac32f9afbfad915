package stream

import (
	"strings"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
)

// Kind says what happened to an entity.
type Kind string

const (
	// Insert means that the entity is new, or was created over an expired one. There is no
	// Old.
	Insert Kind = "insert"
	// Modify means that the entity has changed. There are Old and New.
	Modify Kind = "modify"
	// Remove means that a program has deleted the entity. There is no New.
	Remove Kind = "remove"
	// Expire means that the entity was deleted after its expiry, by DynamoDB or by a program.
	// The record of a deletion by DynamoDB says so only in the Region where it was made. In
	// the other Regions of a global table it is as that of a program, and the expiry of the
	// old image tells. AWS: "Working with expired items and time to live (TTL)", Amazon
	// DynamoDB Developer Guide. There is no New. An entity that expires and is created again before its deletion gives
	// an Insert without an Expire.
	Expire Kind = "expire"
)

// Change is one change of an entity.
type Change[T any] struct {
	Kind Kind
	// Old and New are the entity before and after the change, upgraded to the present
	// shape. See [Kind] for which of them is nil.
	Old, New *T
	// Changed are the attributes of T that differ, in order, without the version. It is
	// nil if there is no Old or no New.
	Changed []string
	// Key is the key of the entity's main item.
	Key keys.Key
	// At is when the change was made, in UTC, approximately; zero if the record does not say.
	// Lambda gives whole seconds, and Kinesis Data Streams milliseconds or microseconds. AWS: StreamRecord, Amazon
	// DynamoDB Streams API Reference; "Kinesis Data Streams for DynamoDB", Amazon DynamoDB
	// Developer Guide.
	At time.Time
	// Sequence orders the changes within a shard of the stream: a decimal number of up
	// to 40 digits. Two changes of one item are in one shard, or in a shard and its
	// child. It is empty in Kinesis Data Streams, where At orders them.
	Sequence string
	// EventID identifies the record within Stream, which is the ARN. See
	// [Change.Request].
	EventID, Stream string
}

// effectTTL is how long the record of an effect is kept: twice as long as a stream
// keeps its records. AWS: "Change data capture for DynamoDB Streams", Amazon DynamoDB
// Developer Guide.
const effectTTL = 48 * time.Hour

// Request identifies the change for package idempotency, so that a consumer makes its
// effect in the table once, though the change can be delivered more than once:
//
//	first, err := idempotency.Exec(ctx, store, c.Request("totals"), func(context.Context) ([]table.Op, error) {
//		return ops, nil
//	})
//
// consumer is a name that no other consumer of the stream has. It may have about 150
// bytes. Add a suffix to Key for several effects of one change.
//
// Package idempotency refuses the request, with [idempotency.ErrInvalidRequest], if
// consumer is empty, or if c has no EventID or no Stream: no router gives such a change.
func (c Change[T]) Request(consumer string) idempotency.Request {
	_, name, ofTable := strings.Cut(c.Stream, ":table/")
	if !ofTable {
		_, name, _ = strings.Cut(c.Stream, ":stream/") // of Kinesis
	}
	if consumer == "" || c.EventID == "" || name == "" {
		return idempotency.Request{TTL: -1} // refused, also with a suffix of Key
	}
	return idempotency.Request{Scope: consumer + " " + name, Key: c.EventID + " " + string(c.Kind), TTL: effectTTL}
}
