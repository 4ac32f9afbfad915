package repo

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Counter is a number in another item, the owner, that every write of an entity keeps exact, in
// its own transaction: how many lines an order has, how many seats are taken, the sum of the
// amounts. So a list shows numbers without reading what it counts, and the last seat is sold
// once. The owner's entity names the attribute in Counted.
//
// An entity that was counted has a mark: by counter, the owner's key and type, the attribute and
// the amount. What a write subtracts is read from the mark, never computed. So each number is the
// sum of the marks that point to it, also while an older release moves an entity or changes its
// amount. Only a write that changes what is counted touches the number. What has no mark, as older
// releases store it, is counted by its first such change, by [Repo.Refresh] or by package
// backfill, unless its owner is missing; deleting it subtracts nothing. Refresh, backfill and
// Uncount know no bounds. DeleteAll ends where a deletion meets Min.
//
// The number belongs to the owner's main key, which cannot change: create another owner, move
// what it counts, and delete it. An owner that is read by a copy's key shows 0, and a Key that is
// a copy's counts in the copy. No write of the owner touches the number, and Create and Save leave
// in v what the caller has put there. Counting does not change the owner's version: a Save of an
// older value undoes no count, and an ETag of the version does not tell two numbers apart.
//
// A transaction has one op for an owner, whatever its ops count there, and what else they do to
// it: CreateOps of an order with those of its lines, or DeleteOps with CreateOps in a full one.
// Bounds hold for the sum. DeleteOps, and UpdateOps that change what is counted, expect the mark
// that the value gives, or are [table.ErrStale]: use Delete and Update until a backfill has run,
// and while releases with another Key or Amount do. PatchOps, Patch and Upsert of an entity that
// counts are refused.
//
// Errors of a write, reported only if nothing else failed, such as a Create that has the last seat
// already ([table.ErrExists]) or a CheckExists of the owner ([table.ErrNotFound]); but ErrLimit
// hides a condition that an op of yours has on the owner:
//   - [table.ErrLimit]: the number would pass Max or Min.
//   - [table.ErrUncounted]: the owner is missing or expired, or of another type. Delete, DeleteAll
//     and an Update of the amount succeed: there is nothing to subtract from. DeleteOps and
//     UpdateOps do not. Or the attribute is NULL or text: remove it from the item.
//
// [table.FailedOp] finds both by the entity's type and the counter's name: "TICKET seats".
//
// # Expiry
//
// An entity that expires counts until it is uncounted: TTL deletes within days, and subtracts
// nothing. Run [Repo.Uncount] in a sweeper, or [Repo.UncountOps] in a handler of the stream. A
// Create, or Save of a new value, over an expired entity of any type takes back what that counts.
// CreateOps, and an Update that moves a key there, are [table.ErrConditionFailed]: Uncount it
// first. AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
//
// # What is not exact
//
// These leave a number that is wrong until a backfill counts it under another Name in another
// Attribute, a new one: what an attribute has is added to.
//   - programs that know no counters and delete the entity, or replace its items as a whole. All
//     programs that write it need the same Counters; one that only creates or updates is
//     followed by a backfill;
//   - an owner, Alone or not, that is deleted or expires, and is re-created under its key: it
//     begins at 0, and what it counted before subtracts. Delete it only if it counts nothing:
//     ops[0].If(table.If("attribute_not_exists(lines) OR lines = ?", 0)) of its DeleteOps;
//   - an entity without Counters that is stored over an expired one that counts: give it some,
//     which may count nowhere;
//   - an expiry that is extended by a program whose clock is behind;
//   - writes in two Regions of a global table, writes by package table, and restores of a part.
//
// # Costs
//
// A write that counts is a transaction: two write units for each KB of the owner and of the
// entity, and as much for each index that has the owner's number. A Create of 1 KB with an owner
// of 1 KB takes 4 units instead of 1, and one request as before. Other writes cost what they
// cost without. One owner takes about 100 writes a second, as any item in transactions, and more
// wait and end with [table.ErrConflict]. Beyond that, count in several items: let Key choose one
// of ten by a hash, and add up. AWS: "Amazon DynamoDB Transactions: How it works", Amazon
// DynamoDB Developer Guide.
type Counter[T any] struct {
	// Name tells the counter from others of the entity, in marks and in errors. A counter of
	// another name counts from 0.
	Name string
	// Key gives the key of the owner. The zero key counts nowhere.
	Key func(T) keys.Key
	// Owner is the type of the owner. It must be there, or the write is [table.ErrUncounted].
	Owner string
	// Alone means that counting creates the owner, with the type, the attribute and nothing
	// else, not the fields that its Key reads: without these, its repository can only Get it.
	// Create it first to do more. It has no expiry and no Upgrades.
	Alone bool
	// Attribute is the owner's attribute that has the number.
	Attribute string
	// Amount is what an entity counts; nil means 1. An amount of 0 is not counted.
	Amount func(T) int64
	// Min and Max bound the number. Max is checked by writes that add, and Min by those that
	// subtract, so that a number beyond a bound can return. Nil bounds amounts above 2^24 by
	// ±2^62, so that an int64 holds the number.
	Min, Max *int64
}

