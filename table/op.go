package table

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
)

// Op is one write: what to do with the item under a key, on which condition. It
// is a value that can be built once and run by [Table.Do] alone, by
// [Table.Transact] together with others, and by [Table.BatchWrite] in bulk. It
// belongs to no table until then.
//
// The zero Op is [ErrInvalidOp]. An Op can be used from several goroutines as
// long as nobody changes the value that it was made of.
type Op struct {
	verb      string
	key       keys.Key
	name      string
	value     any
	update    expression.UpdateBuilder
	condition expression.ConditionBuilder
	version   versionCheck
}

// versionCheck is the condition that an item has a certain version, if it is
// set.
type versionCheck struct {
	set       bool
	attribute string
	want      int64
}

const (
	verbPut    = "Put"
	verbCreate = "Create"
	verbUpdate = "Update"
	verbDelete = "Delete"
	verbCheck  = "Check"
)

// Put stores v under the key and replaces what was there.
//
// v is a struct or map, or a pointer to one, that becomes attributes by the
// rules of the SDK's attributevalue package; an [Item]; or nil for an item that
// has nothing but its key. Key attributes in v are overwritten with the key's.
func Put(key keys.Key, v any) Op { return Op{verb: verbPut, key: key, value: v} }

// Create is [Put] on the condition that there is no item under the key, or an
// expired one. Otherwise it fails with [ErrExists].
func Create(key keys.Key, v any) Op { return Op{verb: verbCreate, key: key, value: v} }

// Update modifies attributes of the item under the key. If there is none, it
// makes one, as DynamoDB does; add a condition where that is not wanted. It
// works on what is stored, expired or not.
func Update(key keys.Key, update expression.UpdateBuilder) Op {
	return Op{verb: verbUpdate, key: key, update: update}
}

// Delete removes the item under the key. It is no error if there is none.
func Delete(key keys.Key) Op { return Op{verb: verbDelete, key: key} }

// Check writes nothing: it makes the transaction that it is part of depend on a
// condition about the item under the key.
func Check(key keys.Key, condition expression.ConditionBuilder) Op {
	return Op{verb: verbCheck, key: key, condition: condition}
}

// If returns the op with one condition more; all of them must hold. The zero
// condition always does.
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

// AtVersion returns the op with the condition that the number in that attribute
// of the stored item is version; a missing item, a missing attribute and an
// expired item have version 0. If the item has another version, the op fails
// with [ErrStale]. It does not write the attribute: that is for the op's own
// value or update to do.
func (o Op) AtVersion(attribute string, version int64) Op {
	o.version = versionCheck{set: true, attribute: attribute, want: version}
	return o
}

// Named returns the op with a name, by which errors speak of it.
func (o Op) Named(name string) Op {
	o.name = name
	return o
}

// Name returns the name given with [Op.Named].
func (o Op) Name() string { return o.name }

// Key returns the key of the item that the op is about.
func (o Op) Key() keys.Key { return o.key }

// write is an op made ready for one table.
type write struct {
	op   Op
	key  Item // key attributes; Put and Create have them in item
	item Item // the whole item, of Put and Create
	size int  // bytes of item
	// The expressions, as the API has them. Nil means none.
	condition *string
	update    *string
	names     map[string]string
	values    map[string]types.AttributeValue
}

// prepare checks the op and makes it ready.
func (t *Table) prepare(op Op) (write, error) {
	w := write{op: op}
	if op.verb == "" {
		return w, fmt.Errorf("%w: it is the zero Op", ErrInvalidOp)
	}
	if err := t.checkKey(op.key); err != nil {
		return w, err
	}
	if op.verb != verbPut && op.verb != verbCreate {
		w.key = t.keyItem(op.key)
	} else {
		item, err := encode(op.value)
		if err != nil {
			return w, fmt.Errorf("%w: value: %w", ErrInvalidOp, err)
		}
		t.setKey(item, op.key)
		w.item = item
		if w.size, err = item.measure(); err != nil {
			return w, fmt.Errorf("%w: value: %w", ErrInvalidOp, err)
		}
		if err := checkSize(w.size); err != nil {
			return w, err
		}
	}
	if err := w.buildExpressions(); err != nil {
		return w, err
	}
	if op.verb == verbCreate {
		t.requireAbsent(&w)
	}
	if op.version.set {
		if op.version.attribute == "" {
			return w, fmt.Errorf("%w: AtVersion without an attribute", ErrInvalidOp)
		}
		t.requireVersion(&w)
	}
	return w, nil
}

