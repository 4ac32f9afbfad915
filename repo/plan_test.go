package repo

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Plans are tried on states drawn at random, of items in a map: no engine, no requests.

type planned struct {
	ID    string `dynamodbav:"id"`
	Mail  string `dynamodbav:"mail,omitempty"`
	Team  string `dynamodbav:"team,omitempty"`
	Cents int    `dynamodbav:"cents"`
	Rev   string `dynamodbav:"rev,omitempty"`
}

func plannedKey(prefix string) func(planned) keys.Key {
	return func(v planned) keys.Key { return keys.Key{PK: keys.Prefix(prefix).PK(v.ID), SK: "M"} }
}

func mailOf(prefix string) func(planned) keys.Key {
	return func(v planned) keys.Key {
		if v.Mail == "" {
			return keys.Key{}
		}
		return keys.Key{PK: keys.Prefix(prefix).PK(v.Mail), SK: "M"}
	}
}

// teamOf is the key of the main item, which moves with the team.
func teamOf(v planned) keys.Key {
	return keys.Key{PK: keys.Prefix("T").PK("t" + v.Team), SK: keys.SK("M#" + v.ID)}
}

var plannedEntity = Entity[planned]{
	Type: "P", Version: "rev", Key: teamOf,
	Indexes: Indexes[planned]{"GSI1": func(v planned) keys.Key {
		if v.Cents%3 == 0 {
			return keys.Key{}
		}
		return keys.Key{PK: "CENTS", SK: keys.SK(strconv.Itoa(v.Cents))}
	}},
	Copies: []Copy[planned]{{Name: "by id", Key: plannedKey("ID")}, {
		Name: "by mail", Key: mailOf("MAIL"),
		Indexes: Indexes[planned]{"GSI2": func(v planned) keys.Key { return keys.Key{PK: "MAILS", SK: keys.SK(v.ID)} }},
	}},
	FormerKeys: []func(planned) keys.Key{plannedKey("OLD")}, FormerCopies: []func(planned) keys.Key{mailOf("OLDMAIL")},
	Upgrades: []Upgrade{Convert("total", "cents", func(s string) (int, error) { return strconv.Atoi(s) })},
}

