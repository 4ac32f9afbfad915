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

// verb is what a step does to an item.
type verb int

const (
	create  verb = iota // there is no item
	patch               // some attributes change
	replace             // all attributes do
	remove
	check     // nothing; the item is as it was read
	none      // nothing; there is no item
	tally     // numbers are added
	overwrite // like replace and
	erase     // remove, whatever there is
)

// step is what a plan says about one item.
type step struct {
	verb verb
	key  keys.Key
	name string
	// held is the stamp that the item has. If it has none and was read as a whole, as is
	// the item itself, all of whose attributes guard it.
	held stamp
	as   table.Item
	// like guards an item that was not read beyond its stamp: if it is not so, the step is
	// stale.
	like *expression.ConditionBuilder
	// gone means that an item that is removed may be missing.
	gone bool
	diff diff      // of patch
	made item.Made // of create, replace and overwrite
	// unread means that the item was not read, so it may have a newer shape.
	unread bool
	// main means that the entity is no longer as it was read if the step fails.
	main bool
	// unique means that the item keeps a value unique for other programs: see [Shared].
	unique bool
	// owner is the main item that owns a claim, and guards it.
	owner keys.Key
	// same are attributes that are as they were read, although the stamp does not tell: numbers
	// that others count, and what was counted of the entity. Nil means that one is missing.
	same table.Item
	adds *item.Addition // of tally
}

// maxGuarded is how many attributes a condition compares at most: an expression has 300
// operators at most. AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const maxGuarded = 140

// What an attribute takes of a condition, in bytes.
const (
	equalPart   = len("(#100 = :100) AND ")
	missingPart = len("(attribute_not_exists (#100)) AND ")
)

// ops returns the ops of steps, one each.
func (c *core) ops(steps []step) ([]table.Op, error) {
	ops := make([]table.Op, len(steps))
	for i, s := range steps {
		names := c.guarding(s)
		if n := len(names); n > maxGuarded {
			return nil, fmt.Errorf("%w: %d attributes, a condition compares %d", table.ErrTooLarge, n, maxGuarded)
		}
		bytes := 0
		for _, name := range names {
			if bytes += equalPart; s.as[name] == nil {
				bytes += missingPart - equalPart
			}
		}
		if bytes > maxExpression {
			return nil, fmt.Errorf("%w: %d attributes, most of them missing, and a condition has %d bytes", table.ErrTooLarge, len(names), maxExpression)
		}
		ops[i] = c.op(s)
	}
	return ops, nil
}

// creation returns the op of a create, which replaces an expired item only if that is not counted,
// or as it was read.
func (c *core) creation(s step) table.Op {
	//mutants:guard a key that moves is created, not put | TestRepo/copies/Update_that_moves,_Create ./suites/schedules | Create => Put
	//mutants:guard a main key that moves is created, not put | TestRepo/revision/Update_that_moves_the_main_key ./suites/schedules | Create => Put
	op := table.Create(s.key, s.made).WithName(s.name)
	//mutants:guard nothing is created over an expired entity that still counts | TestCreateOverExpired
	if s.same == nil {
		return c.unlessCounted(op, s.main)
	}
	return ifSame(op, s.same)
}

