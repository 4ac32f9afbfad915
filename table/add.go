package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
)

// Add returns the op that adds to the numbers of the item under a key what package repo counts
// there: nobody else can make an [item.Addition]. A missing number is 0. It fails with
// [ErrLimit] and [ErrUncounted].
//
// A transaction has one op for an item. So [Table.Transact] merges all Adds of an item with each
// other, and with a Create, Update, Patch, Delete or Check of it. Bounds hold for the sum.
func Add(key keys.Key, a item.Addition) Op {
	op := Op{verb: verbUpdate, key: key, value: patch{}, adds: &additions{of: a.Type, counts: a.Counts, pure: true, needs: true}}
	for _, t := range a.Terms {
		op.adds.terms = append(op.adds.terms, term{Term: t})
	}
	op.guard.exists = !a.Creates
	if a.Type != "" {
		op = op.IfType(a.Type)
	}
	return op
}

// additions are what an op adds to numbers of its item.
type additions struct {
	terms []term
	// of is the type of the item, which it is given if the op creates it.
	of string
	// counts is as in [item.Addition].
	counts bool
	// pure means that the op does nothing else. needs means that the item must be there, and of
	// the type, for the numbers alone.
	pure, needs bool
}

type term struct {
	item.Term
	// from is the position of the term's op among those of a transaction, from 0.
	from int
}

// over returns the additions of an op that is about the same item.
func (a *additions) over(under *additions) *additions {
	both := *a
	if under != nil {
		both.terms = slices.Concat(under.terms, a.terms)
		both.of = cmp.Or(a.of, under.of)
		both.counts = a.counts || under.counts
	}
	return &both
}

// merged are the ops of a transaction, of which each item with numbers to add has one. from are
// the positions at which they were given, nil if nothing was merged.
type merged struct {
	ops  []Op
	from []int
}

func (m merged) at(i int) int {
	if m.from == nil {
		return i
	}
	return m.from[i]
}

// merge merges the ops that add to numbers with those about the same items. Two ops that cannot
// be merged stay two.
func merge(given []Op) merged {
	adds := false
	for i := range given {
		adds = adds || given[i].adds != nil
	}
	if !adds {
		return merged{ops: given}
	}
	m, at := merged{from: make([]int, 0, len(given))}, make(map[keys.Key]int, len(given))
	for i, op := range given {
		if op.adds != nil {
			op.adds = op.adds.over(nil)
			op.adds.terms = slices.Clone(op.adds.terms)
			for k := range op.adds.terms {
				op.adds.terms[k].from = i
			}
		}
		first, twice := at[op.key]
		if twice {
			if one, ok := m.ops[first].mergedWith(op); ok {
				if m.ops[first].isPure() && !op.isPure() {
					m.from[first] = i
				}
				m.ops[first] = one
				continue
			}
		}
		at[op.key] = len(m.ops)
		m.ops, m.from = append(m.ops, op), append(m.from, i)
	}
	return m
}

// isPure reports whether an op adds to numbers and does nothing else.
func (o Op) isPure() bool { return o.adds != nil && o.adds.pure }

// mergedWith returns the op that does what two do. ok is false if there is none.
func (o Op) mergedWith(other Op) (one Op, ok bool) {
	switch {
	case other.isPure():
		return o.adding(other)
	case o.isPure():
		return other.adding(o)
	}
	return o, false
}

// adding returns the op that adds also what a pure one adds to the same item.
func (o Op) adding(add Op) (one Op, ok bool) {
	live, of := o.guard.needsLive(), string(o.guard.ofType)
	if o.adds != nil {
		of = cmp.Or(of, o.adds.of)
	}
	if of != "" && add.adds.of != "" && of != add.adds.of {
		return o, false
	}
	switch made, _ := o.value.(item.Made); {
	case o.verb == verbDelete:
		//mutants:guard nothing is counted in an item that the transaction deletes | TestAddsAreMerged | !add.adds.counts => true
		return o, !add.adds.counts
	case o.verb == verbCreate:
		o.adds = add.adds.over(o.adds)
		return o, made.Item != nil
	case o.verb == verbCheck && !o.guard.missing:
		o.verb, o.value = verbUpdate, patch{}
	case o.verb != verbUpdate || !o.isPure() && !live && !add.guard.exists:
		return o, false // an update that creates its item gives it no type
	}
	both := add.adds.over(o.adds)
	both.of = cmp.Or(both.of, of)
	both.pure, both.needs = o.isPure(), both.needs && (o.isPure() || !live)
	o.adds = both
	o.guard.exists = o.guard.exists || add.guard.exists
	o.guard.ofType = cmp.Or(o.guard.ofType, add.guard.ofType)
	return o, true
}

