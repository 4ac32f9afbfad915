package repo

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// A write of an entity has three steps: load reads what is stored, plan says what is to
// change of it, and run changes that. plan reads and sends nothing: if it must know what
// is under a key, it says so, and is made again. Every plan that writes is guarded by the
// main item as it was read, so what was read of the others need not be of the same moment.
//
//	what is stored                  a value is stored        nothing is          compared exactly
//	main item                       patch                    remove              patch, if it differs
//	  its key moves                 remove and create        remove              remove and create
//	copy that was not read          patch, as main says      remove, likewise    read it
//	copy of main's revision         patch; the attributes    remove              patch, if it differs
//	                                of others are its own
//	copy of another revision        patch, to be as main     remove              patch, to be as main
//	missing copy                    create, of main          –                   create, of main
//	another entity's item           ErrExists                –                   ErrExists
//	copy that does not decode       its error                its error           its error
//	copy whose key moves            read it; remove and      –                   –
//	                                create
//	former copy                     read it if its key       read it; remove     see planLoose
//	                                changes; remove
//
//	claim that stays                nothing                  remove              read it; create it, or
//	                                                                             renew its expiry
//	claim that comes, or goes       create, or remove        –                   –
//	claim of another entity         ErrExists                nothing             ErrExists
//
// Only a revision says whose an item is. Under a version, which another entity can have, and
// under none, all that is touched is read. Ops are planned on the values that are given: see
// unread.go.

// snapshot is what is known of a stored entity.
type snapshot struct {
	main *stored // its main item
	// at is the key that the main item was read under.
	at keys.Key
	// seen are the items under other keys that were read; nil where nothing is stored.
	seen map[keys.Key]table.Item
	// doubts are the copies that are to be read, since they were not as the main item
	// says.
	doubts doubts
}

type doubts map[keys.Key]bool

// wish is what a plan is to bring about.
type wish struct {
	v       any   // what is to be stored; nil for nothing
	becomes stamp // of v
	// exact means that every copy is compared. Otherwise copies that were not read are
	// taken to be as the main item says, and the guard of their change finds out.
	exact bool
	// unread means that the snapshot was made of a value, and that nothing is read: what the
	// value does not show is not known. A plan that would need it is refused.
	unread *unread
}

// plan is what a write does. If it needs items, it is to be made again with them.
type plan struct {
	need  []keys.Key
	steps []step
	keys  []keys.Key // of what is wished
}

// planner is a plan in the making.
type planner struct {
	*core
	old *snapshot
	was *stored // its main item
	wish
	plan
	// readsAll means that every item that is touched is read: to be compared, or since its
	// stamp does not say whose it is.
	readsAll bool
	// fields is what changes of every item.
	fields diff
	// differs means that what is stored is not as it is wished.
	differs bool
	// like guards the copies of a value that is given: see [core.likeness].
	like *expression.ConditionBuilder
	// tallies are the steps that count, and marked is the mark that the main item must have.
	tallies []step
	marked  table.Item
}

func (c *core) newPlanner(old *snapshot, w wish) *planner {
	return &planner{core: c, old: old, was: old.main, wish: w, readsAll: w.exact || w.unread == nil && !c.identifies(old.main.stamp)}
}

// plan says what brings a wish about.
func (c *core) plan(old *snapshot, w wish) (*plan, error) {
	p := c.newPlanner(old, w)
	err := error(nil)
	switch {
	case w.unread != nil:
		err = p.withoutReads()
	case w.v == nil:
		err = p.remove()
	default:
		err = p.save()
	}
	if err != nil {
		return nil, err
	}
	return &p.plan, nil
}

// save plans that v is stored.
func (p *planner) save() error {
	d, err := p.compare()
	if err == nil {
		d, err = p.saveCounts(d)
	}
	if err != nil || !p.differs && !p.exact {
		return err
	}
	p.steps = make([]step, 0, len(p.items))
	if err := p.saveMain(d); err != nil {
		return err
	}
	for i := range p.items[1:] {
		if err := p.saveCopy(i + 1); err != nil {
			return err
		}
	}
	for _, former := range p.entity.FormerCopies { // nothing would lead to them any more
		if key := former(p.was.v); key != former(p.v) && !slices.Contains(p.keys, key) {
			if err := p.removeUnder(key, p.items[0].Name+" (former copy)", true); err != nil {
				return err
			}
		}
	}
	if err := p.saveClaims(); err != nil {
		return err
	}
	p.saveUnique()
	p.steps = append(p.steps, p.tallies...)
	if !p.differs {
		p.steps = nil
	}
	return p.checkExchange()
}