func plannedCore(tb testing.TB) *core {
	tb.Helper()
	spec := schema.Table{Name: "Plans", Indexes: []schema.Index{
		{Name: "GSI1", PK: "g1p", SK: "g1s"}, {Name: "GSI2", PK: "g2p", SK: "g2s"}, {Name: "GSI3", PK: "g3p", SK: "g3s"},
	}}
	t, err := table.New(dynamodb.New(dynamodb.Options{}), spec, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := New(t, plannedEntity)
	if err != nil {
		tb.Fatal(err)
	}
	return &r.core
}

// world is a table in memory.
type world struct {
	*core
	items map[keys.Key]table.Item
	rnd   *rand.Rand
	tick  int
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func (w *world) one(n int) bool { return w.rnd.IntN(n) == 0 }

func (w *world) pick(of ...string) string { return of[w.rnd.IntN(len(of))] }

func (w *world) draw(id string) planned {
	return planned{ID: id, Mail: w.pick("", "m1", "m2"), Team: w.pick("1", "2"), Cents: w.rnd.IntN(9)}
}

func (w *world) stamp() stamp {
	w.tick++
	return stamp{revision: "r" + strconv.Itoa(w.tick) + w.pick("", ".", "..", "...")}
}

// put stores an item of v that a program may have left.
func (w *world) put(i int, key keys.Key, v planned, s stamp, more table.Item) {
	if key == (keys.Key{}) || w.items[key] != nil {
		return
	}
	fields, err := w.encode(&v)
	if err != nil {
		panic(err)
	}
	made := w.whole(i, key, &v, fields, s)
	maps.Copy(made.Item, more)
	if s == (stamp{}) {
		delete(made.Item, "rev")
	}
	// Items of one revision are of one shape.
	if s == (stamp{}) && w.one(4) || s != (stamp{}) && len(s.revision)%2 == 1 {
		made.Item["total"] = text(strconv.Itoa(v.Cents))
		delete(made.Item, "cents")
		delete(made.Item, w.shapes.attribute)
	}
	w.items[key] = made.Item
}

// fill draws a state: two entities, with items as other releases and programs leave them.
func (w *world) fill() {
	for _, id := range []string{"a", "b"} {
		v, s := w.draw(id), w.stamp()
		if w.one(6) {
			s = stamp{}
		}
		unknown := table.Item{"x": text("x" + id), "g3p": text("main"), "g3s": text(id)}
		main := w.entity.Key(&v)
		switch w.rnd.IntN(8) {
		case 0:
			continue
		case 1:
			main = w.entity.FormerKeys[0](&v)
		case 2: // both, alike or not
			of := v
			if w.one(2) {
				of.Cents++
			}
			w.put(0, w.entity.FormerKeys[0](&of), of, w.stamp(), nil)
		}
		w.put(0, main, v, s, unknown)
		for i := 1; i < 3; i++ {
			own := maps.Clone(unknown)
			delete(own, "g3p")
			delete(own, "g3s")
			if w.one(3) {
				own["g3p"], own["g3s"] = text("copy"+strconv.Itoa(i)), text(id) // of another release
			}
			of, held := v, s
			switch w.rnd.IntN(6) {
			case 0:
				continue
			case 1:
				of.Cents, held, own["y"] = of.Cents+1, w.stamp(), text("gone")
				delete(own, "x")
			case 2:
				of.Mail, held = w.pick("m1", "m2", "m3"), w.stamp() // stale, and elsewhere
			}
			w.put(i, w.core.items[i].Key(&of), of, held, own)
		}
		if of := v; w.one(3) {
			w.put(0, w.entity.FormerCopies[0](&of), of, w.stamp(), nil)
		}
	}
	if w.one(5) { // of another type
		key := mailOf("MAIL")(planned{Mail: w.pick("m1", "m2")})
		w.items[key] = table.Item{"pk": text(string(key.PK)), "sk": text("M"), "entityType": text("OTHER")}
	}
}

// holds reports whether the guard of a change does.
func (w *world) guarded(ch step) bool {
	item := w.items[ch.key]
	switch {
	case ch.verb == create, ch.verb == none:
		return item == nil
	case item == nil:
		return ch.gone && ch.held == stamp{} && ch.as == nil
	case w.checkType(item) != nil || w.stampOf(item) != ch.held:
		return false
	}
	return ch.held != stamp{} || ch.as == nil || maps.EqualFunc(item, ch.as, same)
}

// apply runs a plan as a transaction, or returns what makes it fail.
func (w *world) apply(p *plan) (failed []step) {
	for _, ch := range p.steps {
		if !w.guarded(ch) {
			failed = append(failed, ch)
		}
	}
	if failed != nil {
		return failed
	}
	for _, ch := range p.steps {
		switch ch.verb {
		case create, replace:
			w.items[ch.key] = maps.Clone(ch.item)
		case remove:
			delete(w.items, ch.key)
		case patch:
			item := maps.Clone(w.items[ch.key])
			maps.Copy(item, ch.diff.set)
			for _, name := range ch.diff.remove {
				delete(item, name)
			}
			w.items[ch.key] = item
		}
	}
	return nil
}

// write does what core.update, delete and refresh do, and calls between the reads.
func (w *world) write(at keys.Key, want func(old *stored) wish, between func()) error {
	d := doubts{}
	for range 20 {
		item := w.items[at]
		if item == nil || w.checkType(item) != nil {
			return table.ErrNotFound
		}
		old, err := w.storedItem(item)
		if err != nil {
			return err
		}
		if old.keys[0] != at && w.entity.FormerKeys[0](old.v) != at {
			return ErrOrphan
		}
		if old.keys[0] != at && w.items[old.keys[0]] != nil {
			return table.ErrExists // planLoose is about it
		}
		s := &snapshot{main: old, at: at}
		s.doubts, s.seen = d, map[keys.Key]table.Item{}
		ws := want(old)
		p, err := w.plan(s, ws)
		for err == nil && len(p.need) > 0 {
			between()
			for _, key := range p.need {
				if item := w.items[key]; item != nil {
					s.seen[key] = maps.Clone(item)
				} else {
					s.seen[key] = nil
				}
			}
			p, err = w.plan(s, ws)
		}
		between()
		if err != nil {
			if now := w.items[at]; now == nil || !maps.EqualFunc(now, item, same) {
				continue
			}
			return err
		}
		failed := w.apply(p)
		if failed == nil {
			return nil
		}
		lost := slices.ContainsFunc(failed, func(ch step) bool { return ch.main })
		for _, ch := range failed {
			d[ch.key] = !ch.main
			if ch.main && ch.verb == create && !slices.ContainsFunc(failed, func(o step) bool { return o.main && o.verb != create }) {
				return table.ErrExists
			}
		}
		_ = lost
	}
	return errors.New("no end")
}

// check reports items of an entity that are not as described.
func (w *world) check(id string, main keys.Key, exact bool) error {
	item := w.items[main]
	s, err := w.storedItem(item)
	if err != nil {
		return err
	}
	if v := s.v.(*planned); v.ID != id || s.stamp == (stamp{}) || s.shape != w.shapes.current {
		return fmt.Errorf("main: %+v", v)
	}
	for i, key := range s.keys {
		if key == (keys.Key{}) {
			continue
		}
		have := w.items[key]
		want := w.whole(i, key, s.v, maps.Clone(item), s.stamp).Item
		if i > 0 {
			delete(want, "g3p")
			delete(want, "g3s")
			for _, name := range []string{"g3p", "g3s"} {
				if value, has := have[name]; has {
					want[name] = value
				}
			}
		}
		if !maps.EqualFunc(have, want, same) {
			return fmt.Errorf("item %d under %v:\nhave %v\nwant %v", i, key, show(have), show(want))
		}
	}
	return nil
}

func show(item table.Item) map[string]string {
	all := map[string]string{}
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			all[name] = v.Value
		case *types.AttributeValueMemberN:
			all[name] = v.Value
		}
	}
	return all
}

