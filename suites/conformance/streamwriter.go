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

// parcel is an entity with three copies, one of which not every parcel has. parcel0 is
// the same entity in an earlier release.
type parcel struct {
	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	Phone    string `dynamodbav:"phone,omitempty"`
	Depot    string `dynamodbav:"depot"`
	Text     string `dynamodbav:"text"`
	Grams    int    `dynamodbav:"grams"`
	Revision string `dynamodbav:"revision"`
}

type parcel0 struct {
	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	Phone    string `dynamodbav:"phone,omitempty"`
	Depot    string `dynamodbav:"depot"`
	Note     string `dynamodbav:"note"`
	Revision string `dynamodbav:"revision"`
}

// present is the parcel as the present release reads it.
func (p parcel0) present() parcel {
	return parcel{ID: p.ID, Email: p.Email, Phone: p.Phone, Depot: p.Depot, Text: p.Note, Grams: defaultGrams}
}

const defaultGrams = 500

func parcelKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("PARCEL").PK(id), SK: keys.Metadata}
}

func depotKey(depot, id string) keys.Key {
	return keys.Key{PK: keys.Prefix("DEPOT").PK(depot), SK: keys.Prefix("PARCEL").SK(keys.Str(id))}
}

var (
	parcel0Entity = repo.Entity[parcel0]{
		Type: "PARCEL", Version: "revision",
		Key: func(p parcel0) keys.Key { return parcelKey(p.ID) },
		Copies: []repo.Copy[parcel0]{
			{Key: func(p parcel0) keys.Key { return mailKey(p.Email) }},
			{Key: func(p parcel0) keys.Key { return phoneKey(p.Phone) }},
			{Key: func(p parcel0) keys.Key { return depotKey(p.Depot, p.ID) }},
		},
	}
	parcelEntity = repo.Entity[parcel]{
		Type: "PARCEL", Version: "revision",
		Upgrades: []repo.Upgrade{repo.Rename("note", "text"), repo.Default("grams", defaultGrams)},
		Key:      func(p parcel) keys.Key { return parcelKey(p.ID) },
		Indexes:  repo.Indexes[parcel]{"GSI1": func(p parcel) keys.Key { return depotKey(p.Depot, p.ID) }},
		Copies: []repo.Copy[parcel]{
			{Key: func(p parcel) keys.Key { return mailKey(p.Email) }},
			{Key: func(p parcel) keys.Key { return phoneKey(p.Phone) }},
			{Key: func(p parcel) keys.Key { return depotKey(p.Depot, p.ID) }},
		},
	}
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
	parcel0s *repo.Repo[parcel0]
	parcels  *repo.Repo[parcel]
	coupons  *repo.Repo[coupon]
	vouchers *repo.Repo[voucher]

	// stored are the parcels as they are, without revisions, and old those that are
	// stored in the shape of the earlier release. things are coupons and vouchers,
	// foreign the numbers of the items of other programs.
	stored  map[string]parcel
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
		stored: map[string]parcel{}, old: map[string]bool{}, things: map[string]any{}, foreign: map[keys.Key]int{},
	}
	w.table = h.newTableWith(t, w.client, streamed(), options())
	w.parcel0s, w.parcels = newRepo(t, w.table, parcel0Entity), newRepo(t, w.table, parcelEntity)
	w.coupons, w.vouchers = newRepo(t, w.table, couponEntity), newRepo(t, w.table, voucherEntity)
	return w
}

