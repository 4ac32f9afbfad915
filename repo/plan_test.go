package repo

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

var states = flag.Int("states", 5000, "how many random states each test of plans draws")

// Plans are tried on states drawn at random, of items in a map: no engine, no requests. The
// entities a and b each have a main item that moves with the team, a copy by id, and a copy
// by mail, which they compete for and need not have.

type planned struct {
	ID    string `dynamodbav:"id"`
	Mail  string `dynamodbav:"mail,omitempty"`
	Team  string `dynamodbav:"team,omitempty"`
	Cents int    `dynamodbav:"cents"`
	Lower string `dynamodbav:"lower"` // the team in lower case
	Rev   string `dynamodbav:"rev,omitempty"`
}

func (v planned) main() keys.Key {
	return keys.Key{PK: keys.Prefix("TEAM").PK(v.Team), SK: keys.SK("M#" + v.ID)}
}

func (v planned) byID() keys.Key { return keys.Key{PK: keys.Prefix("ID").PK(v.ID), SK: "M"} }

func (v planned) byMail() keys.Key { return v.mailUnder("MAIL") }

func (v planned) formerMail() keys.Key { return v.mailUnder("OLDMAIL") }

func (v planned) mailUnder(prefix keys.Prefix) keys.Key {
	if v.Mail == "" {
		return keys.Key{}
	}
	return keys.Key{PK: prefix.PK(v.Mail), SK: "M"}
}

// plannedCore is the present release, which has upgraded more since the release that derives
// an attribute.
func plannedCore(tb testing.TB, more ...Upgrade) *core {
	tb.Helper()
	t, err := table.New(dynamodb.New(dynamodb.Options{}), schema.Table{Name: "Plans", Indexes: []schema.Index{
		{Name: "GSI1", PK: "g1p", SK: "g1s"}, {Name: "GSI2", PK: "g2p", SK: "g2s"}, {Name: "GSI3", PK: "g3p", SK: "g3s"},
	}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := New(t, Entity[planned]{
		Type: "P", Version: "rev", Key: planned.main,
		Indexes: Indexes[planned]{"GSI1": func(v planned) keys.Key {
			if v.Cents%3 == 0 {
				return keys.Key{}
			}
			return keys.Key{PK: "CENTS", SK: keys.SK(strconv.Itoa(v.Cents))}
		}},
		Copies: []Copy[planned]{{Key: planned.byID}, {Key: planned.byMail, Indexes: Indexes[planned]{
			"GSI2": func(v planned) keys.Key { return keys.Key{PK: "MAILS", SK: keys.SK(v.ID)} },
		}}},
		FormerCopies: []func(planned) keys.Key{planned.formerMail},
		Upgrades: append([]Upgrade{
			Convert("total", "cents", strconv.Atoi),
			{Compatible: true, Writes: []string{"lower"}, Change: func(attributes table.Item) error {
				attributes["lower"] = text(strings.ToLower(item.Text(attributes["team"])))
				return nil
			}},
		}, more...),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return &r.core
}

func shapeOf(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// world is a table in memory.
type world struct {
	*core
	items map[keys.Key]table.Item
	// broken are copies that do not decode, or whose version is of another type.
	broken map[keys.Key]bool
	rnd    *rand.Rand
	drawn  int
}

// worlds calls do for each state that is to be drawn.
func worlds(t *testing.T, do func(w *world, fail func(format string, args ...any))) {
	t.Helper()
	cores := []*core{plannedCore(t), plannedCore(t, Drop("note"))}
	for seed := range uint64(*states) {
		w := &world{core: cores[seed%2], items: map[keys.Key]table.Item{}, broken: map[keys.Key]bool{}, rnd: rand.New(rand.NewPCG(seed, 1))}
		do(w, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("state %d: "+format, append([]any{seed}, args...)...)
		})
	}
}

func (w *world) one(n int) bool { return w.rnd.IntN(n) == 0 }

func (w *world) pick(of ...string) string { return of[w.rnd.IntN(len(of))] }

func (w *world) draw(id string) planned {
	team := w.pick("A", "B")
	return planned{ID: id, Mail: w.pick("", "m1", "m2"), Team: team, Cents: w.rnd.IntN(9), Lower: strings.ToLower(team)}
}

func (w *world) stamp() stamp {
	w.drawn++
	return stamp{revision: "r" + strconv.Itoa(w.drawn)}
}

// release is which program has written the items of a revision: the present one, or one of a
// shape before.
func (w *world) release() func(table.Item, planned) {
	old := func(item table.Item) {
		for _, name := range []string{w.shapes.attribute, w.shapes.from, w.shapes.at, "lower"} {
			delete(item, name)
		}
	}
	derived := func(item table.Item, at string) {
		item[w.shapes.attribute], item[w.shapes.from], item[w.shapes.at], item["note"] = shapeOf(2), shapeOf(1), text(at), text("n")
	}
	switch w.rnd.IntN(5) {
	case 0:
		return func(item table.Item, v planned) {
			old(item)
			delete(item, "cents")
			item["total"] = text(strconv.Itoa(v.Cents))
		}
	case 1:
		return func(item table.Item, _ planned) {
			old(item)
			item[w.shapes.attribute] = shapeOf(1)
		}
	case 2: // after the one that derives
		return func(item table.Item, _ planned) {
			item["lower"] = text("stale")
			derived(item, "another")
		}
	case 3:
		return func(i table.Item, _ planned) { derived(i, item.Text(i["rev"])) }
	}
	return func(table.Item, planned) {}
}

// put stores the ith item of v as programs may have left it.
func (w *world) put(i int, key keys.Key, v planned, s stamp, by func(table.Item, planned), more table.Item) {
	if key == (keys.Key{}) || w.items[key] != nil {
		return
	}
	fields, err := w.encode(&v)
	if err != nil {
		panic(err)
	}
	made := w.whole(i, key, &v, fields, s).Item
	maps.Copy(made, more)
	by(made, v)
	if s == (stamp{}) {
		delete(made, "rev")
	}
	w.items[key] = made
}

// fill draws a state: items of two entities, as releases and other programs leave them.
func (w *world) fill() {
	for _, id := range []string{"a", "b"} {
		w.fillEntity(id)
	}
	if w.one(5) { // of another type, or of a release that does not admit this one
		key := planned{Mail: w.pick("m1", "m2")}.byMail()
		w.items[key] = table.Item{"pk": text(string(key.PK)), "sk": text("M"), "entityType": text(w.pick("OTHER", "P")), "entityShape": shapeOf(9)}
	}
	if key := (planned{Mail: w.pick("m1", "m2")}).byMail(); w.one(8) && w.items[key] == nil { // of the same entity, as it says
		w.put(2, key, w.draw(w.pick("a", "b")), w.stamp(), w.release(), table.Item{"z": text("z")})
	}
}

func (w *world) fillEntity(id string) {
	v, s, by := w.draw(id), w.stamp(), w.release()
	if w.one(6) {
		s = stamp{}
	}
	unknown := table.Item{"x": text("x" + id), "g3p": text("main"), "g3s": text(id)}
	main := v.main()
	switch w.rnd.IntN(10) {
	case 0:
		return
	case 1: // nothing but copies, and an item of another type
		w.items[main] = table.Item{"pk": text(string(main.PK)), "sk": text(string(main.SK)), "entityType": text("OTHER")}
	}
	w.put(0, main, v, s, by, unknown)
	for i := 1; i < 3; i++ {
		own := table.Item{"x": text("x" + id)}
		if w.one(3) {
			own["g3p"], own["g3s"] = text("copy"), text(id) // of another release
		}
		switch of := v; w.rnd.IntN(6) {
		case 0:
		case 1: // drifted
			of.Cents++
			w.put(i, w.core.items[i].Key(&of), of, w.stamp(), w.release(), table.Item{"y": text("gone")})
		case 2: // stale, and perhaps elsewhere
			of.Mail = w.pick("m1", "m2", "m3")
			w.put(i, w.core.items[i].Key(&of), of, w.stamp(), w.release(), own)
		case 3: // the main item of the release before
			w.put(i, w.core.items[i].Key(&of), of, s, by, own)
			w.moveIndexKeys(main, w.core.items[i].Key(&of))
		default:
			w.put(i, w.core.items[i].Key(&of), of, s, by, own)
		}
	}
	if w.one(3) {
		w.put(0, v.formerMail(), v, w.stamp(), w.release(), nil)
	}
	if w.one(20) && w.items[main] != nil {
		w.items[main]["cents"] = text("much") // which does not decode
	}
	if key := w.keysOf(&v)[1+w.rnd.IntN(2)]; w.one(10) && w.items[key] != nil {
		if w.broken[key] = true; w.one(2) { // by a program that has drawn a revision for it
			w.items[key]["cents"], w.items[key]["rev"] = text("much"), text("own")
		} else {
			w.items[key]["rev"] = shapeOf(7)
		}
	}
}

// moveIndexKeys gives the index keys of a main item to a copy.
func (w *world) moveIndexKeys(main, to keys.Key) {
	if w.items[main] == nil || w.items[to] == nil {
		return
	}
	for _, name := range []string{"g1p", "g1s"} {
		if key, has := w.items[main][name]; has {
			w.items[to][name] = key
			delete(w.items[main], name)
		}
	}
}

// meets reports whether the guard of a step does.
func (w *world) meets(s step) bool {
	is := w.items[s.key]
	switch {
	case s.verb == create, s.verb == none:
		return is == nil
	case is == nil:
		return s.gone && s.held == stamp{} && s.as == nil
	case w.checkType(is) != nil || w.stampOf(is) != s.held:
		return false
	}
	return s.held != stamp{} || s.as == nil || sameItem(is, s.as)
}

func sameItem(a, b table.Item) bool { return maps.EqualFunc(a, b, item.EqualUnordered) }

// run makes a plan true, or returns the steps that keep it from that.
func (w *world) run(p *plan) (failed []step) {
	for _, s := range p.steps {
		if !w.meets(s) {
			failed = append(failed, s)
		}
	}
	if failed != nil {
		return failed
	}
	for _, s := range p.steps {
		switch s.verb {
		case create, replace:
			w.items[s.key] = maps.Clone(s.made.Item)
		case remove:
			delete(w.items, s.key)
		case patch:
			w.items[s.key] = s.diff.apply(item.RawOf(w.items[s.key]))
		}
	}
	return nil
}

// write is what core.update, delete and refresh do. between is called when another program
// may write.
func (w *world) write(at keys.Key, want func(old *stored) wish, between func()) error {
	doubted := doubts{}
	for range 20 {
		is := w.items[at]
		if is == nil || w.checkType(is) != nil {
			return table.ErrNotFound
		}
		old, err := w.storedItem(is)
		if err != nil {
			return err
		}
		s := &snapshot{main: old, at: at, doubts: doubted, seen: map[keys.Key]table.Item{}}
		p, err := w.decide(s, want(old), between)
		between()
		if err != nil {
			if now := w.items[at]; now == nil || !sameItem(now, is) {
				continue
			}
			return err
		}
		failed := w.run(p)
		if failed == nil {
			return nil
		}
		overtaken := slices.ContainsFunc(failed, func(s step) bool { return s.main && s.verb != create })
		for _, s := range failed {
			if s.main && s.verb == create && !overtaken {
				return table.ErrExists
			}
			doubted[s.key] = !s.main
		}
	}
	return errors.New("no end")
}

// decide is [core.decide].
func (w *world) decide(s *snapshot, want wish, between func()) (*plan, error) {
	for {
		p, err := w.plan(s, want)
		if err != nil || len(p.need) == 0 {
			return p, err
		}
		between()
		for _, key := range p.need {
			s.seen[key] = maps.Clone(w.items[key])
		}
	}
}

// refresh is [core.refreshOps].
func (w *world) refresh(key keys.Key) (*plan, error) {
	f, err := w.look(key, w.items[key])
	if err != nil {
		return nil, err
	}
	for at := f.item.keys[0]; f.kind != mainItem && at != (keys.Key{}); {
		if at, err = w.lead(f, at, w.items[at]); err != nil {
			return nil, err
		}
	}
	if f.of == nil || f.of.at != key {
		return w.planLoose(f, nil)
	}
	f.of.seen = map[keys.Key]table.Item{}
	return w.decide(f.of, w.asItIs(f.item), func() {})
}

// asItIs is the wish of a refresh.
func (w *world) asItIs(old *stored) wish {
	v := *old.v.(*planned)
	return wish{v: &v, becomes: w.stamp(), exact: true}
}

// check reports what is not as described of the entity with a main item.
func (w *world) check(main keys.Key) error {
	s, err := w.storedItem(w.items[main])
	if err != nil {
		return err
	}
	if v := s.v.(*planned); s.stamp == (stamp{}) || s.shape != w.shapes.current || v.Lower != strings.ToLower(v.Team) {
		return fmt.Errorf("main item: %+v, shape %d", v, s.shape)
	}
	for i, key := range s.keys {
		if key == (keys.Key{}) {
			continue
		}
		have := w.items[key]
		want := w.whole(i, key, s.v, maps.Clone(w.items[main]), s.stamp).Item
		if i > 0 { // but for keys of indexes of other releases
			for _, name := range []string{"g3p", "g3s"} {
				delete(want, name)
				if value, has := have[name]; has {
					want[name] = value
				}
			}
		}
		if !sameItem(have, want) {
			return fmt.Errorf("item %d under %v:\nhave %v\nwant %v", i, key, show(have), show(want))
		}
	}
	return nil
}

// holds reports whether an item has all that another one has, except for keys, version and
// shape.
func (w *world) holds(s, other *stored) bool {
	has := s.raw.Attributes(nil)
	for name, value := range other.raw.Attributes(nil) {
		if !w.reserved[name] && !slices.Contains(w.indexKeyNames, name) && !item.EqualUnordered(has[name], value) {
			return false
		}
	}
	return true
}

func show(attributes table.Item) map[string]string {
	all := map[string]string{}
	for name, value := range attributes {
		all[name] = item.ValueOf(value).Text
	}
	return all
}

// owner says whose an item is.
// isOf reports whether an item is one of the entity whose main key is given.
func (w *world) isOf(attributes table.Item, main keys.Key) bool {
	v, err := w.decodeStored(attributes)
	return w.checkType(attributes) == nil && err == nil && w.entity.Key(v) == main
}

func owner(attributes table.Item) string {
	return item.Text(attributes["entityType"]) + item.Text(attributes["id"])
}

// mainOf returns the key of an entity's main item, the zero key if it has none.
func (w *world) mainOf(id string) keys.Key {
	for key, attributes := range w.items {
		if owner(attributes) != "P"+id {
			continue
		}
		if s, err := w.storedItem(attributes); err == nil && s.keys[0] == key {
			return key
		}
	}
	return keys.Key{}
}

// After a write, all of the entity's items agree, nothing is left under other keys, no other
// item has changed, and there is nothing more to write. If it fails, nothing has changed.
func TestPlansOfRandomStates(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world, fail func(string, ...any)) {
		w.fill()
		at := w.mainOf("a")
		if at == (keys.Key{}) {
			return
		}
		before := maps.Clone(w.items)
		old, err := w.storedItem(w.items[at])
		if err != nil {
			fail("%v", err)
		}
		was := *old.v.(*planned)
		to := w.draw("a")
		var want func(*stored) wish
		switch w.rnd.IntN(3) {
		case 0:
			want = func(*stored) wish { return wish{} }
		case 1:
			want = func(*stored) wish { return wish{v: &to, becomes: w.stamp()} }
		default:
			to, want = was, w.asItIs
		}
		removes := want(old).v == nil
		err = w.write(at, want, func() {})
		for key, is := range before {
			if (err != nil || owner(is) != "Pa") && !sameItem(is, w.items[key]) {
				fail("the item under %v has changed, and the write says: %v", key, err)
			}
		}
		if err != nil {
			_, misfit := errors.AsType[*item.Error](err)
			refused := errors.Is(err, table.ErrExists)
			for _, key := range append(slices.Concat(old.keys, w.keysOf(&to)), was.formerMail()) {
				is := w.items[key]
				refused = refused || is != nil && w.checkType(is) == nil &&
					(w.shapes.of(is) == 9 && errors.Is(err, table.ErrNewerShape) || w.broken[key] && (misfit || errors.Is(err, table.ErrInvalid)))
			}
			if !refused {
				fail("%v, want %v", err, want)
			}
			return
		}
		left := append(slices.Clone(old.keys), was.formerMail())
		if !removes {
			to.Rev = was.Rev
			if was == to && !want(old).exact {
				return // nothing is written
			}
			left = append(old.keys[:len(old.keys):len(old.keys)], was.formerMail())
		}
		for _, key := range left {
			if is := w.items[key]; is != nil && (w.isOf(is, old.keys[0]) || w.broken[key] && owner(is) == "Pa") && (removes || !slices.Contains(w.keysOf(&to), key) && key != to.formerMail()) {
				fail("left under %v: %v", key, show(is))
			}
		}
		if removes {
			return
		}
		if err := w.check(to.main()); err != nil {
			fail("%v", err)
		}
		if is := w.items[to.main()]; !item.EqualUnordered(is["x"], before[at]["x"]) || !item.EqualUnordered(is["g3p"], before[at]["g3p"]) {
			fail("an attribute of another program is lost: %v", show(is))
		}
		if p, err := w.refresh(to.main()); err != nil || len(p.steps) > 0 {
			fail("planned again: %v %+v", err, p)
		}
	})
}

// With a second writer between the reads and the write of the first one, what is stored is
// whole, and nothing else is.
func TestPlansOfTwoWriters(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world, fail func(string, ...any)) {
		for _, id := range []string{"a", "b"} {
			v, s := w.draw(id), w.stamp()
			if w.items[v.byMail()] != nil {
				v.Mail = ""
			}
			for i := range w.core.items {
				w.put(i, w.core.items[i].Key(&v), v, s, func(table.Item, planned) {}, nil)
			}
		}
		anything := func() func(*stored) wish {
			to, kind := w.draw(""), w.rnd.IntN(8)
			return func(old *stored) wish {
				v := *old.v.(*planned)
				switch {
				case kind == 0:
					return wish{}
				case kind > 4:
					return w.asItIs(old)
				}
				v.Mail, v.Team, v.Lower, v.Cents = to.Mail, to.Team, to.Lower, to.Cents
				return wish{v: &v, becomes: w.stamp()}
			}
		}
		others := 2
		err := w.write(w.mainOf("a"), anything(), func() {
			if others > 0 && w.one(2) {
				others--
				_ = w.write(w.mainOf(w.pick("a", "b")), anything(), func() {})
			}
		})
		if err != nil && !errors.Is(err, table.ErrExists) && !errors.Is(err, table.ErrNotFound) {
			fail("%v", err)
		}
		whole := 0
		for _, id := range []string{"a", "b"} {
			if main := w.mainOf(id); main != (keys.Key{}) {
				if err := w.check(main); err != nil {
					fail("%s: %v", id, err)
				}
				s, _ := w.storedItem(w.items[main])
				whole += len(slices.DeleteFunc(s.keys, func(key keys.Key) bool { return key == keys.Key{} }))
			}
		}
		if whole != len(w.items) {
			fail("%d items, %d of whole entities: %v", len(w.items), whole, w.items)
		}
	})
}