func owner(item table.Item) string { return show(item)["entityType"] + show(item)["id"] }

func TestPlansOfRandomStates(t *testing.T) {
	t.Parallel()
	c := plannedCore(t)
	counts := map[string]int{}
	for seed := range uint64(2000) {
		w := &world{core: c, items: map[keys.Key]table.Item{}, rnd: rand.New(rand.NewPCG(seed, 1))}
		w.fill()
		var at keys.Key
		for _, key := range slices.SortedFunc(maps.Keys(w.items), func(a, b keys.Key) int { return len(a.PK) - len(b.PK) }) {
			if s, err := w.storedItem(w.items[key]); err == nil && show(w.items[key])["id"] == "a" && w.checkType(w.items[key]) == nil && (s.keys[0] == key || c.entity.FormerKeys[0](s.v) == key) {
				at = key
			}
		}
		if at == (keys.Key{}) {
			continue
		}
		before := maps.Clone(w.items)
		to, kind := w.draw("a"), w.rnd.IntN(3)
		err := w.write(at, func(old *stored) wish {
			switch kind {
			case 0:
				return wish{}
			case 1:
				v := *old.v.(*planned)
				v.Mail, v.Team, v.Cents = to.Mail, to.Team, to.Cents
				return wish{v: &v, becomes: w.stamp()}
			}
			v := *old.v.(*planned)
			return wish{v: &v, becomes: w.stamp(), exact: true}
		}, func() {})
		counts[fmt.Sprint(kind, " ", err == nil)]++
		fail := func(format string, args ...any) {
			t.Fatalf("seed %d, kind %d: %s", seed, kind, fmt.Sprintf(format, args...))
		}
		for key, item := range before {
			if owner(item) != "Pa" && !maps.EqualFunc(item, w.items[key], same) {
				fail("another entity's item under %v has changed", key)
			}
		}
		if err != nil {
			if !errors.Is(err, table.ErrExists) {
				fail("%v", err)
			}
			if !maps.EqualFunc(before, w.items, func(a, b table.Item) bool { return maps.EqualFunc(a, b, same) }) {
				fail("items have changed in spite of %v", err)
			}
			continue
		}
		old, _ := w.storedItem(before[at])
		main := old.keys[0]
		switch kind {
		case 0:
			for _, key := range slices.Concat(old.keys, c.formerKeys(old.v)) {
				if owner(w.items[key]) == "Pa" {
					fail("left under %v", key)
				}
			}
			continue
		case 1:
			of := *old.v.(*planned)
			of.Mail, of.Team, of.Cents = to.Mail, to.Team, to.Cents
			if of == *old.v.(*planned) {
				continue // nothing is written
			}
			main = c.entity.Key(&of)
			for _, key := range append(old.keys, c.entity.FormerCopies[0](old.v)) {
				if key == c.entity.FormerCopies[0](&of) {
					continue
				}
				if !slices.Contains(c.keysOf(&of), key) && owner(w.items[key]) == "Pa" {
					fail("left under the old key %v", key)
				}
			}
		}
		if err := w.check("a", main, true); err != nil {
			fail("%v", err)
		}
		if have := show(w.items[main]); have["x"] != show(before[at])["x"] || have["g3p"] != show(before[at])["g3p"] {
			fail("unknown attributes are lost: %v", have)
		}
		now, _ := w.storedItem(w.items[main])
		s := &snapshot{main: now, at: main}
		s.seen = map[keys.Key]table.Item{}
		for _, key := range now.keys[1:] {
			s.seen[key] = w.items[key]
		}
		v := *now.v.(*planned)
		if p, err := c.plan(s, wish{v: &v, becomes: w.stamp(), exact: true}); err != nil || len(p.steps) > 0 {
			fail("planned again: %v %+v", err, p)
		}
	}
	t.Log(counts)
}

