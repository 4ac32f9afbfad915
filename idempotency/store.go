package idempotency

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// The reasons of this package. Its errors are a [*table.Error] with the operation and the
// key of the record, and are tested with [errors.Is].
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
// of the table, by [table.Table.Project], does not count. Results that are references are
// read by the view: with that of a repo.Repo, as its entities, and upgraded.
func New(t *table.Table, options *Options) (*Store, error) {
	if t == nil {
		return nil, &table.Error{Op: "New", Err: fmt.Errorf("%w: the table is nil", errInvalidStore)}
	}
	o := *cmp.Or(options, &Options{})
	o.TTL = cmp.Or(o.TTL, defaultTTL)
	t = t.Project()
	spec := t.Schema()
	fail := func(format string, args ...any) (*Store, error) {
		return nil, &table.Error{Op: "New", Table: spec.Name, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case spec.SimpleKey || spec.PKType != types.ScalarAttributeTypeS || spec.SKType != types.ScalarAttributeTypeS:
		return fail("%w: the table has not two keys that are strings", errInvalidStore)
	case spec.TTLAttribute == "":
		return fail("%w: the schema has no TTLAttribute, and records would stay for ever", errInvalidStore)
	case o.TTL < time.Second:
		return fail("%w: Options.TTL %v is under a second", errInvalidStore, o.TTL)
	}
	if err := checkNames(spec); err != nil {
		return fail("%w", err)
	}
	return &Store{table: t, records: t.Reading(item.Reading{Whole: true}).Consistent(), schema: spec, o: o}, nil
}

// checkNames refuses a table whose own attributes would overwrite those of a record. An
// index can find records by their time.
func checkNames(spec schema.Table) error {
	for _, a := range tableAttributes(spec) {
		if slices.Contains(ownNames, a.Name) && a != (schema.Attribute{Name: createdAt, Type: types.ScalarAttributeTypeS}) {
			return fmt.Errorf("%w: the table has the record's attribute %q for its type, its expiry, a key or an index", errInvalidStore, a.Name)
		}
	}
	return nil
}

// tableAttributes returns the attributes that a table needs for itself. Those that are not
// of an index, and vectors, have no type here.
func tableAttributes(spec schema.Table) []schema.Attribute {
	all := []schema.Attribute{{Name: spec.PK}, {Name: spec.SK}, {Name: spec.TypeAttribute}, {Name: spec.TTLAttribute}}
	for _, x := range spec.Indexes {
		partition, sort := x.Keys()
		all = slices.Concat(all, partition, sort)
	}
	for _, x := range spec.Vectors {
		all = append(append(all, schema.Attribute{Name: x.Attribute}, x.Partition), x.Filters...)
	}
	return all
}

// fail returns the error of an operation on a request.
func (s *Store) fail(op string, r Request, err error) error {
	e := &table.Error{Op: op, Key: r.key(), Err: err}
	if s != nil {
		e.Table = s.schema.Name
	}
	return e
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
		return Record{}, s.fail("Lookup", r, err)
	}
	item, err := table.Get[table.Item](ctx, s.records, r.key())
	if err != nil {
		return Record{}, err
	}
	return s.recordOf(item), nil
}

// Delete removes the record of a request, so that the same key is a new request.
// It is for operators: if a client repeats the old request, it runs a second
// time. Only Scope and Key of the request count.
func (s *Store) Delete(ctx context.Context, r Request) error {
	if err := r.validate(); err != nil {
		return s.fail("Delete", r, err)
	}
	return s.table.Do(ctx, table.Delete(r.key()).WithName("idempotency record"))
}
