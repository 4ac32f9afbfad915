package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/singletable/singletable/keys"
)

// patch is the update of a [Patch] op.
type patch struct {
	set    Item
	remove []string
}

// Patch is an [Update] that sets and removes whole attributes, by their names.
// Like Update it creates a missing item, unless the op has [Op.IfExists], and knows no entity.
// It needs no expression builder: a dot in a name is a dot, and no part of a path.
func Patch(key keys.Key, set Item, remove ...string) Op {
	return Op{verb: verbUpdate, key: key, value: patch{set, remove}}
}

// setPatch makes the update expression of a patch.
func (w *write) setPatch(p patch) error {
	if len(p.set) == 0 && len(p.remove) == 0 {
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