// Two writers, one between the reads and the write of the other: what is stored is whole.
func TestPlansOfTwoWriters(t *testing.T) {
	t.Parallel()
	c := plannedCore(t)
	counts := map[string]int{}
	for seed := range uint64(2000) {
		w := &world{core: c, items: map[keys.Key]table.Item{}, rnd: rand.New(rand.NewPCG(seed, 2))}
		for _, id := range []string{"a", "b"} {
			v, s := w.draw(id), w.stamp()
			if id == "b" && w.items[mailOf("MAIL")(v)] != nil {
				v.Mail = ""
			}
			for i := range c.items {
				w.put(i, c.items[i].Key(&v), v, s, nil)
			}
		}
		find := func(id string) keys.Key {
			for key, item := range w.items {
				if s, err := w.storedItem(item); err == nil && show(item)["id"] == id && s.keys[0] == key {
					return key
				}
			}
			return keys.Key{}
		}
		random := func() func(*stored) wish {
			to, kind := w.draw(""), w.rnd.IntN(8)
			return func(old *stored) wish {
				v := *old.v.(*planned)
				switch {
				case kind == 0:
					return wish{}
				case kind > 4:
					return wish{v: &v, becomes: w.stamp(), exact: true}
				}
				v.Mail, v.Team, v.Cents = to.Mail, to.Team, to.Cents
				return wish{v: &v, becomes: w.stamp()}
			}
		}
		left := 2
		err := w.write(find("a"), random(), func() {
			if left > 0 && w.one(2) {
				left--
				_ = w.write(find(w.pick("a", "b")), random(), func() {})
			}
		})
		counts[fmt.Sprint(err)]++
		seen := 0
		for _, id := range []string{"a", "b"} {
			main := find(id)
			if main == (keys.Key{}) {
				continue
			}
			s, _ := w.storedItem(w.items[main])
			for i, key := range s.keys {
				if key != (keys.Key{}) {
					if w.items[key] == nil || owner(w.items[key]) != "P"+id || w.stampOf(w.items[key]) != s.stamp {
						t.Fatalf("seed %d: %s, item %d under %v: %v, main %v", seed, id, i, key, show(w.items[key]), show(w.items[main]))
					}
					seen++
				}
			}
		}
		if seen != len(w.items) {
			t.Fatalf("seed %d: %d items, %d of entities: %v", seed, len(w.items), seen, w.items)
		}
	}
	t.Log(counts)
}

