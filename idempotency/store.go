package idempotency

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

var (
	// ErrInvalidRequest means that a [Request] is invalid, which is its sender's
	// fault. Nothing was written. A plan or a store that is invalid, a fault of the
	// program, only matches [table.ErrInvalid], as this error does too.
	ErrInvalidRequest = fmt.Errorf("%w idempotent request", table.ErrInvalid)
	// ErrPayloadMismatch means that the key belongs to a request with another
	// payload. Nothing was written.
	ErrPayloadMismatch = fmt.Errorf("idempotency key was used for another payload: %w", table.ErrConditionFailed)
	// ErrResultGone means that the request ran before, and that the item its
	// record refers to was deleted since. The request does not run again.
	ErrResultGone = fmt.Errorf("result of the request is gone: %w", table.ErrNotFound)
)

var (
	errInvalidPlan  = fmt.Errorf("%w plan", table.ErrInvalid)
	errInvalidStore = fmt.Errorf("%w idempotency store", table.ErrInvalid)
)

// Error is an error of this package: what it was about, and why. Errors of the
// caller's own ops are [*table.Error] as always.
type Error struct {
	// Op is New, Do, Exec, Lookup or Delete.
	Op string
	// Scope is the request's.
	Scope string
	// Key is the key of the record. It is not part of the message.
	Key keys.Key
	// Err is the cause; never nil.
	Err error
}

// Error names the operation and the cause, without scope and key.
func (e *Error) Error() string { return fmt.Sprintf("singletable: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// quietError is an error whose cause can be tested for and is not part of the
// message, since it can quote values.
type quietError struct {
	text  string
	cause error
}

func quiet(text string, cause error) error { return &quietError{text, cause} }

func (e *quietError) Error() string { return e.text }
func (e *quietError) Unwrap() error { return e.cause }

// EventKind says what happened to a request other than a first run.
type EventKind string

const (
	// Replayed says that it ran before and got the same result.
	Replayed EventKind = "replayed"
	// PayloadMismatch says that its key belongs to another payload.
	PayloadMismatch EventKind = "payload mismatch"
	// Replaced says that it replaced an expired record.
	Replaced EventKind = "replaced"
)

// Event reports a request other than a first run.
type Event struct {
	Kind  EventKind
	Scope string
	// Key is the key of the record.
	Key keys.Key
}

// LogValue returns the kind, without scope and key.
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", string(e.Kind)))
}

// Options adjust a [Store]. Nil and every zero value mean the default.
type Options struct {
	// TTL is how long records are kept, in whole seconds; 24 hours by default.
	TTL time.Duration
	// Observe, if set, is called for every [Event].
	Observe func(context.Context, Event)
	// Legacy returns the key of the item that is the result of a record which
	// another writer has made, without a fingerprint: for example
	// IDE#<key> / METADATA with a txId. Its payload is not compared. By default
	// such a record is an error.
	Legacy func(record table.Item) (keys.Key, error)
}

const defaultTTL = 24 * time.Hour

// Store keeps the records of requests in a table. It is safe for concurrent
// use. Get one from [New].
type Store struct {
	table *table.Table
	// records is where records are read: consistently, and of whatever type.
	records *table.Table
	schema  schema.Table
	o       Options
}

// New returns a store of records in a table, whose schema must have a TTL
// attribute. Its clock is the table's. Records and results are read whole: a projection
// of the table, by [table.Table.Project], does not count. With the View of a repo.Repo,
// results that are references are read as its entities, and upgraded.
func New(t *table.Table, options *Options) (*Store, error) {
	if t == nil {
		return nil, &Error{Op: "New", Err: fmt.Errorf("%w: the table is nil", errInvalidStore)}
	}
	var o Options
	if options != nil {
		o = *options
	}
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	t = t.Project()
	spec := t.Schema()
	switch {
	case spec.SimpleKey || spec.PKType != types.ScalarAttributeTypeS || spec.SKType != types.ScalarAttributeTypeS:
		return nil, &Error{Op: "New", Err: fmt.Errorf("%w: table %s has not two keys that are strings", errInvalidStore, spec.Name)}
	case spec.TTL == "":
		return nil, &Error{Op: "New", Err: fmt.Errorf("%w: table %s has no TTL attribute, records would stay for ever", errInvalidStore, spec.Name)}
	case o.TTL < time.Second:
		return nil, &Error{Op: "New", Err: fmt.Errorf("%w: Options.TTL %v is under a second", errInvalidStore, o.TTL)}
	}
	if err := checkNames(spec); err != nil {
		return nil, &Error{Op: "New", Err: err}
	}
	return &Store{table: t, records: t.OfType("").Consistent(), schema: spec, o: o}, nil
}

// checkNames refuses a table whose own attributes would overwrite those of a
// record.
func checkNames(spec schema.Table) error {
	for _, name := range append(keyNames(spec), spec.Type, spec.TTL) {
		if slices.Contains(ownNames, name) && !indexesTime(spec, name) {
			return fmt.Errorf("%w: table %s has the record's attribute %q for its type, its expiry or a key",
				errInvalidStore, spec.Name, name)
		}
	}
	return nil
}

// indexesTime reports whether an attribute is a record's time of creation, which
// an index may have for a key.
func indexesTime(spec schema.Table, name string) bool {
	own := []string{spec.PK, spec.SK, spec.Type, spec.TTL}
	other := func(x schema.Index) bool {
		partition, sort := x.Keys()
		return slices.ContainsFunc(slices.Concat(partition, sort), func(a schema.Attribute) bool {
			return a.Name == name && a.Type != types.ScalarAttributeTypeS
		})
	}
	return name == createdAt && !slices.Contains(own, name) && !slices.ContainsFunc(spec.Indexes, other)
}

func (s *Store) observe(ctx context.Context, kind EventKind, r Request) {
	if s.o.Observe != nil {
		s.o.Observe(ctx, Event{Kind: kind, Scope: r.Scope, Key: r.key()})
	}
}

// Lookup returns the live record of a request, [table.ErrNotFound] if it does not
// exist. Only Scope and Key of the request count.
func (s *Store) Lookup(ctx context.Context, r Request) (Record, error) {
	if err := r.validate(); err != nil {
		return Record{}, &Error{Op: "Lookup", Scope: r.Scope, Key: r.key(), Err: err}
	}
	item, err := table.Get[table.Item](ctx, s.records, r.key())
	if err != nil {
		return Record{}, err
	}
	return s.record(item), nil
}

// Delete removes the record of a request, so that the same key is a new request.
// It is for operators: if a client repeats the old request, it runs a second
// time. Only Scope and Key of the request count.
func (s *Store) Delete(ctx context.Context, r Request) error {
	if err := r.validate(); err != nil {
		return &Error{Op: "Delete", Scope: r.Scope, Key: r.key(), Err: err}
	}
	return s.table.Do(ctx, table.Delete(r.key()).WithName("idempotency record"))
}