// A job refreshes each item until nothing changes. Then every entity is whole that was not
// set aside, and no main item is lost.
func TestPlansOfAJob(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world, fail func(string, ...any)) {
		w.fill()
		before := maps.Clone(w.items)
		aside := map[keys.Key]error{}
		for round, changed := 0, true; changed; round++ {
			if round > 6 {
				fail("no end")
			}
			changed = false
			clear(aside)
			for _, key := range slices.SortedFunc(maps.Keys(w.items), func(a, b keys.Key) int { return strings.Compare(string(a.PK)+string(a.SK), string(b.PK)+string(b.SK)) }) {
				if w.items[key] == nil || w.checkType(w.items[key]) != nil {
					continue
				}
				p, err := w.refresh(key)
				if err != nil {
					aside[key] = err
					continue
				}
				if failed := w.run(p); failed != nil {
					fail("%v: %+v", key, failed)
				}
				changed = changed || len(p.steps) > 0
			}
		}
		for key := range w.items {
			if s, err := w.storedItem(w.items[key]); err == nil && w.checkType(w.items[key]) == nil && s.keys[0] == key && aside[key] == nil {
				if err := w.check(key); err != nil {
					fail("%v: %v, aside %v", key, err, aside)
				}
			}
		}
		for key, is := range before {
			s, err := w.storedItem(is)
			if err != nil || w.checkType(is) != nil || s.keys[0] != key {
				continue
			}
			if of, err := w.storedItem(w.items[key]); err != nil || !w.holds(of, s) {
				fail("%v is lost: %v, now %v", key, show(is), show(w.items[key]))
			}
			if copied := s.keys[2]; copied != (keys.Key{}) && before[copied] != nil && w.stampOf(before[copied]) == s.stamp && w.items[copied] == nil {
				fail("the copy of %v is lost: %v", key, show(is))
			}
		}
	})
}

