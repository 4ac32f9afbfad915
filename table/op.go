package table

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
)

// Op is one write of the item under a key, with conditions. It is a value that
// can be built once. [Table.Do] runs it alone, [Table.Transact] together with
// others, and [Table.BatchWrite] in bulk. It belongs to no table until then.
//
// Running an op checks its values and expressions first, and sends nothing if
// DynamoDB would refuse them. The error is [ErrInvalid] and names the
// attribute, as in "items[3].price". Refused are:
//
//   - numbers that are not decimal, such as NaN, that have more than 38
//     significant digits, or a magnitude outside 1e-130 to 9.99e125;
//   - empty sets, and sets with duplicates: 1 and 1.0 are the same number;
//   - values nested more than 32 levels deep, and a NULL that is false;
//   - values that are nil, also the bytes of a binary; empty bytes are stored;
//   - names that are empty or longer than 64 KB, and text that is not UTF-8;
//   - attributes that are keys of the schema's indexes, if they are of another
//     type, empty or too long;
//   - an update of the table's own key attributes;
//   - expressions over 4 KB, with more than 300 operators, or with more than
//     2 MB of names and values, and BETWEEN with constant bounds that are
//     reversed.
//
// AWS: "Quotas in Amazon DynamoDB" and "Supported data types and naming rules in
// Amazon DynamoDB", Amazon DynamoDB Developer Guide.
//
// The zero Op is [ErrInvalid]. An Op is safe for concurrent use as long as the
// value that it was made from does not change.
type Op struct {
	verb      string
	key       keys.Key
	name      string
	value     any
	update    expression.UpdateBuilder
	condition expression.ConditionBuilder
	guard     guard
	next      successor
}

const (
	verbPut    = "Put"
	verbCreate = "Create"
	verbUpdate = "Update"
	verbDelete = "Delete"
	verbCheck  = "Check"
)

// Put stores v under the key and replaces a stored item.
//
// v is a struct or map, or a pointer to one, that becomes attributes by the
// rules of the SDK's attributevalue package; an [Item]; or nil for an item that
// has nothing but its key. Key attributes in v are overwritten with the key's.
func Put(key keys.Key, v any) Op { return Op{verb: verbPut, key: key, value: v} }

// Create is [Put] on the condition that the x under the key is missing or
// expired. Otherwise it fails with [ErrExists].
func Create(key keys.Key, v any) Op {
	return Op{verb: verbCreate, key: key, value: v, guard: guard{missing: true}}
}

// Update modifies attributes of one item and knows no entity: it writes no version
// or revision, no copies and no index keys. Update and Upsert of package repo
// change some attributes of an entity, and write these too.
//
// Update creates a missing item, as DynamoDB does; see [Op.IfExists]. It
// changes an expired item too.
func Update(key keys.Key, update expression.UpdateBuilder) Op {
	return Op{verb: verbUpdate, key: key, update: update}
}

// Delete removes the item under the key. A missing item is no error.
func Delete(key keys.Key) Op { return Op{verb: verbDelete, key: key} }

// Check writes nothing. Its transaction fails unless the condition holds for
// the item under the key. It costs two write units for each KB of the item. The zero condition is for a Check of the version
// alone, by [Op.IfVersion].
func Check(key keys.Key, condition expression.ConditionBuilder) Op {
	return Op{verb: verbCheck, key: key, condition: condition}
}

// If returns the op with one more condition. All conditions must hold. The zero
// condition always holds.
func (o Op) If(condition expression.ConditionBuilder) Op {
	switch {
	case !condition.IsSet():
	case o.condition.IsSet():
		o.condition = o.condition.And(condition)
	default:
		o.condition = condition
	}
	return o
}

// WithName returns the op with a name for errors.
func (o Op) WithName(name string) Op {
	o.name = name
	return o
}

// Verb returns what the op does: Put, Create, Update, Delete or Check. It is
// empty for the zero Op.
func (o Op) Verb() string { return o.verb }

// Name returns the name given with [Op.WithName].
func (o Op) Name() string { return o.name }

// Key returns the key of the item that the op is about.
func (o Op) Key() keys.Key { return o.key }

