package codec

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"time"
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
	// latest points to the value that the last item was read into. places are the
	// fields of it, if others are read into it too.
	latest any
	places []place
	// count is how many attributes the last item had.
	count int
	// again means that an item was read before.
	again bool
	// folded means that an attribute was met whose name differs from that of its
	// field in case.
	folded bool
}

// place is a field of a value that items are read into, also as a pointer if it is a
// string, a time or a list of strings.
type place struct {
	reflect.Value
	text   *string
	moment *time.Time
	list   *[]string
}

// use is what an attribute of a kind is for.
type use struct {
	target
	// begin is its JSON up to what it holds: "name":{"S":
	begin string
	// last is the text of a field as the last item has it. Items of one partition
	// have much in common. It is empty once misses items in a row had another text.
	last   string
	misses int
}

// target is what an attribute is for: the indexes of a field and of a watched
// attribute, or none.
type target struct {
	kind           Kind
	field, watched int
}

const none = -1

const (
	// maxUses bounds how long it takes to find an attribute among those that were
	// met.
	maxUses = 128
	// maxMisses is how often a text may differ from that of the item before, until
	// it is not compared any more.
	maxMisses = 3
)

// next reads how an attribute begins that was not expected.
func (n *names) next(r *Reader, first bool) (u use, more, ok bool) {
	if more, ok = r.more(first); !more || !ok {
		return use{}, more, ok
	}
	from := r.pos
	name, ok := r.name()
	if !ok {
		return use{}, true, false
	}
	u.target = n.find(name)
	u.kind = r.kind()
	if n.again && u.kind != 0 && len(n.uses) < maxUses {
		if n.uses == nil {
			n.uses, n.heads = make([]use, 0, n.count), make([]uint64, 0, n.count)
		}
		u.begin = string(r.data[from:r.pos])
		n.uses = append(n.uses, u)
		n.heads = append(n.heads, binary.LittleEndian.Uint64([]byte(u.begin)))
	}
	return u, true, true
}

// expected moves behind the beginning of the next attribute, if it was met, and
// returns its index in uses, none otherwise. It looks from the index at on, which
// is where it is found as a rule.
func (n *names) expected(r *Reader, at int, first bool) int {
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
	var ok bool
	if t.field, ok = n.plan.byName[string(name)]; !ok {
		t.field = slices.IndexFunc(n.plan.fields, func(f field) bool { return strings.EqualFold(f.name, string(name)) })
		n.folded = n.folded || t.field != none
	}
	return t
}

// structure reads a map, or an item, into a struct. When attributevalue refuses
// a field it reads to the end all the same.
func (n *names) structure(r *Reader, v reflect.Value) verdict {
	if !r.open('{') {
		return broken
	}
	verdict, following := fits, 0
	for i := 0; ; i++ {
		var u *use
		if at := n.expected(r, following, i == 0); at != none {
			u, following = &n.uses[at], at+1
		} else {
			met, more, ok := n.next(r, i == 0)
			if !ok {
				return broken
			} else if !more {
				n.count, n.again = i, true
				return verdict
			}
			u = &met
		}
		if verdict == fits && n.line(r, u, v) {
			continue
		}
		if verdict = n.attribute(r, u.target, v, verdict); verdict == broken || !r.is('}') {
			return broken
		}
	}
}

// line reads what a string or number holds, and its end, if it is as plain as most
// are. Otherwise it reads nothing.
func (n *names) line(r *Reader, u *use, v reflect.Value) bool {
	if u.kind != S && u.kind != N {
		return false
	}
	from := r.pos
	var to *string
	var at *time.Time
	if u.kind == S && u.field != none && n.places != nil {
		to, at = n.places[u.field].text, n.places[u.field].moment
	}
	b, same := r.same(u.last)
	if !same {
		var ok bool
		if b, ok = r.plain(); !ok {
			return false
		}
	}
	switch {
	case u.field == none:
	case to != nil && same:
		*to, u.misses = u.last, 0
	case to != nil:
		*to = r.keep(b, true)
		u.remember(*to)
	case at != nil:
		var ok bool
		if *at, ok = parseTime(S, b); !ok {
			r.pos = from
			return false
		}
	default:
		f := &n.plan.fields[u.field]
		if f.asText || f.plan.plain(r, u.kind, b, n.place(u.field, v)) != fits {
			r.pos = from
			return false
		}
	}
	if u.watched != none {
		w := &n.watched[u.watched]
		w.Kind, w.Text = u.kind, b
	}
	return true
}

// remember says what text the item has that is read.
func (u *use) remember(s string) {
	switch u.misses++; {
	case u.misses <= maxMisses:
		u.last = s
	case u.last != "":
		u.last = ""
	}
}

// attribute reads what an attribute holds into what it is for: into no field of v
// once one is refused, which before says.
func (n *names) attribute(r *Reader, t target, v reflect.Value, before verdict) verdict {
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
		if n.places != nil && n.places[t.field].list != nil && (t.kind == L || t.kind == SS) && r.texts(t.kind, n.places[t.field].list) == fits {
			return fits
		}
		r.pos, r.depth = from, depth
		if verdict := n.plan.fields[t.field].decode(r, t.kind, n.place(t.field, v)); verdict != refused {
			return verdict
		}
		r.pos, r.depth, before = from, depth, refused
	}
	if !r.ignoreContent(t.kind) {
		return broken
	}
	return before
}

// place returns a field of the value that an item is read into.
func (n *names) place(field int, v reflect.Value) reflect.Value {
	if n.places != nil && n.places[field].IsValid() {
		return n.places[field].Value
	}
	f := &n.plan.fields[field]
	v = f.at(v)
	if n.places != nil && !f.pointed { // the next item has another struct there
		p := &n.places[field]
		p.Value = v
		switch f.plan.shape {
		case text:
			if !f.asText {
				p.text = v.Addr().Convert(reflect.TypeFor[*string]()).Interface().(*string)
			}
		case moment:
			if !f.asText {
				p.moment = v.Addr().Interface().(*time.Time)
			}
		case texts:
			p.list = v.Addr().Interface().(*[]string)
		}
	}
	return v
}

// into says which value the next item is read into.
func (n *names) into(v reflect.Value) {
	if p := v.Addr().Interface(); p != n.latest {
		n.latest, n.places = p, nil
	} else if n.places == nil {
		n.places = make([]place, len(n.plan.fields))
	}
}

// decode reads what the attribute of a field, which v is, holds. It does not return
// misfit.
func (f *field) decode(r *Reader, k Kind, v reflect.Value) verdict {
	if f.plan.shape == structure {
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
func (r *Reader) namesOf(p *plan) *names {
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