// compare finds out what changes of the main item, and returns that with its index keys.
// What upgrades have changed is written with the first other change, or by a refresh, and so are
// zero times removed.
func (p *planner) compare() (d diff, err error) {
	p.keys = p.keysOf(p.v)
	var given table.Item
	//mutants:guard ops write all that their value has | TestUpdateOpsWriteWhatValuesShare | p.unread != nil => false
	if p.unread != nil {
		p.fields, given, err = p.all()
	} else {
		p.fields, given, err = p.core.fields(p.was.raw, p.was.extra, p.was.v, p.v)
	}
	if err != nil {
		return d, err
	}
	if err := p.checkValue(p.v, p.was.v, p.keys[0], given, p.fields.changes); err != nil {
		return d, err
	}
	if d, err = p.withIndexes(0, p.keys[0], p.v, p.fields, p.was.extra, p.unread == nil); err != nil {
		return d, err
	}
	stored := p.was.extra
	if p.was.shape < p.shapes.current {
		stored = p.was.raw.Attributes(nil)
	}
	upgrades := p.withoutEmptyIndexFields(p.shapes.pending(stored, p.was.shape)).over(p.zeroTimes(p.was.raw))
	p.differs = p.unread != nil || !d.empty() || p.old.at != p.keys[0] || !slices.Equal(p.was.keys, p.keys) ||
		p.exact && (!upgrades.empty() || p.counter.stamped() && p.was.stamp == stamp{})
	p.fields = p.fields.over(upgrades)
	if d = d.over(upgrades); p.entity.shared.is {
		fields := len(d.set)
		d = p.withConstants(d)
		p.differs = p.differs || p.exact && len(d.set) > fields
		if p.typeAttribute == "" {
			//mutants:guard a change leaves an item of its kind | TestKinds
			if err := p.setType(d.apply(p.was.raw)); err != nil {
				return d, err
			}
		}
	}
	return d, nil
}

func (p *planner) saveMain(d diff) error {
	name := p.items[0].Name
	main := step{key: p.old.at, name: name, held: p.was.stamp, as: p.was.item, main: true, same: p.marked}
	switch {
	case p.unread != nil && p.old.at != p.keys[0]:
		return p.errMoves(name)
	case p.unread != nil:
		return p.patch(0, main, d, nil)
	case p.old.at == p.keys[0]:
		return p.patch(0, main, p.withPartitions(d), &p.was.raw)
	case len(p.entity.Counted) > 0:
		return errCountedMoves
	//mutants:guard a shared entity is not written as a whole | TestSharedMoves
	case p.entity.shared.is:
		return errSharedMoves
	}
	made := p.whole(0, p.keys[0], p.v, p.fields.apply(p.was.raw), p.becomes)
	main.verb, main.name = remove, name+" (old key)"
	p.steps = append(p.steps, main, step{verb: create, key: p.keys[0], name: name, made: made, main: true})
	return made.Err
}

// errMoves returns the error of ops that would move an item.
func (p *planner) errMoves(name string) error {
	return fmt.Errorf("%w: the key of %s changes, which Update moves", errInvalidEntity, name)
}

// patch plans a change of the ith item, as a whole if it is too long for an update. Then raw
// must be what is stored; it is nil for an item that was not read.
func (p *planner) patch(i int, s step, d diff, raw *item.Raw) error {
	s.verb, s.diff = patch, d
	if p.counter.stamped() {
		p.setStamp(d.set, p.becomes, p.was.shape) // the same one for all items, which may share d
	}
	switch {
	case !s.diff.tooLong() || raw != nil:
	case p.unread != nil:
		return fmt.Errorf("%w: a %v has too many attributes for an update; use Update or Save", errInvalidEntity, p.entity.typ)
	default:
		p.need = append(p.need, s.key)
		return nil
	}
	if s.diff.tooLong() && p.entity.shared.is {
		return fmt.Errorf("%w: the change has too many attributes for an update, and a Shared entity is not replaced as a whole", table.ErrTooLarge)
	}
	//mutants:guard an update keeps what its type does not know | TestReleases ./suites/schedules | s.diff.tooLong() { => all, err := p.encode(p.v); err == nil { raw, s.diff = new(item.RawOf(all)), diff{}
	//mutants:guard an update sends what has changed | TestRequests | s.diff.tooLong() => true
	if s.diff.tooLong() {
		made := p.whole(i, s.key, p.v, s.diff.apply(*raw), p.becomes)
		if made.Err != nil {
			return made.Err
		}
		s.verb, s.made = replace, made
		//mutants:guard an owner that is replaced as a whole keeps its numbers | TestReplacedOwners
		if numbers := p.numbersIn(*raw); numbers != nil {
			maps.Copy(numbers, s.same)
			s.same = numbers
		}
	}
	p.steps = append(p.steps, s)
	return nil
}

// remove plans that nothing is stored.
func (p *planner) remove() error {
	p.steps = append(p.steps, step{verb: remove, key: p.old.at, name: p.items[0].Name, held: p.was.stamp, as: p.was.item, gone: true, main: true, same: p.markAsRead()})
	for i, key := range p.was.keys[1:] {
		if err := p.removeUnder(key, p.items[i+1].Name, p.readsAll || p.old.doubts[key]); err != nil {
			return err
		}
	}
	for _, key := range p.formerCopies(p.was.v) { // no guard can tell what is there
		if err := p.removeUnder(key, p.items[0].Name+" (former copy)", true); err != nil {
			return err
		}
	}
	for _, key := range p.was.claims {
		p.removeClaim(key)
	}
	p.saveUnique()
	p.removeCounts()
	return p.checkExchange()
}

