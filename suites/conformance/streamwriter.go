package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
)

// changes are changes as texts, by the key of the item, in order.
type changes struct {
	mu  sync.Mutex
	all map[keys.Key][]string
	n   int
}

// add adds a change. old and new are values, nil for none.
func (c *changes) add(key keys.Key, kind stream.Kind, old, new any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[keys.Key][]string{}
	}
	c.all[key] = append(c.all[key], fmt.Sprintf("%s of %+v to %+v", kind, old, new))
	c.n++
}

// on returns a handler that adds the changes of an entity, as show makes them.
func on[T any](c *changes, r *repo.Repo[T], show func(T) any) stream.Handler {
	return stream.On(r, func(_ context.Context, change stream.Change[T]) error {
		c.add(change.Key, change.Kind, shown(change.Old, show), shown(change.New, show))
		return nil
	})
}

func shown[T any](v *T, show func(T) any) any {
	if v == nil {
		return nil
	}
	return show(*v)
}

// streamWriter writes entities and items of other programs, and knows what changes
// that makes.
type streamWriter struct {
	t        *testing.T
	r        *rand.Rand
	client   *dynamodb.Client
	table    *table.Table
	before   *repo.Repo[customer0]
	present  *repo.Repo[customer]
	coupons  *repo.Repo[coupon]
	vouchers *repo.Repo[voucher]

	// stored are the customers as they are, without revisions, and old those that are
	// stored in the shape of the first release. things are coupons and vouchers,
	// foreign the numbers of the items of other programs.
	stored  map[string]customer
	old     map[string]bool
	things  map[string]any
	foreign map[keys.Key]int

	want, expired changes
	// gone are the changes that events of expiries gave.
	gone    changes
	records int
	jobs    int
}

// streamEntities is how many ids there are of each kind.
const streamEntities = 40

func newStreamWriter(t *testing.T, h Harness, seed uint64) *streamWriter {
	t.Helper()
	w := &streamWriter{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), client: h.Client(t),
		stored: map[string]customer{}, old: map[string]bool{}, things: map[string]any{}, foreign: map[keys.Key]int{},
	}
	w.table = h.newTableWith(t, w.client, streamed(), options())
	w.before, w.present = newRepo(t, w.table, customer0Entity), newRepo(t, w.table, customerEntity)
	w.coupons, w.vouchers = newRepo(t, w.table, couponEntity), newRepo(t, w.table, voucherEntity)
	return w
}

// router returns a router that adds all changes.
func (w *streamWriter) router(c *changes, concurrency int, other stream.Handler) *stream.Router {
	w.t.Helper()
	return expect.Value(stream.New(w.table, &stream.Options{Concurrency: concurrency},
		on(c, w.present, func(v customer) any { v.Revision = ""; return v }),
		on(c, w.coupons, func(v coupon) any { return v }),
		on(c, w.vouchers, func(v voucher) any { return v }),
		other))(w.t)
}

// step does one write.
func (w *streamWriter) step() {
	w.t.Helper()
	ctx := w.t.Context()
	id := fmt.Sprint(w.r.IntN(streamEntities))
	switch n := w.r.IntN(20); {
	case n < 10:
		w.customer(ctx, id)
	case n < 14:
		w.thing(ctx, id)
	default:
		w.other(ctx)
	}
}

// anyCustomer draws the attributes of a customer, as both releases have them.
func (w *streamWriter) anyCustomer(id string) (customer0, customer) {
	v := customer{
		ID: id, Email: fmt.Sprintf("%d-%s@x", w.r.IntN(3), id), First: strings.Repeat("x", 1+w.r.IntN(50)),
		Last: fmt.Sprint(w.r.IntN(3)), Months: w.r.IntN(1000), Tier: "basic",
	}
	return customer0{ID: id, Email: v.Email, Name: v.First + " " + v.Last, Months: fmt.Sprint(v.Months, " months")}, v
}

func (w *streamWriter) customer(ctx context.Context, id string) {
	w.t.Helper()
	key := accountKey(id)
	v0, v := w.anyCustomer(id)
	was, there := w.stored[id]
	switch n := w.r.IntN(10); {
	case !there && n < 4:
		must(w.t, w.before.Create(ctx, &v0))
		w.old[id] = true
		w.becomes(id, v)
	case !there:
		w.becomes(id, v)
		must(w.t, w.present.Create(ctx, &v))
	case n == 0:
		must(w.t, w.present.Delete(ctx, key))
		w.removed(id)
	case n == 1:
		w.expire(ctx, was)
	case n == 2: // nothing but a revision, and the upgrade
		must(w.t, expect.ErrOf(w.present.Update(ctx, key, func(*customer) error { return nil })))
		delete(w.old, id)
		w.records += itemsOfCustomer
	case n < 5 && w.old[id]:
		must(w.t, expect.ErrOf(w.before.Update(ctx, key, func(c *customer0) error {
			v0.Revision = c.Revision
			*c = v0
			return nil
		})))
		w.becomes(id, v)
	default:
		must(w.t, expect.ErrOf(w.present.Update(ctx, key, func(c *customer) error {
			revision := c.Revision
			*c = v
			c.Revision = revision
			return nil
		})))
		delete(w.old, id)
		w.becomes(id, v)
	}
}

