package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Router gives the changes of a table's stream to handlers. It is safe for concurrent
// use. Get one from [New].
//
// The first failure ends a batch: later records of other items may have been handled
// already, and are delivered again with the rest. The package documentation has the order
// of changes. A panic of a handler becomes one of the goroutine that
// has called [Router.Handle] or [Reader.Run]. Its value is an error that has the stack of
// the handler.
type Router struct {
	table    *table.Table
	schema   schema.Table
	options  Options
	handlers map[string]Handler
	versions map[string]string // the attributes of versions, by type
	owned    map[string]bool   // types of items that are no values
	types    []string
}

// Options configure a [Router]. The zero value is fine.
type Options struct {
	// Concurrency is how many items are handled at once. By default it is 1: then the
	// records of a shard are handled in their order, also those of different items.
	Concurrency int
}

// New returns a router for a table, whatever a view of it reads. Each handler is for
// another type. Problems with the arguments are [table.ErrInvalid], all of them in one error.
func New(t *table.Table, options *Options, handlers ...Handler) (*Router, error) {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	r := &Router{table: t, options: *cmp.Or(options, &Options{}), handlers: map[string]Handler{}, versions: map[string]string{}, owned: map[string]bool{}}
	if !made(t) {
		t = nil
		bad("the table is not one of table.New")
	} else {
		r.table, r.schema = t, t.Schema()
	}
	if r.options.Concurrency < 0 {
		bad("Concurrency is negative")
	}
	r.options.Concurrency = max(1, r.options.Concurrency)
	if len(handlers) == 0 {
		bad("there are no handlers")
	}
	for i, h := range handlers {
		switch {
		case h == nil:
			bad("handler %d is nil", i)
		case t != nil && h.problem(r.schema) != "":
			bad("handler %d: %s", i, h.problem(r.schema))
		case r.handlers[h.handles()] != nil:
			bad("handler %d: there is another one for type %q", i, h.handles())
		default:
			r.handlers[h.handles()], r.versions[h.handles()] = h, h.version()
			for _, name := range h.owns() {
				r.owned[name] = true
			}
			if h.handles() != "" {
				r.types = append(r.types, h.handles())
			}
		}
	}
	if len(problems) > 0 {
		return nil, &table.Error{Op: "stream New", Table: r.schema.Name, Err: fmt.Errorf("%w router: %w", table.ErrInvalid, errors.Join(problems...))}
	}
	return r, nil
}

// version returns the integer version of an image, 0 for none.
func (r *Router) version(image table.Item) int {
	v, _ := image[r.versions[r.schema.TypeOf(image)]].(*types.AttributeValueMemberN)
	if v == nil {
		return 0
	}
	n, _ := strconv.Atoi(v.Value) // a number that is none orders nothing
	return n
}

// made reports whether a table is one of [table.New].
func made(t *table.Table) bool { return t != nil && t.Schema().Name != "" }

// own reports whether an image is of an item that the library stores for itself, of
// packages idempotency, lease, backfill and stream, or of a claim of an entity that has a
// handler; or whether there is no image.
func (r *Router) own(image table.Item) bool {
	typ := r.schema.TypeOf(image)
	if image == nil || r.owned[typ] {
		return true
	}
	switch typ {
	case "IDEMPOTENCY": // an entity can have the type, too
		return image["fingerprint"] != nil && strings.HasPrefix(item.Text(image[r.schema.PK]), string(keys.Ide)+"#")
	case lease.Type, lease.JobType, lease.ReaderType:
		return lease.Owned(&r.schema, image, typ)
	}
	return false
}

// errGone means that a handler has ended its goroutine, as by testing.T.FailNow.
var errGone = errors.New("the handler did not return")

// run handles records in their order and returns how many of them were handled before
// the first one that was not.
func (r *Router) run(ctx context.Context, records []*record) (done int, err error) {
	errs := make([]error, len(records))
	var failed atomic.Int64 // the first one that was not handled
	failed.Store(int64(len(records)))
	fail := func(i int, err error) {
		errs[i] = err
		for {
			first := failed.Load()
			if int64(i) >= first || failed.CompareAndSwap(first, int64(i)) {
				return
			}
		}
	}
	one := func(i int) {
		//mutants:guard stream: nothing behind a failure is handled | TestFailures/1
		if int64(i) >= failed.Load() {
			return
		}
		returned := false
		defer func() {
			if !returned {
				fail(i, errGone)
			}
		}()
		err := context.Cause(ctx)
		if err == nil {
			err = r.record(ctx, records[i])
		}
		if returned = true; err != nil {
			fail(i, err)
		}
	}
	if r.options.Concurrency == 1 {
		for i := range records {
			group.Call(func() { one(i) })
		}
	} else {
		r.parallel(records, &failed, one)
	}
	done = int(failed.Load())
	if done == len(records) {
		return done, nil
	}
	return done, r.fail("Handle", records[done], errs[done])
}

// parallel calls one for each record, after it was called for the earlier records of
// the same item.
func (r *Router) parallel(records []*record, failed *atomic.Int64, one func(int)) {
	handled := group.Group{KeepExits: true} // a failure says so
	slots := make(chan struct{}, r.options.Concurrency)
	latest := map[keys.Key]chan struct{}{}
	for i, rec := range records {
		if int64(i) >= failed.Load() {
			break
		}
		before, done := latest[rec.key], make(chan struct{})
		latest[rec.key] = done
		slots <- struct{}{}
		handled.Go(func() {
			defer func() { <-slots }()
			defer close(done)
			if before != nil {
				<-before // has a slot, or had one
			}
			one(i)
		})
	}
	handled.Wait()
}

// record gives a record to its handlers.
func (r *Router) record(ctx context.Context, rec *record) error {
	old, new := rec.old, rec.new
	oldType, newType := r.schema.TypeOf(old), r.schema.TypeOf(new)
	if r.own(old) {
		old = nil
	}
	if r.own(new) {
		new = nil
	}
	if old != nil && new != nil && oldType == newType {
		return r.handle(ctx, newType, rec, old, new)
	}
	if old != nil {
		if err := r.handle(ctx, oldType, rec, old, nil); err != nil {
			return err
		}
	}
	if new != nil {
		return r.handle(ctx, newType, rec, nil, new)
	}
	return nil
}

func (r *Router) handle(ctx context.Context, name string, rec *record, old, new table.Item) error {
	others := r.handlers[""]
	h := cmp.Or(r.handlers[name], others)
	if h == nil {
		//mutants:guard stream: what no handler is for is refused | TestOtherItems | => return nil
		return fmt.Errorf("%w: no handler for type %q", table.ErrWrongType, name)
	}
	orphans, err := h.handle(ctx, r.table, rec, old, new)
	if err != nil {
		return err
	}
	if orphans[0] == nil && orphans[1] == nil {
		return nil
	}
	if others == nil {
		return fmt.Errorf("%w: no handler for it", repo.ErrOrphan)
	}
	_, err = others.handle(ctx, r.table, rec, orphans[0], orphans[1])
	return err
}

// fail returns an error with what it is about.
func (r *Router) fail(op string, rec *record, err error) error {
	e := &table.Error{Op: "stream " + op, Table: r.schema.Name, Err: err}
	if rec != nil {
		image := rec.new
		if image == nil {
			image = rec.old
		}
		e.Name, e.Key = r.schema.TypeOf(image), rec.key
		e.Err = fmt.Errorf("record %s: %w", cmp.Or(rec.sequence, rec.reported), err)
	}
	return e
}