// write is an op made ready for one table.
type write struct {
	op   *Op
	key  Item // key attributes; Put and Create have them in item
	item Item // the whole item, of Put and Create
	size int  // bytes of the item; of an Update, the least that it can have
	// The expressions, as the API has them. Nil means none.
	condition *string
	update    *string
	names     map[string]string
	values    map[string]types.AttributeValue
}

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
	} else {
		if err := t.setItem(&w); err != nil {
			return w, err
		}
	}
	if err := w.buildExpressions(); err != nil {
		return w, err
	}
	if op.next.verb != "" {
		if err := w.addNext(op.next); err != nil {
			return w, err
		}
	}
	if err := t.require(&w); err != nil {
		return w, err
	}
	if op.verb == verbUpdate || op.condition.IsSet() {
		return w, t.checkExpressions(&w)
	}
	return w, nil
}

// setItem makes the item of a Put or Create, and checks it.
func (t *Table) setItem(w *write) error {
	f, err := t.encodeItem(w)
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalidOp, err)
	}
	return refusedItem(f, w.size)
}

// refusedItem returns why an item of a size, with a fault, cannot be stored.
func refusedItem(f *fault, size int) error {
	switch {
	case f != nil:
		return fmt.Errorf("%w: %w", errInvalidOp, f.err())
	case size > maxItemSize:
		return fmt.Errorf("%w: the item has %d bytes, DynamoDB takes %d", ErrTooLarge, size, maxItemSize)
	}
	return nil
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
	size, f := item.measure()
	if f == nil {
		f = t.checkIndexKeys(item)
	}
	return refusedItem(f, size)
}

func (t *Table) encodeItem(w *write) (*fault, error) {
	attributes, err := encode(w.op.value)
	if err != nil {
		return nil, err
	}
	if _, made := w.op.value.(item.Made); !made { // which has its key
		t.setKey(attributes, w.op.key)
	}
	size, f := attributes.measure()
	if f == nil {
		f = t.checkIndexKeys(attributes)
	}
	w.item, w.size = attributes, size
	return f, nil
}

func (w *write) buildExpressions() error {
	if w.op.verb == verbCheck && !w.op.condition.IsSet() && w.op.guard == (guard{}) {
		return fmt.Errorf("%w: a Check without a condition", errInvalidOp)
	}
	changes, patches := w.op.value.(patch)
	if patches {
		if err := w.setPatch(changes); err != nil {
			return err
		}
	}
	builds := w.op.verb == verbUpdate && !patches
	if !builds && !w.op.condition.IsSet() {
		return nil
	}
	builder := expression.NewBuilder()
	if builds {
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
	// A patch has placeholders of its own, which are not numbers.
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
	if p, patches := w.op.value.(patch); patches && w.op.next.verb == "" {
		w.size, err = t.checkPatch(p, *w.update, w.key)
	} else if w.update != nil {
		var update formula
		if update, err = checkFormula(kindUpdate, *w.update, w.names, w.values); err == nil {
			w.size, err = t.checkUpdate(update, w.key)
		}
	}
	if err == nil && w.op.condition.IsSet() {
		_, err = checkFormula("condition", *w.condition, w.names, w.values)
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

// partition returns the placeholder of the table's partition key, which every item
// has.
func (w *write) partition(s *schema.Table) string {
	if s.PK == "pk" {
		// It is no reserved word. Without a placeholder the request is smaller
		// and takes no map.
		return s.PK
	}
	w.name("#pk", s.PK)
	return "#pk"
}

func (w *write) name(placeholder, attribute string) {
	if w.names == nil {
		w.names = make(map[string]string, 2)
	}
	w.names[placeholder] = attribute
}

func (w *write) value(placeholder string, value types.AttributeValue) {
	if w.values == nil {
		w.values = make(map[string]types.AttributeValue, 2)
	}
	w.values[placeholder] = value
}

// OpError says which operation an error is about, of one that runs alone as of
// several.
type OpError struct {
	// Op is what it does: Put, Create, Update, Delete, Check, Get.
	Op string
	// Index is its place among the operations of the call, from 0; 0 if it runs alone.
	Index int
	// Name is the name given with [Op.WithName]; often empty.
	Name string
	// Key is the key of its item. It is not part of the message.
	Key keys.Key
	// Stored is the item that made a condition fail, where the engine returned it and
	// no middleware has to decrypt it: see [Options].ReadOnlyMiddleware.
	Stored Item
	// Err is the cause; never nil.
	Err error
}

func opError(i int, op Op, err error) *OpError {
	return &OpError{Op: op.verb, Index: i, Name: op.name, Key: op.key, Err: err}
}

// Error names the operation and the cause, without key values.
func (e *OpError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("op %d (%s): %v", e.Index, e.Op, e.Err)
	}
	return fmt.Sprintf("op %d (%s %q): %v", e.Index, e.Op, e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }
