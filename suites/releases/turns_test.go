package releases_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/suites/releases/program"
	"github.com/singletable/singletable/table"
)

// ok does a call that is to succeed, and returns its value.
func ok(t *testing.T, p caller, c program.Call) program.Value {
	t.Helper()
	r := p.Do(t.Context(), c)
	expect.Equal(t, c.Verb+" "+c.Of, r.Err, "")
	return r.Value
}

// fails does calls that are to fail with errors of a class.
func fails(t *testing.T, p caller, class string, calls ...program.Call) {
	t.Helper()
	for _, c := range calls {
		expect.Equal(t, c.Verb+" "+c.Of, p.Do(t.Context(), c).Err, class)
	}
}

func doc(id, email string, aliases ...string) program.Value {
	return program.Value{Doc: released.Doc{ID: id, Email: email, Aliases: aliases}}
}

// writesOf are the writes of a value over the one that was read.
func writesOf(of string, old program.Value) []program.Call {
	v := old
	v.N++
	return []program.Call{
		{Verb: "save", Of: of, New: v},
		{Verb: "updateOps", Of: of, Old: old, New: v},
		{Verb: "deleteOps", Of: of, Old: old},
	}
}

// kept are what each release keeps of the other's writes: one is a, the other b.
var kept = map[string]func(t *testing.T, tbl *table.Table, a, b caller){
	"values, versions, copies and claims": func(t *testing.T, tbl *table.Table, a, b caller) {
		for _, of := range []string{released.Tally, released.Grown, released.Counted, released.Revised, released.Shaped, released.Sealed} {
			v := doc("1", "one@x", "i", "ii")
			if of == released.Tally || of == released.Grown {
				v = doc("1", "")
			}
			v = ok(t, a, program.Call{Verb: "create", Of: of, New: v})
			for range 2 {
				expect.Equal(t, "stored", ok(t, b, program.Call{Verb: "get", Of: of, ID: "1"}), v)
				before := storedText(t, tbl)
				ok(t, b, program.Call{Verb: "refresh", Of: of, ID: "1"})
				expect.Equal(t, "refreshed", storedText(t, tbl), before)
				n := ok(t, b, program.Call{Verb: "add", Of: of, ID: "1"})
				expect.Equal(t, "version", n.Version == 0 || n.Version == v.Version+1, true)
				v = n
				v.N++
				v = ok(t, b, program.Call{Verb: "save", Of: of, New: v})
				w := v
				w.N++
				v = ok(t, b, program.Call{Verb: "updateOps", Of: of, Old: v, New: w})
				a, b = b, a
			}
			expect.Equal(t, "n", v.N, 6)
			consistent(t, tbl)
			ok(t, b, program.Call{Verb: "delete", Of: of, ID: "1"})
		}
		expect.Equal(t, "items", len(stored(t, tbl)), 0)
	},
	"a stale value": func(t *testing.T, tbl *table.Table, a, b caller) {
		for _, of := range []string{released.Tally, released.Grown, released.Counted, released.Revised, released.Shaped} {
			ok(t, a, program.Call{Verb: "create", Of: of, New: doc("1", "one@x", "i")})
			old := ok(t, b, program.Call{Verb: "get", Of: of, ID: "1"})
			ok(t, a, program.Call{Verb: "add", Of: of, ID: "1"})
			fails(t, b, "stale", writesOf(of, old)...)
			consistent(t, tbl)
		}
	},
	"unique values": func(t *testing.T, tbl *table.Table, a, b caller) {
		for _, of := range []string{released.Counted, released.Revised, released.Shaped} {
			email, alias := doc("2", "one@x"), doc("2", "two@x", "i")
			ok(t, a, program.Call{Verb: "create", Of: of, New: doc("1", "one@x", "i")})
			fails(t, b, "exists", program.Call{Verb: "create", Of: of, New: email}, program.Call{Verb: "create", Of: of, New: alias})
			expect.Equal(t, "claimed", ok(t, b, program.Call{Verb: "claimed", Of: of, ID: "i"}).ID, "1")
			ok(t, b, program.Call{Verb: "update", Of: of, ID: "1", New: doc("1", "moved@x", "ii")})
			ok(t, a, program.Call{Verb: "create", Of: of, New: doc("2", "one@x", "i")})
			fails(t, a, "exists", program.Call{Verb: "update", Of: of, ID: "2", New: doc("2", "moved@x")})
			fails(t, b, "exists", program.Call{Verb: "update", Of: of, ID: "2", New: doc("2", "one@x", "ii")})
			consistent(t, tbl)
			ok(t, b, program.Call{Verb: "delete", Of: of, ID: "1"})
			ok(t, a, program.Call{Verb: "update", Of: of, ID: "2", New: doc("2", "moved@x", "ii")})
			consistent(t, tbl)
		}
	},
	"a program before the upgrade": func(t *testing.T, tbl *table.Table, a, b caller) {
		const before = released.Shaped + " before"
		ok(t, a, program.Call{Verb: "create", Of: before, New: doc("1", "one@x", "i")})
		expect.Equal(t, "derived", ok(t, b, program.Call{Verb: "get", Of: released.Shaped, ID: "1"}).Mailbox, "one")
		ok(t, b, program.Call{Verb: "add", Of: released.Shaped, ID: "1"})
		ok(t, a, program.Call{Verb: "update", Of: before, ID: "1", New: doc("1", "two@x", "i")})
		expect.Equal(t, "derived again", ok(t, b, program.Call{Verb: "get", Of: released.Shaped, ID: "1"}).Mailbox, "two")
		ok(t, b, program.Call{Verb: "refresh", Of: released.Shaped, ID: "1"})
		consistent(t, tbl)
		ok(t, a, program.Call{Verb: "add", Of: before, ID: "1"})
		ok(t, a, program.Call{Verb: "delete", Of: before, ID: "1"})
		expect.Equal(t, "items", len(stored(t, tbl)), 0)
	},
	"a shape that is too new": func(t *testing.T, tbl *table.Table, a, b caller) {
		const before = released.Sealed + " before"
		v := ok(t, a, program.Call{Verb: "create", Of: released.Sealed, New: doc("1", "one@x", "i")})
		text := storedText(t, tbl)
		fails(t, b, "newer shape", append(writesOf(before, v), []program.Call{
			{Verb: "get", Of: before, ID: "1"},
			{Verb: "add", Of: before, ID: "1"},
			{Verb: "refresh", Of: before, ID: "1"},
			{Verb: "delete", Of: before, ID: "1"},
		}...)...)
		expect.Equal(t, "stored", storedText(t, tbl), text)
	},
	"a request once": func(t *testing.T, tbl *table.Table, a, b caller) {
		c := program.Call{Verb: "once", Of: released.Revised, ID: "k", New: doc("", "payload")}
		first := ok(t, a, c)
		again := b.Do(t.Context(), c)
		expect.Equal(t, "repeated", again, program.Response{Value: first, Again: true})
		c.New.Email = "another"
		fails(t, b, "another payload", c)
		expect.Equal(t, "an entity and a record", len(stored(t, tbl)), 2)
	},
	"a lease": func(t *testing.T, _ *table.Table, a, b caller) {
		acquire, release := program.Call{Verb: "acquire", ID: "l"}, program.Call{Verb: "release", ID: "l"}
		for _, p := range [][2]caller{{a, b}, {b, a}} {
			ok(t, p[0], acquire)
			fails(t, p[1], "held", acquire)
			ok(t, p[0], release)
		}
	},
	"a counter, and what is derived next to it": func(t *testing.T, tbl *table.Table, a, b caller) {
		const before = released.Grown + " before"
		get, refresh := program.Call{Verb: "get", Of: released.Grown, ID: "1"}, program.Call{Verb: "refresh", Of: released.Grown, ID: "1"}
		ok(t, a, program.Call{Verb: "create", Of: before, New: doc("1", "one@x")})
		for i, p := range []caller{b, a, b, a} {
			ok(t, p, program.Call{Verb: "count", Of: released.Grown, New: doc("1", "")})
			v := ok(t, p, program.Call{Verb: "update", Of: before, ID: "1", New: program.Value{Doc: released.Doc{ID: "1", Email: fmt.Sprint(i, "@x"), N: 3*i + 2}}})
			expect.Equal(t, "n", v.N, 3*i+2)
			ok(t, p, program.Call{Verb: "count", Of: before, New: doc("1", "")})
			for _, reader := range []caller{a, b} {
				v := ok(t, reader, get)
				expect.Equal(t, "derived", fmt.Sprint(v.Mailbox, " ", v.N), fmt.Sprint(i, " ", 3*i+3))
				ok(t, reader, refresh)
			}
			text := storedText(t, tbl)
			ok(t, a, refresh)
			ok(t, b, refresh)
			expect.Equal(t, "refreshed", storedText(t, tbl), text)
		}
	},
	"a counter": func(t *testing.T, _ *table.Table, a, b caller) {
		for i, p := range []caller{a, b, a, b} {
			v := ok(t, p, program.Call{Verb: "count", Of: released.Tally, New: doc("1", "")})
			expect.Equal(t, "n", v.N, i+1)
			v = ok(t, p, program.Call{Verb: "count", Of: released.Plain, New: doc("1", "")})
			expect.Equal(t, "n", v.N, i+1)
		}
	},
}

