package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
)

// Op is one write of the item under a key, with conditions. It is a value that
// can be built once. [Table.Do] runs it alone, [Table.Transact] together with
// others, and [Table.BatchWrite] in bulk. It belongs to no table until then.
//
// Running an op checks its values and expressions first, and sends nothing if
// DynamoDB would refuse them. The error is [ErrInvalid] and names the
// attribute, as in "items[3].price". Refused are:
//
//   - Go values that would read back as other ones, such as structs without exported
//     fields, of which attributevalue stores an empty map; types that make their own
//     attributes are taken at their word;
//   - numbers that are not decimal, such as NaN, that have more than 38
//     significant digits, or a magnitude outside 1e-130 to 9.99e125;
//   - empty sets, and sets with duplicates: 1 and 1.0 are the same number;
//   - values nested more than 32 levels deep, and a NULL that is false;
//   - values that are nil, also the bytes of a binary; empty bytes are stored;
//   - names that are empty or longer than 64 KB, and text that is not UTF-8;
//   - attributes that are keys of the schema's indexes, if they are of another
//     type, empty or too long;
//   - an expiry after the year 9999, such as one in milliseconds; an [Item] may have it, since
//     it may be a copy of a stored one;
//   - an update of the table's own key attributes;
//   - expressions over 4 KB, with more than 300 operators, or with more than
//     2 MB of names and values, and BETWEEN with constant bounds that are
//     reversed;
//   - constants that an operator does not take, such as text or a list in ADD and
//     booleans in <; the same path on both sides of an operator; parts of a key; and
//     two clauses of an update about one attribute, or about it and a part of it.
//
// AWS: "Constraints in Amazon DynamoDB", "Supported data types and naming rules in Amazon
// DynamoDB" and "Managing Global Secondary Indexes in DynamoDB", Amazon DynamoDB
// Developer Guide. Seen: nubo-db/dynamodb-conformance, limits/emptyValues.test.ts,
// limits/numberPrecision.test.ts; paritysuite/dynamodb-conformance,
// error-messages/putItem.test.ts, limits/nestingDepth.test.ts,
// limits/expressionSize.test.ts.
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
	expects   *item.Guard // by conditions of package repo; nil for none
	guard     guard
	adds      *additions
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

// Create is [Put] on the condition that the item under the key is missing or
// expired. Otherwise it fails with [ErrExists].
func Create(key keys.Key, v any) Op {
	return Op{verb: verbCreate, key: key, value: v, guard: guard{missing: true}}
}

// Update creates the item under the key if it is missing, without a type, or modifies its
// attributes. Reads of a type, and deletions of the partition, then fail with [ErrWrongType].
// So begin with [Op.IfExists]. An update that may create its item sets the type attribute,
// too. An expired item is changed as it is.
//
// Update knows no entity: it writes no version or revision, no copies and no index keys.
// A repository does not notice it, so a Save of a value that was read before takes it back: an
// ADD of 1 is 0 again. For entities, use Patch, PatchOps and Upsert of package repo, which check
// the item and write the version.
func Update(key keys.Key, update expression.UpdateBuilder) Op {
	return Op{verb: verbUpdate, key: key, update: update}
}

// Delete removes the item under the key. A missing item is no error.
func Delete(key keys.Key) Op { return Op{verb: verbDelete, key: key} }

// Check writes nothing. Its transaction fails unless the condition holds for
// the item under the key. It costs two write units for each KB of the item. The zero
// condition is for a Check of the version alone, by [Op.IfVersion]. AWS: "Amazon DynamoDB
// Transactions: How it works", Amazon DynamoDB Developer Guide.
func Check(key keys.Key, condition expression.ConditionBuilder) Op {
	return Op{verb: verbCheck, key: key, condition: condition}
}

// CheckMissing is a [Check] that the item under the key is missing or expired. Otherwise its
// transaction fails with [ErrExists]. It costs two write units for each KB of the item, and
// two if there is no item. AWS: "Amazon DynamoDB Transactions: How it works", Amazon
// DynamoDB Developer Guide.
func CheckMissing(key keys.Key) Op {
	return Op{verb: verbCheck, key: key, guard: guard{missing: true}}
}