// amount returns what v is counted as, if it is.
func (x *Counter[T]) amount(v T) (is count, counted bool) {
	is = count{owner: x.Owner, attribute: x.Attribute, n: 1, key: x.Key(v)}
	if x.Amount != nil {
		is.n = x.Amount(v)
	}
	return is, is.n != 0 && is.key != (keys.Key{})
}

// countsOf returns what v is to be counted as. The error says why it cannot be.
func (c *core) countsOf(v any) (all counts, err error) {
	if len(c.entity.Counters) == 0 {
		return nil, nil
	}
	all = counts{}
	for i := range c.entity.Counters {
		x := &c.entity.Counters[i]
		is, counted := x.amount(v)
		switch {
		case !counted:
			continue
		//mutants:guard an amount can be subtracted | TestAmountsThatCannotBeCounted
		case is.n == math.MinInt64:
			err = fmt.Errorf("%w: counter %q of %s: amount %d has no negative", table.ErrInvalid, x.Name, c.entity.Type, is.n)
		case all.contest(is):
			err = fmt.Errorf("%w: counter %q of %s counts in the item of another one, with another Owner", table.ErrInvalid, x.Name, c.entity.Type)
		}
		all[x.Name] = is
	}
	return all, err
}

// counterNamed returns the counter of a name; a zero one for that of another release.
func (c *core) counterNamed(name string) *Counter[any] {
	for i := range c.entity.Counters {
		if c.entity.Counters[i].Name == name {
			return &c.entity.Counters[i]
		}
	}
	return &Counter[any]{}
}

// countSteps returns the steps that count what is, and take back what was counted of the entity,
// and of others that it replaces: one for each owner.
func (c *core) countSteps(now counts, bounded bool, was ...counts) (steps []step) {
	add := func(name string, is count, n int64, begins bool) {
		x := c.counterNamed(name)
		t := item.Term{Counter: c.entity.Type + " " + name, Attribute: is.attribute, N: n}
		if bounded {
			t.Min, t.Max = x.Min, x.Max
		}
		//mutants:guard amounts of two types are not added by one step | TestMarkOfTwoTypes | s.key == is.key && s.adds.Type == is.owner => s.key == is.key
		i := slices.IndexFunc(steps, func(s step) bool { return s.key == is.key && s.adds.Type == is.owner })
		if i < 0 {
			i = len(steps)
			//mutants:guard an amount is taken back with the type that it was counted with | TestTakeBackMeetsAnotherType | Type: is.owner => Type: x.Owner
			steps = append(steps, step{verb: tally, key: is.key, name: t.Counter, adds: &item.Addition{Type: is.owner, Creates: true}})
		}
		s := steps[i].adds
		s.Terms = append(s.Terms, t)
		//mutants:guard an owner that lost what it counted is not created below zero | TestCounterAlone | && begins =>
		s.Creates = s.Creates && x.Alone && begins
		s.Counts = s.Counts || begins
	}
	goesOn := map[string]bool{}
	for _, former := range was {
		for _, name := range slices.Sorted(maps.Keys(former)) {
			before, after := former[name], now[name]
			//mutants:guard what counts now tells that the former type is gone | TestTakeBackMeetsAnotherType
			if now.contest(before) {
				continue // it is gone, or what counts now fails
			}
			add(name, before, -before.n, false)
			after.n = before.n
			goesOn[name] = goesOn[name] || after == before
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		add(name, now[name], now[name].n, !goesOn[name])
	}
	return steps
}

// checkCounts reports an entity that counts in one of its own items.
func (c *core) checkCounts(now counts, own []keys.Key) error {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if slices.Contains(own, now[name].key) {
			return fmt.Errorf("%w: counter %q of %s counts in an item of the entity itself", table.ErrInvalid, name, c.entity.Type)
		}
	}
	return nil
}