// sum is what an op adds to an attribute: the sum of terms.
type sum struct {
	attribute string
	n         int64
	terms     []term
}

// sums returns the sums of the additions, one for each attribute.
func (a *additions) sums() (all []sum, err error) {
	for _, t := range a.terms {
		i := slices.IndexFunc(all, func(s sum) bool { return s.attribute == t.Attribute })
		if i < 0 {
			i, all = len(all), append(all, sum{attribute: t.Attribute})
		}
		s := &all[i]
		if t.N > 0 && s.n > math.MaxInt64-t.N || t.N < 0 && s.n < math.MinInt64-t.N {
			return nil, &countError{t, fmt.Errorf("%w: the amounts of counter %q have more than 64 bits together", errInvalidOp, t.Counter)}
		}
		s.n += t.N
		s.terms = append(s.terms, t)
	}
	return all, nil
}

// bound is what a term requires of the stored number: that it is on one side of a number.
type bound struct {
	sum
	term term
	sign string // <= or >=
	to   int64
	// or means that a missing number, which is 0, is within the bound.
	or bool
}

// A number without bounds stays in an int64, or no program could read its item: a sum of more
// than large is bounded by farthest. What is within large costs no condition, and comes from
// there to the end of int64 in 2^38 transactions, of which an item takes some 100 in a second.
const (
	farthest = 1 << 62
	large    = 1 << 24
)

// bounds returns what the terms of a sum require of the stored number.
func (s sum) bounds() (all []bound) {
	for _, t := range s.terms {
		//mutants:guard a number without bounds stays in 64 bits | TestAddsStayInAnInt64
		if s.n > large || s.n < -large {
			t.Min, t.Max = cmp.Or(t.Min, new(int64(-farthest))), cmp.Or(t.Max, new(int64(farthest)))
		}
		b := bound{sum: s, term: t}
		switch {
		case s.n > 0 && t.Max != nil:
			b.sign, b.to, b.or = "<=", saturated(*t.Max, s.n), s.n <= *t.Max
		case s.n < 0 && t.Min != nil:
			b.sign, b.to, b.or = ">=", saturated(*t.Min, s.n), s.n >= *t.Min
		default:
			continue
		}
		same := func(other bound) bool { return other.sign == b.sign && other.to == b.to }
		if !slices.ContainsFunc(all, same) {
			all = append(all, b)
		}
	}
	return all
}

// saturated returns a - b, or the int64 that is nearest to it.
func saturated(a, b int64) int64 {
	switch {
	case b > 0 && a < math.MinInt64+b:
		return math.MinInt64
	case b < 0 && a > math.MaxInt64+b:
		return math.MaxInt64
	}
	return a - b
}

// holds reports whether a stored number, nil if it is missing, is within the bound.
func (b bound) holds(stored types.AttributeValue) bool {
	if stored == nil {
		return b.or
	}
	n, is := stored.(*types.AttributeValueMemberN)
	if !is {
		return false
	}
	order := item.CompareNumbers(n.Value, strconv.FormatInt(b.to, 10))
	return order == 0 || (order < 0) == (b.sign == "<=")
}

func (b bound) err() error {
	side, to := "above Max", b.term.Max
	if b.sign == ">=" {
		side, to = "below Min", b.term.Min
	}
	return &countError{b.term, fmt.Errorf("%w: the number would be %s, which is %d", ErrLimit, side, *to)}
}

// countError is why an op cannot add a term. The error of the op is that of the term's own.
type countError struct {
	term term
	err  error
}

func (e *countError) Error() string { return e.err.Error() }

func (e *countError) Unwrap() error { return e.err }

// has reports whether the additions, nil for none, are about an attribute.
func (a *additions) has(attribute string) bool {
	return a != nil && slices.ContainsFunc(a.terms, func(t term) bool { return t.Attribute == attribute })
}