// itemsOfCustomer is how many items a customer has.
const itemsOfCustomer = 2

// becomes says what a customer is now.
func (w *streamWriter) becomes(id string, v customer) {
	was, there := w.stored[id]
	w.stored[id] = v
	w.records += itemsOfCustomer
	switch {
	case !there:
		w.want.add(accountKey(id), stream.Insert, nil, v)
	case was != v:
		w.want.add(accountKey(id), stream.Modify, was, v)
	}
}

func (w *streamWriter) removed(id string) {
	w.want.add(accountKey(id), stream.Remove, w.stored[id], nil)
	w.records += itemsOfCustomer
	delete(w.stored, id)
	delete(w.old, id)
}

// expire deletes a customer as the expiry does, for the event that says so. In the stream
// of the engine it is a program that has deleted it.
func (w *streamWriter) expire(ctx context.Context, v customer) {
	w.t.Helper()
	event := expect.Value(streamtest.Expire(ctx, w.client, w.table, accountKey(v.ID), mailKey(v.Email)))(w.t)
	response := expect.Value(w.router(&w.gone, 1, stream.IgnoreOther()).Handle(ctx, event))(w.t)
	must(w.t, response.Err)
	w.expired.add(accountKey(v.ID), stream.Expire, v, nil)
	w.removed(v.ID)
}

// thing writes a coupon or a voucher over whatever is under the key.
func (w *streamWriter) thing(ctx context.Context, id string) {
	w.t.Helper()
	var v any
	var ops []table.Op
	switch w.r.IntN(5) {
	case 0:
		ops = []table.Op{table.Delete(couponKey(id))}
	case 1, 2:
		coupon := coupon{ID: id, N: w.r.IntN(3)}
		v, ops = coupon, w.coupons.PutOps(&coupon)
	default:
		voucher := voucher{ID: id, Cent: w.r.IntN(3)}
		v, ops = voucher, w.vouchers.PutOps(&voucher)
	}
	must(w.t, w.table.BatchWrite(ctx, ops...))
	w.records++
	was := w.things[id]
	w.things[id] = v
	switch {
	case was == v:
	case was == nil:
		w.want.add(couponKey(id), stream.Insert, nil, v)
	case v == nil:
		w.want.add(couponKey(id), stream.Remove, was, nil)
	case fmt.Sprintf("%T", was) == fmt.Sprintf("%T", v):
		w.want.add(couponKey(id), stream.Modify, was, v)
	default: // of another type
		w.want.add(couponKey(id), stream.Remove, was, nil)
		w.want.add(couponKey(id), stream.Insert, nil, v)
	}
}

// other writes items of other programs, some of which have no type, in one request.
func (w *streamWriter) other(ctx context.Context) {
	w.t.Helper()
	var ops []table.Op
	for _, i := range w.r.Perm(streamEntities)[:8] {
		key := keys.Key{PK: "other", SK: keys.SK(fmt.Sprintf("#%d", i))}
		var was, is any
		if n := w.foreign[key]; n > 0 {
			was = n
		}
		if was != nil && w.r.IntN(4) == 0 {
			ops = append(ops, table.Delete(key))
			delete(w.foreign, key)
		} else {
			w.records++
			is = w.records // of no other write
			w.foreign[key] = w.records
			ops = append(ops, table.Put(key, note{N: w.records, Type: []string{"", "FOREIGN"}[i%2]}))
		}
		switch {
		case was == nil:
			w.want.add(key, stream.Insert, nil, is)
		case is == nil:
			w.want.add(key, stream.Remove, was, nil)
		default:
			w.want.add(key, stream.Modify, was, is)
		}
	}
	must(w.t, w.table.BatchWrite(ctx, ops...))
}

// backfill brings all customers to the present shape, which is no change.
func (w *streamWriter) backfill() {
	w.t.Helper()
	w.jobs++
	job := backfill.Job{Name: fmt.Sprint("customers ", w.jobs), Table: w.table, Entities: []backfill.Entity{w.present}, Segments: 2}
	report := expect.Value(job.Run(w.t.Context()))(w.t)
	equal(w.t, "set aside by the backfill", report.SetAside, 0)
	w.records += len(w.old) * itemsOfCustomer
	w.old = map[string]bool{}
}