// A job that refreshes each item, until nothing changes, leaves every entity whole, and
// loses nothing of an item that it cannot bring over.
func TestPlansOfAJob(t *testing.T) {
	t.Parallel()
	c := plannedCore(t)
	counts := map[string]int{}
	for seed := range uint64(2000) {
		w := &world{core: c, items: map[keys.Key]table.Item{}, rnd: rand.New(rand.NewPCG(seed, 3))}
		w.fill()
		before := maps.Clone(w.items)
		aside := map[keys.Key]error{}
		for round, changed := 0, true; changed; round++ {
			if round > 6 {
				t.Fatalf("seed %d: no end", seed)
			}
			changed = false
			clear(aside)
			for _, key := range slices.SortedFunc(maps.Keys(w.items), func(a, b keys.Key) int {
				return strings.Compare(string(a.PK+"|")+string(a.SK), string(b.PK+"|")+string(b.SK))
			}) {
				item := w.items[key]
				if item == nil || w.checkType(item) != nil {
					continue
				}
				p, err := w.refreshed(key, item)
				if err != nil {
					aside[key] = err
					continue
				}
				if failed := w.apply(p); failed != nil {
					t.Fatalf("seed %d: %v: %+v", seed, key, failed)
				}
				changed = changed || len(p.steps) > 0
			}
		}
		for key, item := range w.items {
			if w.checkType(item) != nil || aside[key] != nil {
				continue
			}
			s, err := w.storedItem(item)
			if err != nil {
				t.Fatal(err)
			}
			if main := s.keys[0]; aside[main] == nil && aside[plannedKey("OLD")(*s.v.(*planned))] == nil {
				if err := w.check(s.v.(*planned).ID, main, true); err != nil {
					t.Fatalf("seed %d: %v: %v, aside %v", seed, key, err, aside)
				}
			}
		}
		for key, item := range before { // a main item, present or former, is somewhere
			s, err := w.storedItem(item)
			if err != nil || w.checkType(item) != nil || s.keys[0] != key && plannedKey("OLD")(*s.v.(*planned)) != key {
				continue
			}
			now := w.items[key]
			if now == nil {
				now = w.items[s.keys[0]]
			}
			if of, err := w.storedItem(now); err != nil || !w.holds(of, s) {
				t.Fatalf("seed %d: %v is lost: %v, now %v", seed, key, show(item), show(now))
			}
		}
		counts[fmt.Sprint(len(aside))]++
	}
	t.Log(counts)
}

// refreshed is what refreshOps does.
func (w *world) refreshed(key keys.Key, item table.Item) (*plan, error) {
	s, kind, err := w.identify(key, item)
	if err != nil {
		return nil, err
	}
	f := &found{item: s, key: key, kind: kind, seen: map[keys.Key]table.Item{key: item}}
	for {
		need, err := w.lead(f)
		if err != nil {
			return nil, err
		}
		if need == (keys.Key{}) {
			break
		}
		f.seen[need] = w.items[need]
	}
	if f.of == nil || f.of.at != key {
		return w.planLoose(f)
	}
	f.of.seen = map[keys.Key]table.Item{}
	v := *s.v.(*planned)
	for ws := (wish{v: &v, becomes: w.stamp(), exact: true}); ; {
		p, err := w.plan(f.of, ws)
		if err != nil || len(p.need) == 0 {
			return p, err
		}
		for _, key := range p.need {
			f.of.seen[key] = w.items[key]
		}
	}
}