func TestReleasesByTurns(t *testing.T) {
	t.Parallel()
	for name, row := range kept {
		for _, order := range []string{"0.1.0-rc.1 first", "this release first"} {
			t.Run(name+", "+order, func(t *testing.T) {
				t.Parallel()
				s := newSide(t)
				if order == "this release first" {
					row(t, s.table, s.new, s.old)
				} else {
					row(t, s.table, s.old, s.new)
				}
			})
		}
	}
}

func storedText(t *testing.T, tbl *table.Table) string {
	t.Helper()
	return lines(stored(t, tbl))
}

// consistent checks that each entity has exactly its own items. It knows how these are
// stored, and uses nothing of repo.
func consistent(t *testing.T, tbl *table.Table) {
	t.Helper()
	all := stored(t, tbl)
	found, wanted := map[string]string{}, map[string]string{}
	for _, it := range all {
		text := func(name string) string { return item.Text(it[name]) }
		pk, of := text("pk"), strings.TrimSuffix(text("entityType"), " claim")
		switch {
		case strings.HasPrefix(pk, "IDE#"):
			continue
		case of != text("entityType"):
			found[pk] = "claim of " + text("ownerPK")
			continue
		}
		without := maps.Clone(it)
		maps.DeleteFunc(without, func(name string, _ types.AttributeValue) bool { return name == "pk" || strings.HasPrefix(name, "gsi") })
		found[pk] = string(item.JSON(without))
		if pk != string(released.Key(of, text("id")).PK) {
			continue
		}
		wanted[pk] = found[pk]
		var d released.Doc
		expect.OK(t, it.Decode(&d))
		if of == released.Plain || of == released.Tally || of == released.Grown {
			continue
		}
		if key := released.EmailKey(of, d.Email); d.Email != "" {
			wanted[string(key.PK)] = found[pk]
		}
		for _, alias := range d.Aliases {
			wanted[string(released.AliasKey(of, alias).PK)] = "claim of " + pk
		}
	}
	for _, pk := range slices.Sorted(maps.Keys(found)) {
		if wanted[pk] != found[pk] {
			t.Errorf("stored under %s is %s, want %q", pk, found[pk], wanted[pk])
		}
		delete(wanted, pk)
	}
	expect.Equal(t, "missing", wanted, map[string]string{})
}

// A Patch, which 0.1.0-rc.1 does not have, is to it a write as any other.
func TestPatchIsSeen(t *testing.T) {
	t.Parallel()
	s := newSide(t)
	ok(t, s.old, program.Call{Verb: "create", Of: released.Grown, New: doc("1", "one@x")})
	old := ok(t, s.old, program.Call{Verb: "get", Of: released.Grown, ID: "1"})
	grown := expect.Value(repo.New(s.table, released.Upgraded(released.Grown)))(t)
	expect.Value(grown.Patch(t.Context(), released.Key(released.Grown, "1"), repo.Patch{Set: map[string]any{"email": "two@x"}}))(t)
	fails(t, s.old, "stale", writesOf(released.Grown, old)...)
	expect.Equal(t, "derived", ok(t, s.old, program.Call{Verb: "get", Of: released.Grown, ID: "1"}).Mailbox, "two")
}