// CheckExists is a [Check] that there is a live item under the key. Otherwise its transaction
// fails with [ErrNotFound]. It costs two write units for each KB of the item, and two if there
// is no item. AWS: "Amazon DynamoDB Transactions: How it works", Amazon DynamoDB
// Developer Guide.
func CheckExists(key keys.Key) Op {
	return Op{verb: verbCheck, key: key, guard: guard{exists: true}}
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

// opError returns the error of the ith op of several, from 0.
func opError(i int, op Op, err error) *Error {
	return &Error{Op: op.verb, OpNumber: i + 1, Name: op.name, Key: op.key, Err: err}
}

// getError returns the error of the ith read of several.
func getError(i int, key keys.Key, err error) *Error {
	return &Error{Op: "Get", OpNumber: i + 1, Key: key, Err: err}
}

// write is an op made ready for one table.
type write struct {
	op   *Op
	key  Item // key attributes; Put and Create have them in item
	item Item // the whole item, of Put and Create
	size int  // bytes of the item; of an Update, the least that it can have
	from int  // the position of the op among those of its transaction, from 0
	// The expressions, as the API has them. Nil means none.
	condition *string
	update    *string
	bindings
}

// patch is the update of a [Patch] op.
type patch struct {
	set    Item
	remove []string
}

// Patch creates the item under the key if it is missing, without a type, or sets and removes
// attributes of it, by their names. It is an [Update]: begin with [Op.IfExists]. It knows no
// entity, as PatchOps of package repo does.
// It needs no expression builder: a dot in a name is a dot, and no part of a path.
func Patch(key keys.Key, set Item, remove ...string) Op {
	return Op{verb: verbUpdate, key: key, value: patch{set, remove}}
}

// setPatch makes the update expression of a patch.
func (w *write) setPatch(p patch) error {
	if p.empty() {
		return fmt.Errorf("%w: a Patch without attributes", errInvalidOp)
	}
	w.names = make(map[string]string, len(p.set)+len(p.remove)+2)
	if len(p.set) > 0 {
		w.values = make(Item, len(p.set)+2)
	}
	var b strings.Builder
	b.Grow(len("SET REMOVE ") + len(p.set)*len("#s0 = :s0, ") + len(p.remove)*len("#r0, "))
	for i, name := range p.names() {
		placeholder, value := numbered(&setNames, "#s", i), numbered(&setValues, ":s", i)
		b.WriteString(clause(i, "SET "))
		b.WriteString(placeholder)
		b.WriteString(" = ")
		b.WriteString(value)
		w.names[placeholder], w.values[value] = name, p.set[name]
	}
	for i, name := range p.removed() {
		placeholder := numbered(&removedNames, "#r", i)
		if _, both := p.set[name]; both {
			return fmt.Errorf("%w: attribute %q is both set and removed", errInvalidOp, name)
		}
		if i == 0 && b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(clause(i, "REMOVE "))
		b.WriteString(placeholder)
		w.names[placeholder] = name
	}
	text := b.String()
	w.update = &text
	return nil
}

func (p patch) empty() bool { return len(p.set) == 0 && len(p.remove) == 0 }

// names returns the attributes that are set, sorted.
func (p patch) names() []string {
	names := make([]string, 0, len(p.set))
	for name := range p.set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// removed returns the attributes that are removed, sorted, each once.
func (p patch) removed() []string {
	if len(p.remove) < 2 {
		return p.remove
	}
	return slices.Compact(slices.Sorted(slices.Values(p.remove)))
}

// The first placeholders of a patch.
var (
	setNames     = [...]string{"#s0", "#s1", "#s2", "#s3", "#s4", "#s5", "#s6", "#s7"}
	setValues    = [...]string{":s0", ":s1", ":s2", ":s3", ":s4", ":s5", ":s6", ":s7"}
	removedNames = [...]string{"#r0", "#r1", "#r2", "#r3", "#r4", "#r5", "#r6", "#r7"}
)

func numbered(first *[8]string, prefix string, i int) string {
	if i < len(first) {
		return first[i]
	}
	return prefix + strconv.Itoa(i)
}

// checkPatch returns why DynamoDB would refuse a patch, and otherwise the least
// size that the patched item can have. It is [Table.checkUpdate] for an expression
// that need not be parsed.
func (t *Table) checkPatch(p patch, text string, key Item) (size int, err error) {
	if err := checkLength(kindUpdate, text); err != nil {
		return 0, err
	}
	for _, name := range []string{t.schema.PK, t.schema.SK} {
		if _, set := p.set[name]; set || slices.Contains(p.remove, name) {
			return 0, errKeyUpdated(name)
		}
	}
	if err := t.checkExpiry(p.set); err != nil {
		return 0, err
	}
	size, f := p.set.measure()
	if f == nil {
		f = cmp.Or(t.checkIndexKeys(p.set), t.vectorsFault(p.set), t.patchFault(
			func(name string) bool { return p.set[name] != nil },
			func(name string) bool { return slices.Contains(p.remove, name) }))
	}
	return size + key.Size(), f.err()
}

// clause returns what stands before the ith part of a clause.
func clause(i int, verb string) string {
	if i == 0 {
		return verb
	}
	return ", "
}