func (w *write) buildExpressions() error {
	if w.op.verb == verbCheck && !w.op.condition.IsSet() {
		return fmt.Errorf("%w: a Check without a condition", ErrInvalidOp)
	}
	if w.op.verb != verbUpdate && !w.op.condition.IsSet() {
		return nil
	}
	builder := expression.NewBuilder()
	if w.op.verb == verbUpdate {
		builder = builder.WithUpdate(w.op.update)
	}
	if w.op.condition.IsSet() {
		builder = builder.WithCondition(w.op.condition)
	}
	built, err := builder.Build()
	if err != nil {
		return fmt.Errorf("%w: expression: %w", ErrInvalidOp, err)
	}
	w.condition, w.update = built.Condition(), built.Update()
	w.names, w.values = built.Names(), built.Values()
	if err := sendable(w.names, w.values); err != nil {
		return fmt.Errorf("%w: expression: %w", ErrInvalidOp, err)
	}
	return nil
}

// sendable reports why the names and values of an expression cannot be sent as
// they are.
func sendable(names map[string]string, values Item) error {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("the name %q is not UTF-8", name)
		}
	}
	for placeholder, value := range values {
		if _, fault := measure(value); fault != "" {
			return fmt.Errorf("the value %s %s", placeholder, fault)
		}
	}
	return nil
}

// requireAbsent adds the condition of [Create].
func (t *Table) requireAbsent(w *write) {
	if t.schema.PK == defaultPK {
		// It is no reserved word. Without a placeholder the request is smaller
		// and takes no map.
		t.require(w, "attribute_not_exists("+defaultPK+")", orExpired)
		return
	}
	w.name("#pk", t.schema.PK)
	t.require(w, "attribute_not_exists(#pk)", orExpired)
}

// requireVersion adds the condition of [Op.AtVersion].
func (t *Table) requireVersion(w *write) {
	check := w.op.version
	w.name("#version", check.attribute)
	w.value(":version", &types.AttributeValueMemberN{Value: strconv.FormatInt(check.want, 10)})
	if check.want == 0 {
		t.require(w, "attribute_not_exists(#version) OR #version = :version", orExpired)
		return
	}
	t.require(w, "#version = :version", unlessExpired)
}

// An expired item counts as absent, which makes a condition true or false.
const (
	orExpired     = " OR #ttl BETWEEN :one AND :now"
	unlessExpired = " AND NOT #ttl BETWEEN :one AND :now"
)

// require adds a condition to those that the write has, and what it is for an
// expired item, by the same rule as [Table.expired]. Its placeholders are words,
// those of the expression package numbers, so they never meet.
func (t *Table) require(w *write, condition, expired string) {
	if t.schema.TTL != "" {
		condition += expired
		w.name("#ttl", t.schema.TTL)
		w.value(":one", &types.AttributeValueMemberN{Value: "1"})
		w.value(":now", &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Now().Unix(), 10)})
	}
	if w.condition != nil {
		condition = "(" + condition + ") AND (" + *w.condition + ")"
	}
	w.condition = &condition
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

// OpError says which of several operations an error is about.
type OpError struct {
	// Op is what it does: Put, Create, Update, Delete, Check, Get.
	Op string
	// Index is its place among the operations of the call, from 0.
	Index int
	// Name is the name given with [Op.Named]; often empty.
	Name string
	// Key is the key of its item. It is not part of the message.
	Key keys.Key
	// Old is the item that made a condition fail, where the engine returned it.
	Old Item
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
