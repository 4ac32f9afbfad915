package item

import (
	"encoding/binary"
	"reflect"
	"slices"
)

// names remembers what the attributes of the items of one response are for.
// Items of one type come with the same attributes, in the same order as a rule.
// Nothing is remembered of the first item, which may be the only one.
type names struct {
	plan    *plan
	watched []Watched
	// uses are the attributes that were met, in about the order in which they come,
	// and heads the first bytes of each.
	uses  []use
	heads []uint64
	// count is how many attributes the last item had.
	count int
	// again means that an item was read before.
	again bool
	// respelled means that an attribute was met whose name differs from that of its
	// field in case.
	respelled bool
}

// use is what an attribute of a kind is for.
type use struct {
	target
	// begin is its JSON up to what it holds: "name":{"S":
	begin string
}

// target is what an attribute is for: the indexes of a field and of a watched
// attribute, or none.
type target struct {
	kind           Kind
	field, watched int
	// respelled means that the name differs from that of its field in case.
	respelled bool
}

const none = -1

// maxUses bounds how long it takes to find an attribute among those that were met.
const maxUses = 128

// next reads how an attribute begins that was not expected.
func (n *names) next(r *Parser, first bool) (t target, more, ok bool) {
	if more, ok = r.more(first, '}'); !more || !ok {
		return target{}, more, ok
	}
	from := r.pos
	name, ok := r.name()
	if !ok {
		return target{}, true, false
	}
	t = n.find(name)
	t.kind = r.kind()
	if n.again && t.kind != 0 && len(n.uses) < maxUses {
		if n.uses == nil {
			n.uses, n.heads = make([]use, 0, n.count), make([]uint64, 0, n.count)
		}
		begin := string(r.data[from:r.pos])
		n.uses = append(n.uses, use{target: t, begin: begin})
		n.heads = append(n.heads, binary.LittleEndian.Uint64([]byte(begin)))
	}
	return t, true, true
}

// expected moves behind the beginning of the next attribute, if it was met, and
// returns its index in uses, none otherwise. It looks from the index at on, which
// is where it is found as a rule.
func (n *names) expected(r *Parser, at int, first bool) int {
	rest := r.data[r.pos:]
	if len(n.uses) == 0 || len(rest) <= 8 || !first && rest[0] != ',' {
		return none
	}
	if !first {
		rest = rest[1:]
	}
	head := binary.LittleEndian.Uint64(rest)
	for range n.heads {
		if at >= len(n.heads) {
			at = 0
		}
		if n.heads[at] == head {
			if begin := n.uses[at].begin; len(rest) >= len(begin) && string(rest[:len(begin)]) == begin {
				r.pos = len(r.data) - len(rest) + len(begin)
				return at
			}
		}
		at++
	}
	return none
}

// find returns what an attribute is for by its name.
func (n *names) find(name []byte) target {
	t := target{watched: slices.IndexFunc(n.watched, func(w Watched) bool { return w.Name == string(name) })}
	t.field, t.respelled = n.plan.fieldOf(string(name))
	n.respelled = n.respelled || t.respelled
	return t
}

// structure reads a map, or an item, into a struct. When attributevalue refuses
// a field it reads to the end all the same.
func (n *names) structure(r *Parser, v reflect.Value) verdict {
	begin, depth, respelled := r.pos, r.depth, false
	if !r.open('{') {
		return broken
	}
	verdict, following := fits, 0
	for i := 0; ; i++ {
		var t target
		if at := n.expected(r, following, i == 0); at != none {
			t, following = n.uses[at].target, at+1
		} else {
			var more, ok bool
			if t, more, ok = n.next(r, i == 0); !ok {
				return broken
			} else if !more {
				n.count, n.again = i, true
				if respelled && verdict == fits {
					r.pos, r.depth = begin, depth
					verdict = n.respell(r, v)
				}
				return verdict
			}
		}
		if t.respelled {
			respelled, t.field = true, none // until it is known whether the field has its own
		}
		if verdict == fits && n.line(r, t, v) {
			continue
		}
		if verdict = n.attribute(r, t, v, verdict); verdict == broken || !r.is('}') {
			return broken
		}
	}
}

// respell reads a map, or an item, once more, for the attributes whose names differ from
// that of a field in case: into the field, unless it has an attribute of its own name.
// Another program may have both.
func (n *names) respell(r *Parser, v reflect.Value) verdict {
	begin, depth, own := r.pos, r.depth, make([]bool, len(n.plan.fields))
	ok := r.Object(func(name []byte) bool {
		if t := n.find(name); t.field != none && !t.respelled {
			own[t.field] = true
		}
		return r.ignore()
	})
	r.pos, r.depth = begin, depth
	verdict := fits
	if ok = ok && r.Object(func(name []byte) bool {
		t := n.find(name)
		if !t.respelled || own[t.field] {
			return r.ignore()
		}
		verdict = n.attribute(r, target{r.kind(), t.field, none, true}, v, verdict)
		return verdict != broken && r.is('}')
	}); !ok {
		return broken
	}
	return verdict
}

// line reads what a string or number holds, and its end, if it is as plain as most
// are. Otherwise it reads nothing.
func (n *names) line(r *Parser, t target, v reflect.Value) bool {
	if t.kind != S && t.kind != N {
		return false
	}
	from := r.pos
	b, ok := r.plain()
	if !ok {
		return false
	}
	if t.field != none {
		f := &n.plan.fields[t.field]
		if f.plan.text(r, t.kind, b, true, f.at(v), f.options) != fits {
			r.pos = from
			return false
		}
	}
	if t.watched != none {
		w := &n.watched[t.watched]
		w.Kind, w.Text = t.kind, b
	}
	return true
}

// attribute reads what an attribute holds into what it is for: into no field of v
// once one is refused, which before says.
func (n *names) attribute(r *Parser, t target, v reflect.Value, before verdict) verdict {
	from, depth := r.pos, r.depth
	if t.watched != none {
		if !r.watch(&n.watched[t.watched], t.kind) {
			return broken
		}
		if t.field == none {
			return before
		}
		r.pos = from
	}
	if t.field != none && before == fits {
		f := &n.plan.fields[t.field]
		if verdict := f.decode(r, t.kind, f.at(v)); verdict != refused {
			return verdict
		}
		r.pos, r.depth, before = from, depth, refused
	}
	if !r.ignoreContent(t.kind) {
		return broken
	}
	return before
}

// decode reads what the attribute of a field, which v is, holds. It does not return
// misfit.
func (f *field) decode(r *Parser, k Kind, v reflect.Value) verdict {
	if f.plan.form == structure {
		v.SetZero() // should the attribute be there twice
	}
	from, depth := r.pos, r.depth
	verdict := f.plan.content(r, k, v, f.options)
	if verdict != misfit {
		return verdict
	}
	r.pos, r.depth = from, depth
	value, ok := r.content(k)
	if !ok {
		return broken
	}
	v.SetZero()
	if r.err = f.give(value, v); r.err != nil {
		return refused
	}
	return fits
}

// namesOf returns what the attributes of the maps for a struct are for.
func (r *Parser) namesOf(p *plan) *names {
	n, ok := r.names[p]
	if !ok {
		n = &names{plan: p}
		if r.names == nil {
			r.names = map[*plan]*names{}
		}
		r.names[p] = n
	}
	return n
}