// requirements returns what the additions require of the stored numbers.
func (a *additions) requirements(stored Item) (all []requirement) {
	sums, _ := a.sums()
	for _, s := range sums {
		_, is := stored[s.attribute].(*types.AttributeValueMemberN)
		//mutants:guard what is no number is told from a conflict | TestAddToWhatIsNoNumber
		if stored[s.attribute] != nil && !is {
			all = append(all, requirement{err: a.unfit()})
		}
		for _, b := range s.bounds() {
			all = append(all, requirement{holds: b.holds(stored[s.attribute]), err: b.err()})
		}
	}
	return all
}

// unfit returns the error of an item whose numbers cannot be added to. It names them all: the
// response to a write without bounds does not tell which of them is none.
func (a *additions) unfit() error {
	var names []string
	for _, t := range a.terms {
		names = append(names, strconv.Quote(t.Attribute))
	}
	slices.Sort(names)
	return fmt.Errorf("%w: %w: it is among %s; remove that attribute from the item, which counts from 0 then",
		ErrUncounted, item.ErrNoNumber, strings.Join(slices.Compact(names), ", "))
}

// reason returns why an op failed, given what its guard says, and whether the item has expired.
// ErrNotFound would be ambiguous: it could be the entity that is counted.
func (a *additions) reason(kind error, expired bool) error {
	//mutants:guard a missing owner is told from a missing entity | TestAddFails
	if a.needs && (expired || errors.Is(kind, ErrNotFound) || errors.Is(kind, ErrWrongType)) {
		return ErrUncounted
	}
	return kind
}

// addTo adds the sums to the numbers of an item that the op creates.
func (a *additions) addTo(attributes Item, typeAttribute string) (Item, error) {
	//mutants:guard a new item counts what is of its type | TestAddsAreMerged
	if a.of != "" && item.Text(attributes[typeAttribute]) != a.of {
		return nil, ErrUncounted
	}
	sums, err := a.sums()
	if err != nil {
		return nil, err
	}
	attributes = maps.Clone(attributes)
	for _, s := range sums {
		for _, b := range s.bounds() {
			if !b.holds(nil) {
				return nil, b.err()
			}
		}
		attributes[s.attribute] = number(s.n)
	}
	return attributes, nil
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// addTerms adds to an update what it adds to numbers, and to its condition their bounds.
func (t *Table) addTerms(w *write) error {
	a := w.op.adds
	sums, err := a.sums()
	if err != nil {
		return err
	}
	_, patches := w.op.value.(patch)
	var update strings.Builder
	var conditions []string
	if w.update != nil {
		update.WriteString(*w.update + " ")
	} else if a.of != "" && !w.op.guard.needsLive() {
		w.name("#type", t.schema.TypeAttribute)
		w.value(":type", &types.AttributeValueMemberS{Value: a.of})
		update.WriteString("SET #type = :type ")
		//mutants:guard nothing is counted in an item that DynamoDB is about to delete | TestAddCreates
		if t.schema.TTLAttribute != "" {
			conditions = append(conditions, "NOT #ttl BETWEEN :one AND :now") // see [Table.require]
		}
	}
	for i, s := range sums {
		name := "#a" + strconv.Itoa(i)
		if patches {
			w.name(name, s.attribute)
			w.value(":a"+strconv.Itoa(i), number(s.n))
			update.WriteString(clause(i, "ADD ") + name + " :a" + strconv.Itoa(i))
		}
		for k, b := range s.bounds() {
			to := ":b" + strconv.Itoa(i) + "x" + strconv.Itoa(k)
			w.name(name, s.attribute)
			w.value(to, number(b.to))
			text := name + " " + b.sign + " " + to
			if b.or {
				text = "attribute_not_exists(" + name + ") OR " + text
			}
			conditions = append(conditions, text)
		}
	}
	if patches {
		text := update.String()
		w.update = &text
	}
	w.also(conditions...)
	return nil
}

// also adds conditions to that of a write.
func (w *write) also(conditions ...string) {
	if w.condition != nil {
		conditions = append(conditions, *w.condition)
	}
	switch len(conditions) {
	case 0:
	case 1:
		w.condition = &conditions[0]
	default:
		text := "(" + strings.Join(conditions, ") AND (") + ")"
		w.condition = &text
	}
}

// updated returns an update that adds also what the additions do.
func (a *additions) updated(update expression.UpdateBuilder) (expression.UpdateBuilder, error) {
	sums, err := a.sums()
	for _, s := range sums {
		update = update.Add(item.Name(s.attribute), expression.Value(s.n))
	}
	return update, err
}