// saveCounts plans what counting v takes, and adds the mark to the changes of every item.
func (p *planner) saveCounts(d diff) (diff, error) {
	if len(p.entity.Counters) == 0 {
		return d, nil
	}
	wanted, err := p.countsOf(p.v)
	if err != nil {
		return d, err
	}
	was := p.countsIn(p.was.extra)
	before, _ := p.countsOf(p.was.v)
	now := maps.Clone(was) // those of other releases stay
	for i := range p.entity.Counters {
		x := &p.entity.Counters[i]
		is, counted := wanted[x.Name]
		//mutants:guard a write that does not change what is counted meets no bound | TestCountersAdopt
		if !p.exact && before[x.Name] == is {
			continue
		}
		delete(now, x.Name)
		//mutants:guard a refresh counts nothing in an owner that is missing | TestCountersAdopt | p.exact && was[x.Name] != is => false
		gone := counted && p.isGone(is, p.exact && was[x.Name] != is)
		switch {
		case !counted:
		case !gone, x.Alone && p.old.seen[is.key] == nil:
			now[x.Name] = is
		case !p.exact && was[x.Name].key != is.key:
			return d, p.failedAt(is.key, p.entity.Type+" "+x.Name, table.ErrUncounted)
		}
	}
	taken := p.taken(was, now)
	//mutants:guard an entity that moves takes its mark along | TestMovedEntitiesAreCounted | && (len(now) == 0 || p.countedOf(p.was.extra) == p.keys[0]) =>
	if maps.Equal(was, now) && (len(now) == 0 || p.countedOf(p.was.extra) == p.keys[0]) {
		return d, nil
	}
	if err := p.checkCounts(now, p.keys); err != nil {
		return d, err
	}
	mark, err := p.mark(p.keys[0], now)
	if err != nil {
		return d, err
	}
	change := diff{set: table.Item{}, remove: []string{item.Counted}}
	if mark != nil {
		change = diff{set: table.Item{item.Counted: mark}}
	}
	p.differs = true
	p.fields = p.fields.over(change)
	p.marked = p.markAsRead()
	maps.DeleteFunc(now, func(name string, is count) bool { return was[name] == is })
	p.tallies = p.countSteps(now, !p.exact, taken)
	return d.over(change), nil
}

// taken returns those of the counts that change, and that there is something to take back of:
// their owner is there.
func (p *planner) taken(was, now counts) counts {
	taken := counts{}
	for name, is := range was {
		//mutants:guard of two types that an item had, the present one is read | TestTakeBackMeetsAnotherType | || was.contest(is) =>
		if now[name] != is && !p.isGone(is, p.exact || was.contest(is)) {
			taken[name] = is
		}
	}
	return taken
}

// isGone reports whether nothing counts under a key any more, as far as that was read. An owner
// that was not read is taken to be there, unless it must be read, or a failed attempt doubts it.
func (p *planner) isGone(is count, must bool) bool {
	if owner, read := p.old.seen[is.key]; read {
		return !p.countsAs(owner, is)
	}
	if (must || p.old.doubts[is.key]) && !slices.Contains(p.need, is.key) {
		p.need = append(p.need, is.key)
	}
	return false
}

// countsAs reports whether an item, nil if it is missing, is the owner of a count.
func (c *core) countsAs(owner table.Item, is count) bool {
	return owner != nil && item.Text(owner[c.schema.TypeAttribute]) == is.owner
}

// removeCounts plans that what was counted is taken back.
func (p *planner) removeCounts() {
	if len(p.entity.Counters) > 0 {
		was := p.countsIn(p.was.extra)
		p.steps = append(p.steps, p.countSteps(nil, true, p.taken(was, nil))...)
	}
}

