package workload

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// written is one op as the library takes it and as the model sees it.
type written struct {
	op   table.Op
	key  keys.Key
	item table.Item // what it leaves behind; the item as it is if it is refused
	want []error
	wary bool
}

// anyOp draws an op on a key. plain ones have no conditions and no updates.
func (w *worker) anyOp(key keys.Key, plain bool) written {
	kinds := 8
	if plain {
		kinds = 2
	}
	switch w.r.IntN(kinds) {
	case 0:
		d := w.doc(key)
		return written{op: table.Put(key, d), key: key, item: encode(d)}
	case 1:
		return written{op: table.Delete(key), key: key}
	case 2:
		return w.create(key)
	case 3:
		return w.conditional(key, table.Put(key, w.doc(key)), encode(w.doc(key)))
	case 4:
		return w.conditional(key, table.Delete(key), nil)
	case 5:
		return w.versioned(key)
	case 6:
		return w.set(key)
	default:
		return w.add(key)
	}
}

func (w *worker) create(key keys.Key) written {
	d := w.doc(key)
	x := written{op: table.Create(key, d), key: key, item: encode(d)}
	if _, live := w.model.live(w.clock, key); live {
		x.item, x.want, x.wary = w.model[key], []error{table.ErrExists}, true
	}
	return x
}

// conditional is an op on the condition that n has a certain value.
func (w *worker) conditional(key keys.Key, op table.Op, item table.Item) written {
	if item != nil { // the op's own value, not one that was drawn beside it
		d := w.doc(key)
		op, item = table.Put(key, d), encode(d)
	}
	n := 1 + w.r.Int64N(3)
	x := written{op: op.If(expression.Name("n").Equal(expression.Value(n))), key: key, item: item, wary: true}
	if stored := w.model[key]; stored == nil || decode[doc](stored).N != n {
		x.item, x.want = stored, []error{table.ErrConditionFailed}
	}
	return x
}

// versioned is a put over a certain version.
func (w *worker) versioned(key keys.Key) written {
	d, version := w.doc(key), w.r.Int64N(3)
	d.Version = version + 1
	x := written{op: table.Put(key, d).IfVersion("version", version), key: key, item: encode(d), wary: true}
	stored, live := w.model.live(w.clock, key)
	if !live {
		stored.Version = 0
	}
	if stored.Version != version {
		x.item, x.want = w.model[key], []error{table.ErrConflict}
	}
	return x
}

// set is an update that can be executed twice.
func (w *worker) set(key keys.Key) written {
	d := w.stored(key)
	d.N, d.Color, d.By = 1+w.r.Int64N(5), colors[w.r.IntN(len(colors))], w.by
	update := expression.Set(expression.Name("n"), expression.Value(d.N)).
		Set(expression.Name("color"), expression.Value(d.Color)).
		Set(expression.Name("by"), expression.Value(d.By)).
		Remove(expression.Name("pad"))
	d.Pad = ""
	return written{op: table.Update(key, update), key: key, item: encode(d)}
}

// add is an update that cannot.
func (w *worker) add(key keys.Key) written {
	d, by := w.stored(key), 1+w.r.Int64N(3)
	d.N += by
	return written{
		op: table.Update(key, expression.Add(expression.Name("n"), expression.Value(by))), key: key,
		item: encode(d), wary: true,
	}
}

// stored returns the item under a key as it is stored, or one that has nothing
// but the key.
func (w *worker) stored(key keys.Key) doc {
	if item := w.model[key]; item != nil {
		return decode[doc](item)
	}
	return doc{PK: key.PK, SK: key.SK}
}

// expired returns the promise about an item under a key that has expired, if it has.
func (w *worker) expired(key keys.Key) []report.Promise {
	if _, live := w.model.live(w.clock, key); !live && w.model[key] != nil {
		return []report.Promise{report.Expired}
	}
	return nil
}

// one is a single op.
func (w *worker) one() operation {
	key := w.anyKey()
	x := w.anyOp(key, false)
	return operation{
		name: "Do", about: w.expired(key),
		run:  func(ctx context.Context) error { return w.table.Do(ctx, x.op) },
		want: x.want, after: state{key: x.item}, wary: x.wary,
	}
}

// transact is a transaction of several ops.
func (w *worker) transact() operation {
	n := 1 + w.r.IntN(5)
	if w.r.IntN(8) == 0 {
		n = 1 + w.r.IntN(100)
	}
	var ops []table.Op
	s := operation{name: "Transact", after: state{}}
	for i, key := range w.anyKeys(n) {
		x := w.anyOp(key, i > 2) // or hardly one of many would ever succeed
		if i > 0 && w.r.IntN(4) == 0 {
			x = w.guard(key)
		}
		ops = append(ops, x.op)
		s.after[key] = x.item
		s.want = append(s.want, x.want...)
	}
	s.run = func(ctx context.Context) error { return w.table.Transact(ctx, ops...) }
	if s.want != nil {
		w.unchanged(s)
	}
	return s
}

// guard is a check in a transaction with other ops.
func (w *worker) guard(key keys.Key) written {
	x := written{key: key, item: w.model[key]}
	condition := expression.Name("n").AttributeExists()
	if d := w.stored(key); d.N == 0 {
		condition = expression.Name("n").AttributeNotExists()
	}
	if w.r.IntN(6) == 0 {
		condition, x.want = expression.Name("n").Equal(expression.Value(-1)), []error{table.ErrConditionFailed}
	}
	x.op = table.Check(key, condition)
	return x
}

// unchanged makes an operation expect that nothing changes.
func (w *worker) unchanged(s operation) {
	for k := range s.after {
		s.after[k] = w.model[k]
	}
}

// checkOnly is a check by itself.
func (w *worker) checkOnly() operation {
	x := w.guard(w.anyKey())
	return operation{
		name: "Do of a Check", want: x.want, after: state{x.key: x.item},
		run: func(ctx context.Context) error { return w.table.Do(ctx, x.op) },
	}
}

// transactPut creates several items.
func (w *worker) transactPut() operation {
	s := operation{name: "Transact of creates", after: state{}}
	var ops []table.Op
	for _, key := range w.anyKeys(1 + w.r.IntN(4)) {
		x := w.create(key)
		d := w.doc(key)
		ops = append(ops, table.Create(key, d))
		s.after[key] = encode(d)
		s.want = append(s.want, x.want...)
	}
	if s.want != nil {
		w.unchanged(s)
	}
	s.run = func(ctx context.Context) error { return w.table.Transact(ctx, ops...) }
	return s
}

// batchWrite puts and deletes in bulk.
func (w *worker) batchWrite() operation {
	s := operation{name: "BatchWrite", after: state{}, each: true}
	var ops []table.Op
	for _, key := range w.anyKeys(1 + w.r.IntN(60)) {
		x := w.anyOp(key, true)
		ops = append(ops, x.op)
		s.after[key] = x.item
	}
	s.run = func(ctx context.Context) error { return w.table.BatchWrite(ctx, ops...) }
	return s
}
