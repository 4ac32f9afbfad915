package table

import (
	"fmt"
	"maps"
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

// Patch is an [Update] that sets and removes whole attributes, by their names. It
// needs no expression builder: a dot in a name is a dot, and no part of a path.
// Like Update it knows no entity, and makes an item where there is none; see
// [Op.IfExists].
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
	for i, name := range slices.Sorted(maps.Keys(p.set)) {
		n := strconv.Itoa(i)
		b.WriteString(clause(i, "SET "))
		b.WriteString("#s" + n + " = :s" + n)
		w.names["#s"+n], w.values[":s"+n] = name, p.set[name]
	}
	for i, name := range slices.Compact(slices.Sorted(slices.Values(p.remove))) {
		n := strconv.Itoa(i)
		if _, both := p.set[name]; both {
			return fmt.Errorf("%w: attribute %q is both set and removed", errInvalidOp, name)
		}
		if i == 0 && b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(clause(i, "REMOVE "))
		b.WriteString("#r" + n)
		w.names["#r"+n] = name
	}
	text := b.String()
	w.update = &text
	return nil
}

// clause returns what stands before the ith part of a clause.
func clause(i int, verb string) string {
	if i == 0 {
		return verb
	}
	return ", "
}