// op returns the op of a step. Its guard is the stamp that the item has, or all that it has.
func (c *core) op(s step) (op table.Op) {
	switch s.verb {
	case create:
		return c.creation(s)
	case tally:
		return table.Add(s.key, *s.adds).WithName(s.name)
	case none:
		//mutants:guard DeleteOps leave no former copy behind | TestOpsExpectWhatTheValueDoesNotShow | s.unread => false
		if s.unread {
			return table.Check(s.key, item.Name(c.schema.PK).AttributeNotExists()).Guarded(item.Guard{OrStale: true}).WithName(s.name)
		}
		//mutants:guard a copy does not outlive an expired main item | TestDefaultEngine/Life$ ./suites/conformance | CheckMissing(s.key) => Check(s.key, item.Name(c.schema.PK).AttributeNotExists())
		return table.CheckMissing(s.key).WithName(s.name)
	case overwrite:
		return table.Put(s.key, s.made).WithName(s.name)
	case erase:
		return table.Delete(s.key).WithName(s.name)
	case patch:
		op = table.Patch(s.key, s.diff.set, s.diff.remove...)
	case replace:
		op = table.Put(s.key, s.made)
	case remove:
		if s.unique {
			return c.removesUnique(s)
		}
		op = table.Delete(s.key)
	case check:
		op = table.Check(s.key, expression.ConditionBuilder{})
	}
	if s.owner != (keys.Key{}) {
		return c.guardClaim(op, s)
	}
	//mutants:guard the old copy is deleted under its revision | TestForeignCopy ./suites/schedules | => if s.verb != remove { op = c.guard(op, s.held) }
	//mutants:guard a change expects the revision | TestRepo/revision/Update,_Update$ ./suites/schedules | => if s.verb != patch { op = c.guard(op, s.held) }
	//mutants:guard an unchanged entity is checked in a transaction with others | TestDefaultEngine/^(Release|Life|Repo)$ ./suites/conformance | => if s.verb != check { op = c.guard(op, s.held) }
	//mutants:guard Delete expects the revision that it has read | TestRepo/copies/Update_that_moves,_Delete ./suites/schedules | => if s.verb != remove { op = c.guard(op, s.held) }
	//mutants:guard appcore: an approval is of the revision that was read | TestScheduleApproval ./examples/appcore/core | => if s.verb != patch { op = c.guard(op, s.held) }
	op = c.guard(op, s.held)
	if s.unread { // what is written may lack what a newer shape has
		op = op.Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: c.shapes.current, Admits: s.verb == remove}})
	}
	//mutants:guard a change expects that the item exists | TestRepo/revision/adopted:_Update,_Delete$ ./suites/schedules | !s.gone => s.verb != patch && !s.gone
	if !s.gone {
		op = op.IfExists()
	}
	op = c.unchangedSince(op, s)
	//mutants:guard ops of a version that two entities can have take no copy of the other | TestOpsOfCountedEntitiesLeaveOthersCopies
	if s.like != nil {
		op = op.If(*s.like).Guarded(item.Guard{OrStale: true})
	}
	return op.WithName(s.name)
}

// unchangedSince returns the op with the conditions that attributes are as they were read.
func (c *core) unchangedSince(op table.Op, s step) table.Op {
	for _, name := range c.guarding(s) {
		same := item.Name(name).AttributeNotExists()
		if value, has := s.as[name]; has {
			same = item.Name(name).Equal(expression.Value(value))
		}
		op = op.If(same)
	}
	mark := item.Guard{OrStale: s.unread && s.same != nil}
	if s.like == nil {
		mark.Same = s.same
	}
	return ifSame(op, s.same).Guarded(mark)
}

// guarding returns the attributes that guard a step whose item has no stamp: all that it had
// when it was read, and those that T has.
func (c *core) guarding(s step) []string {
	//mutants:guard a write of a shared entity expects all that it was made of | TestSharedVersion | c.entity.shared.is => false
	if c.entity.shared.is && s.as != nil {
		return slices.Sorted(maps.Keys(c.expected(s.as)))
	}
	if s.as == nil || s.held != (stamp{}) {
		return nil
	}
	names := map[string]bool{}
	for _, name := range c.attributes {
		names[name] = true
	}
	for name := range s.as {
		names[name] = true
	}
	for _, name := range []string{c.schema.PK, c.schema.SK, c.typeAttribute, c.entity.Version} {
		delete(names, name)
	}
	for _, name := range c.entity.Counted {
		delete(names, name)
	}
	return slices.Sorted(maps.Keys(names))
}

// guard makes the op expect a stamp, and an item of the entity's type where there
// is one.
func (c *core) guard(op table.Op, s stamp) table.Op {
	op = op.IfType(c.entity.Type)
	switch c.counter {
	case versioned:
		return op.IfVersion(c.entity.Version, s.version)
	case revised:
		return op.IfRevision(c.entity.Version, s.revision)
	}
	return op
}
