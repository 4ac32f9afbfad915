package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
)

// prepare checks the op and makes it ready.
func (t *Table) prepare(op *Op) (write, error) {
	w := write{op: op}
	if op.verb == "" {
		return w, fmt.Errorf("%w: it is the zero Op", errInvalidOp)
	}
	made, _ := op.value.(item.Made)
	if made.Err != nil {
		return w, fmt.Errorf("%w: %w", errInvalidOp, made.Err)
	}
	if err := t.checkKey(op.key); err != nil {
		return w, err
	}
	if op.verb != verbPut && op.verb != verbCreate {
		w.key = t.keyItem(op.key)
	} else if err := t.setItem(&w); err != nil {
		return w, err
	}
	err := w.buildExpressions()
	if err == nil && op.adds != nil && op.verb == verbUpdate {
		err = t.addTerms(&w)
	}
	if err == nil {
		err = t.require(&w)
	}
	if err == nil && (op.verb == verbUpdate || op.condition.IsSet()) {
		err = t.checkExpressions(&w)
	}
	return w, err
}

// setItem makes the item of a Put or Create, and checks it.
func (t *Table) setItem(w *write) (err error) {
	if w.item, err = encode(w.op.value); err != nil {
		return fmt.Errorf("%w: %w", errInvalidOp, err)
	}
	switch w.op.value.(type) {
	case item.Made: // which has its key, and an expiry that may be stored already
	case Item, map[string]types.AttributeValue: // as they are stored, maybe elsewhere
		t.setKey(w.item, w.op.key)
	default:
		if err := t.checkExpiry(w.item); err != nil {
			return fmt.Errorf("%w: %w", errInvalidOp, err)
		}
		t.setKey(w.item, w.op.key)
	}
	if w.op.adds != nil {
		if w.item, err = w.op.adds.addTo(w.item, t.schema.TypeAttribute); err != nil {
			return err
		}
	}
	w.size, err = t.checkAttributes(w.item)
	return err
}

// Written returns the item that a Put or Create among ops stores under a key, and none if there
// is none. It is for package idempotency alone.
func (t *Table) Written(key keys.Key, ops ...Op) item.Made {
	ops = merge(ops).ops
	i := slices.IndexFunc(ops, func(op Op) bool { return op.key == key && (op.verb == verbPut || op.verb == verbCreate) })
	if i < 0 {
		return item.Made{}
	}
	w := write{op: &ops[i]}
	if err := t.setItem(&w); err != nil {
		return item.Made{Err: err}
	}
	return item.Made{Item: w.item}
}

// checkAttributes returns the size of an item, and why DynamoDB would refuse to store it
// under a key that is right.
func (t *Table) checkAttributes(item Item) (size int, err error) {
	size, f := item.measure()
	if f == nil {
		f = cmp.Or(t.checkIndexKeys(item), t.vectorFault(item))
	}
	switch {
	case f != nil:
		return size, fmt.Errorf("%w: %w", errInvalidOp, f.err())
	case size > maxItemSize:
		return size, fmt.Errorf("%w: the item has %d bytes, DynamoDB takes %d", ErrTooLarge, size, maxItemSize)
	}
	return size, nil
}

// CheckItem reports why DynamoDB would refuse to store an item, which has its key
// attributes. It sends nothing. The checks are those of [Put].
//
// Errors: [ErrInvalid], [ErrTooLarge], and [keys.ErrInvalid] for the key.
func (t *Table) CheckItem(item Item) error {
	for _, a := range t.layouts[""].keys {
		if kind, _ := keyText(item[a.Name]); kind != a.Type {
			return fmt.Errorf("%w: attribute %q is a key of the table and must be of type %s", errInvalidOp, a.Name, a.Type)
		}
	}
	if err := t.checkKey(t.KeyOf("", item)); err != nil {
		return err
	}
	_, err := t.checkAttributes(item)
	return err
}

func (w *write) buildExpressions() error {
	if w.op.verb == verbCheck && !w.op.condition.IsSet() && w.op.guard == (guard{}) {
		return fmt.Errorf("%w: a Check without a condition", errInvalidOp)
	}
	changes, patches := w.op.value.(patch)
	adds := w.op.adds != nil
	if patches && (!adds || !changes.empty()) {
		if err := w.setPatch(changes); err != nil {
			return err
		}
	}
	builds := w.op.verb == verbUpdate && !patches
	if !builds && !w.op.condition.IsSet() {
		return nil
	}
	builder := expression.NewBuilder()
	if builds && adds {
		update, err := w.op.adds.updated(w.op.update)
		if err != nil {
			return err
		}
		builder = builder.WithUpdate(update)
	} else if builds {
		builder = builder.WithUpdate(w.op.update)
	}
	if w.op.condition.IsSet() {
		builder = builder.WithCondition(w.op.condition)
	}
	built, err := build(builder)
	if err != nil {
		return fmt.Errorf("%w: expression: %w", errInvalidOp, err)
	}
	w.condition = built.Condition()
	if builds {
		w.update = built.Update()
	}
	if w.names == nil {
		w.names, w.values = built.Names(), built.Values()
		return nil
	}
	maps.Copy(w.names, built.Names())
	if w.values == nil {
		w.values = built.Values()
	} else {
		maps.Copy(w.values, built.Values())
	}
	return nil
}

// checkExpressions returns why DynamoDB would refuse the write's expressions. It
// sets the size of what an update stores.
func (t *Table) checkExpressions(w *write) error {
	var err error
	if p, patches := w.op.value.(patch); patches && w.op.adds == nil {
		w.size, err = t.checkPatch(p, *w.update, w.key)
	} else if w.update != nil {
		var update formula
		if update, err = t.checkFormula(kindUpdate, *w.update, w.names, w.values); err == nil {
			w.size, err = t.checkUpdate(update, w.key)
		}
	}
	if twice, ok := errors.AsType[*overlapError](err); ok && w.op.adds.has(twice.attribute) {
		err = fmt.Errorf("%w: an op of the transaction counts in it, so list it in Counted of the entity that has it", err)
	}
	if err == nil && w.op.condition.IsSet() {
		_, err = t.checkFormula("condition", *w.condition, w.names, w.values)
	}
	if err == nil {
		err = checkSubstitutes(w.names, w.values)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalidOp, err)
	}
	if w.size > maxItemSize {
		return fmt.Errorf("%w: the update stores %d bytes at least, DynamoDB takes %d in an item", ErrTooLarge, w.size, maxItemSize)
	}
	return nil
}