// markAsRead returns the mark that a step of the main item expects, if the stamp does not tell:
// another life of the entity can have the same version, and a value has no mark.
func (p *planner) markAsRead() table.Item {
	//mutants:guard what is subtracted is of the same life | TestCounterOfAnotherLife | p.unread == nil && p.identifies(p.was.stamp) => p.unread == nil
	if len(p.entity.Counters) == 0 || p.unread == nil && p.identifies(p.was.stamp) {
		return nil
	}
	return table.Item{item.Counted: p.was.extra[item.Counted]}
}

// ifSame returns the op with the condition that attributes are as they were read; nil means that
// one is missing.
func ifSame(op table.Op, attributes table.Item) table.Op {
	if len(attributes) == 0 {
		return op // without an iterator, which allocates
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		same := item.Name(name).AttributeNotExists()
		if value := attributes[name]; value != nil {
			same = item.Name(name).Equal(expression.Value(value))
		}
		op = op.If(same)
	}
	return op
}

// numbersIn returns the numbers of an item that is replaced as a whole, which expects them to be
// as they were read: the stamp does not change with them.
func (c *core) numbersIn(raw item.Raw) table.Item {
	if len(c.entity.Counted) == 0 {
		return nil
	}
	has := raw.Attributes(func(name []byte) bool { return slices.Contains(c.entity.Counted, string(name)) })
	all := make(table.Item, len(c.entity.Counted))
	for _, name := range c.entity.Counted {
		all[name] = has[name]
	}
	return all
}

var errCountedMoves = fmt.Errorf("%w: others count in it, so its main key cannot change: create another one, move what counts, and delete it", errInvalidEntity)

// counterProblems adds what is wrong with the counters of an entity, and with what others count
// in it.
func (e *description) counterProblems(p *problems, spec schema.Table, fields []string, known bool) {
	if len(e.Counters)+len(e.Counted) == 0 {
		return
	}
	if e.Version == "" {
		p.add("Counters, Counted: need a Version, or the numbers would drift")
	}
	if !known {
		p.add("Counters, Counted: %v has no fields, or makes its attributes itself", e.typ)
	}
	if slices.Contains(fields, item.Counted) {
		p.add("Counters: T has a field for attribute %q, which says what was counted", item.Counted)
	}
	named := map[string]bool{}
	for i, x := range e.Counters {
		switch {
		case x.Name == "" || x.Key == nil || x.Attribute == "" || x.Owner == "":
			p.add("Counters[%d]: Name, Key, Owner and Attribute are required", i)
		case !fits(x.Name) || !fits(x.Attribute) || !fits(x.Owner):
			p.add("Counters[%d]: Name, Owner and Attribute must be UTF-8, and have at most %d bytes", i, maxCounterName)
		case x.Owner == e.Type && !slices.Contains(e.Counted, x.Attribute):
			p.add("Counters[%d]: Owner is the entity itself, whose Counted has no %q", i, x.Attribute)
		case named[x.Name]:
			p.add("Counters[%d]: another one is named %q", i, x.Name)
		case x.Attribute == item.Counted || slices.Contains(attributesOf(spec), x.Attribute):
			p.add("Counters[%d]: attribute %q has another use", i, x.Attribute)
		case x.Min != nil && x.Max != nil && *x.Min > *x.Max:
			p.add("Counters[%d]: Min is above Max", i)
		}
		named[x.Name] = true
	}
	for i, name := range e.Counted {
		f, kind := item.FieldKind(e.typ, name)
		_, plain := item.Field(e.typ, name)
		switch {
		case slices.Contains(e.Counted[:i], name):
			p.add("Counted: attribute %q is there twice", name)
		case name == item.Counted || name == e.Version || slices.Contains(attributesOf(spec), name):
			p.add("Counted: attribute %q has another use", name)
		case kind != item.N || !plain || f.Kind() != reflect.Int64 && f.Kind() != reflect.Int:
			p.add("Counted: attribute %q needs a field of type int64 or int, and no pointer", name)
		case known && e.reads(name):
			p.add("Counted: a function of the entity reads attribute %q, which changes without a write of the entity", name)
		}
	}
}

// maxCounterName is how many bytes a name in marks has, of which each item has a copy.
const maxCounterName = 255

// fits reports whether marks hold a name.
func fits(name string) bool { return utf8.ValidString(name) && len(name) <= maxCounterName }