// removeUnder plans that an item of the entity is removed. read means that it must be read
// before.
func (p *planner) removeUnder(key keys.Key, name string, read bool) error {
	if !p.canHold(key) || key == p.old.at || slices.ContainsFunc(p.steps, func(s step) bool { return s.key == key }) {
		return nil
	}
	held := p.was.stamp
	is, seen := p.old.seen[key]
	switch ours, err := p.isOurs(key, name, is); {
	case !seen && read && p.unread != nil:
		p.steps = append(p.steps, step{verb: none, key: key, name: name})
		return nil
	case !seen && read:
		p.need = append(p.need, key)
		return nil
	//mutants:guard a former copy is deleted only if it is the entity's | TestPlans
	case seen && !ours:
		return err
	case seen:
		held = p.stampOf(is)
	}
	p.steps = append(p.steps, step{verb: remove, key: key, name: name, held: held, gone: true, like: p.like})
	return nil
}

// formerCopies returns the keys that copies of v had in earlier releases.
func (c *core) formerCopies(v any) (all []keys.Key) {
	for _, key := range c.entity.FormerCopies {
		all = append(all, key(v))
	}
	return all
}

// isOurs reports whether the item under a key is of the entity: as it is stored, or as it
// is wished already. An error says why one of the entity's type cannot tell whose it is,
// or be guarded.
func (p *planner) isOurs(key keys.Key, name string, item table.Item) (bool, error) {
	if item == nil || p.checkType(item) != nil {
		return false, nil
	}
	v, err := p.decodeStored(item)
	if err != nil {
		//mutants:guard a copy that does not decode is no other entity's | TestCopiesThatCannotBeToldApart | p.failedAt(key, name, err) => nil
		return false, p.failedAt(key, name, err)
	}
	if main := p.entity.Key(v); main != p.was.keys[0] && (len(p.keys) == 0 || main != p.keys[0]) {
		return false, nil
	}
	//mutants:guard a copy whose version is of another type is no conflict | TestCopiesThatCannotBeToldApart
	if err := p.checkStamp(item); err != nil {
		return false, p.failedAt(key, name, err)
	}
	return true, nil
}

// failedAt returns the error of an item under another key than the entity's.
func (p *planner) failedAt(key keys.Key, name string, err error) *table.Error {
	return &table.Error{Op: "Update", Name: name, Table: p.schema.Name, Key: key, Err: err}
}

// checkExchange reports two steps about one item, as when two copies exchange their keys.
func (p *planner) checkExchange() error {
	if len(p.need) > 0 {
		return nil // the plan is made again
	}
	for i, s := range p.steps {
		for _, other := range p.steps[:i] {
			if other.key == s.key {
				return fmt.Errorf("%w: %s and %s need the same key in one transaction; change one after the other",
					table.ErrInvalid, other.name, s.name)
			}
		}
	}
	return nil
}

// stays is the step that makes a plan depend on a main item.
func (c *core) stays(s *snapshot) step {
	as := step{verb: check, key: s.at, name: c.items[0].Name, held: s.main.stamp, main: true}
	if c.entity.shared.is {
		as.as = s.main.item
	}
	return as
}

// withIndexes adds to the changes of the ith item of v those of its index keys. An item
// that was not read is given all that it declares, and loses what other items do.
func (c *core) withIndexes(i int, key keys.Key, v any, fields diff, attributes table.Item, read bool) (diff, error) {
	if len(c.indexAttributes) == 0 {
		return fields, nil
	}
	indexed := table.Item{}
	if err := c.indexKeys(indexed, i, key, v); err != nil {
		return diff{}, err
	}
	d := diff{set: maps.Clone(fields.set), remove: fields.remove[:len(fields.remove):len(fields.remove)]}
	for _, name := range c.indexAttributes {
		want, has := indexed[name]
		is, stored := attributes[name]
		switch {
		case has && (!read || !item.Equal(is, want)):
			d.set[name] = want
		//mutants:guard a write takes index keys from a copy that belong to the main item | TestWritesTakeIndexKeysFromCopies | (stored || !read) => stored
		case !has && (stored || !read):
			d.remove = append(d.remove, name)
		}
	}
	return d, nil
}

// maxExpression is how long an update expression may be, in bytes; parts of it
// take about as many as the two constants say. AWS: "Constraints in Amazon DynamoDB",
// Amazon DynamoDB Developer Guide. Seen: paritysuite/dynamodb-conformance,
// limits/expressionSize.test.ts.
const (
	maxExpression = 4096
	setPart       = len("#s100 = :s100, ")
	removePart    = len("#r100, ")
)

func (d diff) tooLong() bool {
	return len(d.set)*setPart+len(d.remove)*removePart > maxExpression-len("SET REMOVE ")
}