// What became of the main item decides what a failed transaction says of a plan.
func TestOutcome(t *testing.T) {
	t.Parallel()
	c := plannedCore(t)
	a, b := planned{ID: "a", Mail: "m1", Team: "A"}, planned{ID: "b", Mail: "m1", Team: "A"}
	made := func(v planned) table.Item {
		fields, err := c.encode(&v)
		if err != nil {
			t.Fatal(err)
		}
		return c.whole(2, v.byMail(), &v, fields, stamp{revision: "r"}).Item
	}
	failed := func(step int, err error, stored table.Item) *table.Error {
		return &table.Error{OpNumber: step + 1, Key: a.byMail(), Stored: stored, Err: err}
	}
	const main, copied, other = 0, 1, 2
	for name, tt := range map[string]struct {
		main   verb
		failed []*table.Error
		want   outcome
		doubt  bool
	}{
		"the main item has changed":              {patch, []*table.Error{failed(main, table.ErrStale, nil)}, overtaken, false},
		"the main key is taken":                  {create, []*table.Error{failed(main, table.ErrExists, nil)}, final, false},
		"a main item has come":                   {none, []*table.Error{failed(main, table.ErrExists, nil)}, overtaken, false},
		"a copy has drifted":                     {patch, []*table.Error{failed(copied, table.ErrStale, nil)}, doubtful, true},
		"the copy is there already":              {patch, []*table.Error{failed(copied, table.ErrExists, made(a))}, doubtful, true},
		"its key is taken":                       {patch, []*table.Error{failed(copied, table.ErrExists, made(b))}, final, false},
		"its key is taken, the main has changed": {patch, []*table.Error{failed(main, table.ErrStale, nil), failed(copied, table.ErrExists, made(b))}, overtaken, false},
		"the caller's op fails":                  {patch, []*table.Error{failed(other, table.ErrConditionFailed, nil)}, final, false},
		"the caller's op meets a conflict":       {patch, []*table.Error{failed(other, table.ErrConflict, nil)}, overtaken, false},
	} {
		s := &snapshot{main: &stored{v: &a, keys: c.keysOf(&a)}, doubts: doubts{}}
		p := &plan{steps: []step{{verb: tt.main, main: true}, {verb: create}}}
		if got := c.outcome(&table.TxError{Failed: tt.failed, Err: errors.New("cancelled")}, s, p); got != tt.want || s.doubts[a.byMail()] != tt.doubt {
			t.Errorf("%s: %v, doubts %v", name, got, s.doubts)
		}
	}
}