// router returns a router that adds all changes.
func (w *streamWriter) router(c *changes, concurrency int, other stream.Handler) *stream.Router {
	w.t.Helper()
	return expect.Value(stream.New(w.table, &stream.Options{Concurrency: concurrency},
		on(c, w.parcels, func(p parcel) any { p.Revision = ""; return p }),
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
		w.parcel(ctx, id)
	case n < 14:
		w.thing(ctx, id)
	default:
		w.other(ctx)
	}
}

// anyParcel draws the attributes of a parcel; those of copies are its own.
func (w *streamWriter) anyParcel(id string) parcel {
	p := parcel{
		ID: id, Email: fmt.Sprintf("%d-%s@x", w.r.IntN(3), id), Depot: fmt.Sprint(w.r.IntN(3)),
		Text: strings.Repeat("x", 1+w.r.IntN(50)), Grams: w.r.IntN(1000),
	}
	if w.r.IntN(2) == 0 {
		p.Phone = fmt.Sprintf("%d-%s", w.r.IntN(3), id)
	}
	return p
}

func (w *streamWriter) parcel(ctx context.Context, id string) {
	w.t.Helper()
	key, p := parcelKey(id), w.anyParcel(id)
	was, there := w.stored[id]
	switch n := w.r.IntN(10); {
	case !there && n < 4:
		v := parcel0{ID: id, Email: p.Email, Phone: p.Phone, Depot: p.Depot, Note: p.Text}
		must(w.t, w.parcel0s.Create(ctx, &v))
		w.old[id] = true
		w.becomes(id, v.present())
	case !there:
		v := p
		must(w.t, w.parcels.Create(ctx, &v))
		w.becomes(id, p)
	case n == 0:
		must(w.t, w.parcels.Delete(ctx, key))
		w.removed(id)
	case n == 1:
		w.expire(ctx, was)
	case n == 2: // nothing but a revision, and the upgrade
		must(w.t, expect.ErrOf(w.parcels.Update(ctx, key, func(*parcel) error { return nil })))
		delete(w.old, id)
		w.records += itemsOf(was)
	case n < 5 && w.old[id]:
		must(w.t, expect.ErrOf(w.parcel0s.Update(ctx, key, func(v *parcel0) error {
			v.Email, v.Phone, v.Depot, v.Note = p.Email, p.Phone, p.Depot, p.Text
			return nil
		})))
		p.Grams = defaultGrams
		w.becomes(id, p)
	default:
		must(w.t, expect.ErrOf(w.parcels.Update(ctx, key, func(v *parcel) error {
			p.Revision = v.Revision
			*v = p
			return nil
		})))
		p.Revision = ""
		delete(w.old, id)
		w.becomes(id, p)
	}
}

// becomes says what a parcel is now.
func (w *streamWriter) becomes(id string, p parcel) {
	was, there := w.stored[id]
	w.stored[id] = p
	w.records += itemsOf(p)
	switch {
	case !there:
		w.want.add(parcelKey(id), stream.Insert, nil, p)
	case was != p:
		w.want.add(parcelKey(id), stream.Modify, was, p)
	}
}

func (w *streamWriter) removed(id string) {
	w.want.add(parcelKey(id), stream.Remove, w.stored[id], nil)
	w.records += itemsOf(w.stored[id])
	delete(w.stored, id)
	delete(w.old, id)
}

// itemsOf returns how many items a parcel has.
func itemsOf(p parcel) int {
	if p.Phone == "" {
		return 3
	}
	return 4
}

// expire deletes a parcel as the expiry does, for the event that says so. In the stream
// of the engine it is a program that has deleted it.
func (w *streamWriter) expire(ctx context.Context, p parcel) {
	w.t.Helper()
	ks := []keys.Key{parcelKey(p.ID), mailKey(p.Email), depotKey(p.Depot, p.ID)}
	if p.Phone != "" {
		ks = append(ks, phoneKey(p.Phone))
	}
	event := expect.Value(streamtest.Expire(ctx, w.client, w.table, ks...))(w.t)
	response := expect.Value(w.router(&w.gone, 1, stream.IgnoreOther()).Handle(ctx, event))(w.t)
	must(w.t, response.Err)
	w.expired.add(parcelKey(p.ID), stream.Expire, p, nil)
	w.removed(p.ID)
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

// backfill brings all parcels to the present shape, which is no change.
func (w *streamWriter) backfill() {
	w.t.Helper()
	w.jobs++
	job := backfill.Job{Name: fmt.Sprint("parcels ", w.jobs), Table: w.table, Entities: []backfill.Entity{w.parcels}, Segments: 2}
	report := expect.Value(job.Run(w.t.Context()))(w.t)
	equal(w.t, "set aside by the backfill", report.SetAside, 0)
	for id := range w.old {
		w.records += itemsOf(w.stored[id])
	}
	w.old = map[string]bool{}
}
