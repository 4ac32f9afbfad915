package peers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/benchmarks/figure"
	"github.com/singletable/singletable/table"
)

// peer is a library of others with what holds next to it.
type peer struct {
	name, file, pkg string
	spec            schema.Table
	open            func(*table.Table) (orders, error)
	// order returns an order as the peer takes it.
	order func(order) values
	// lists means that it has lists in place of sets.
	lists bool
	// update, if it is there, adds what the peer's update needs for the keys of its index.
	update func(set values) values
	writes []write
	rows   []row
}

// row is something that holds. see returns what it has seen. What is usual stands in words on the
// page docs/share-a-table.md: it holds for all libraries that can do it.
type row struct {
	call, holds string
	see         func(*shop, *peer) string
	usual       bool
}

// usual marks rows.
func usual(rows []row) []row {
	for i := range rows {
		rows[i].usual = true
	}
	return rows
}

// write is a call of a peer that writes an order, and what it does next to a write of ours.
type write struct {
	call string
	// do sets members of the order that was read as held.
	do func(s *shop, held, set values) error
	// same and other are what becomes of its change between the read and the write of our
	// Update of the same attribute, and of another one. after is what becomes of our Update
	// between its read and its call, and deleted what it does after our Delete.
	// saved is what becomes of its change between the read and the write of our Save.
	same, other, saved, after, deleted string
}

var peers = []*peer{electrodb, toolbox, onetable, typedorm, dynamoose, authjs, castore, powertools}

func TestPeers(t *testing.T) {
	t.Parallel()
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range p.rows {
				t.Run(r.call, func(t *testing.T) {
					t.Parallel()
					expect.Equal(t, r.call, r.see(newShop(t, p.file, p.spec), p), r.holds)
				})
			}
			for _, w := range p.writes {
				t.Run("race with "+w.call, func(t *testing.T) {
					t.Parallel()
					s := func() *shop { return newShop(t, p.file, p.spec) }
					got := [...]string{w.during(s(), p, "total"), w.during(s(), p, "status"), w.saving(s(), p), w.late(s(), p), w.afterDelete(s(), p)}
					expect.Equal(t, w.call, got, [...]string{w.same, w.other, w.saved, w.after, w.deleted})
				})
			}
		})
	}
}

//go:generate go test . -run ^TestThePage -update

// TestThePageHasTheRows compares the page with the calls that write, and testdata/holds.txt
// with all else that holds, or writes them.
func TestThePageHasTheRows(t *testing.T) {
	t.Parallel()
	versions := versions(t)
	calls := [][]string{{"library", "its call", "then our `Save`", "our `Update` before it", "our `Delete` before it"}}
	holds := ""
	for _, p := range peers {
		calls = append(calls, p.calls(t)...)
		holds += p.holds(t, versions) + "\n"
	}
	var stored, read [][]string
	for _, v := range stores {
		stored = append(stored, append([]string{v.what}, v.holds...))
	}
	for _, v := range reads {
		read = append(read, append([]string{v.what}, v.holds...))
	}
	part(t, "../../docs/share-a-table.md", "calls", figure.Table("|---|---|---|---|---|", calls...))
	expect.Golden(t, "holds.txt", "What others do next to this library: see doc.go.\n\n"+holds+
		matrix("what it is given", stored)+"\n"+matrix("what Go has stored", read))
}

// part compares the part of a page between two marks with text, or writes it.
func part(t *testing.T, page, name, text string) {
	t.Helper()
	begin, end := "<!-- "+name+": go generate ./suites/peers -->\n", "<!-- /"+name+" -->\n"
	text = "\n" + text + "\n"
	if *expect.Update {
		expect.OK(t, figure.WriteInto(page, begin, end, text))
	}
	_, rest, _ := strings.Cut(string(expect.Value(os.ReadFile(page))(t)), begin)
	got, _, _ := strings.Cut(rest, end)
	expect.Equal(t, page+", which go generate ./suites/peers writes: "+name, got, text)
}

// versions are those of package.json.
func versions(t *testing.T) map[string]string {
	t.Helper()
	var pinned struct{ Dependencies map[string]string }
	expect.OK(t, json.Unmarshal(packageJSON, &pinned))
	return pinned.Dependencies
}

// matrix returns a table with a column for each library that has orders. What is the same for all
// stands below it.
func matrix(what string, rows [][]string) string {
	head, line := []string{what}, "|---|"
	for _, p := range ordered() {
		head, line = append(head, p.name), line+"---|"
	}
	table, same := [][]string{head}, []string{}
	for _, r := range rows {
		if slices.ContainsFunc(r, func(cell string) bool { return cell != r[0] && cell != r[1] }) {
			table = append(table, r)
		} else {
			same = append(same, r[0]+": "+r[1])
		}
	}
	text := figure.Table(line, table...)
	if len(same) > 0 {
		text += "\nAll: " + strings.Join(same, "; ") + ".\n"
	}
	return text
}

// holds returns what holds next to a peer, except for its calls.
func (p *peer) holds(t *testing.T, versions map[string]string) string {
	t.Helper()
	version, ok := versions[p.pkg]
	if !ok {
		t.Fatalf("package.json does not have %s", p.pkg)
	}
	text := p.pkg + " " + version + "\n"
	for _, r := range p.rows {
		if !r.usual {
			text += "- " + r.call + ": " + r.holds + "\n"
		}
	}
	return text
}

// calls returns the rows of the page about the calls of a peer that write. Those with the same
// outcome share a row.
func (p *peer) calls(t *testing.T) (rows [][]string) {
	t.Helper()
	for _, w := range p.writes {
		if w.same != "kept" || w.other != "kept" {
			t.Errorf("%s: the page says that an Update keeps each change", w.call)
		}
		outcome := []string{w.saved, w.after, w.deleted}
		same := slices.IndexFunc(rows, func(r []string) bool { return slices.Equal(r[2:], outcome) })
		if same < 0 {
			rows = append(rows, append([]string{p.name, "`" + w.call + "`"}, outcome...))
		} else {
			rows[same][1] += ", `" + w.call + "`"
		}
	}
	return rows
}

// begin has the peer create the order, and this library change it once, so that it has what a
// Go program adds to it.
func (p *peer) begin(s *shop) orders {
	s.Helper()
	s.call("create", p.order(anOrder).with(more))
	ours := expect.Value(p.open(s.table))(s)
	expect.OK(s, ours.update(s.Context(), anOrder, func(o *order) { o.Total++ }))
	return ours
}

// change has the peer update the order.
func (p *peer) change(s *shop, set values) {
	s.Helper()
	if p.update != nil {
		set = p.update(set)
	}
	s.call("update", orderKey(anOrder), set)
}

// during sees what becomes of a change of the peer between the read and the write of our
// Update of total, and of ours.
func (w write) during(s *shop, p *peer, attribute string) string {
	theirs := values{"total": 100, "status": "paid"}
	return s.inBoth(func(below bool) string {
		ours := p.begin(s)
		held := s.one("get", orderKey(anOrder))
		meanwhile := s.meanwhile(below, "UpdateItem", func() {
			expect.OK(s, w.do(s, held, values{attribute: theirs[attribute]}))
		})
		expect.OK(s, ours.update(s.Context(), anOrder, func(o *order) {
			meanwhile()
			o.Total++
		}))
		got := orderOf(s.one("get", orderKey(anOrder)))
		if kept := attribute == "total" && got.Total == 101 || attribute == "status" && got.Status == "paid" && got.Total == 14; !kept {
			return "lost"
		}
		return "kept" + indexed(s, got)
	})
}

// saving sees what becomes of a change of the peer between the read of an order and our Save of
// it, which changes total.
func (w write) saving(s *shop, p *peer) string {
	return s.inBoth(func(below bool) string {
		ours := p.begin(s)
		held := s.one("get", orderKey(anOrder))
		meanwhile := s.meanwhile(below, "UpdateItem", func() { expect.OK(s, w.do(s, held, values{"status": "paid"})) })
		err := ours.save(s.Context(), anOrder, func(o *order) {
			meanwhile()
			o.Total++
		})
		got := orderOf(s.one("get", orderKey(anOrder)))
		switch {
		case errors.Is(err, table.ErrStale) && got.Status == "paid" && got.Total == 13:
			return "kept: `ErrStale`"
		case err == nil && got.Status == "new" && got.Total == 14:
			return "overwritten" + indexed(s, got)
		default:
			return fmt.Sprint(err, got)
		}
	})
}

// late sees what becomes of our Update of total between the read and the call of the peer, and
// of what only Go programs write.
func (w write) late(s *shop, p *peer) string {
	ours := p.begin(s)
	held := s.one("get", orderKey(anOrder))
	expect.OK(s, ours.update(s.Context(), anOrder, func(o *order) { o.Total++ }))
	before := s.scan()[0]
	expect.OK(s, w.do(s, held, values{"status": "paid"}))
	got, after := orderOf(s.one("get", orderKey(anOrder))), s.scan()[0]
	outcome := "kept"
	if got.Total != 14 {
		outcome = "overwritten"
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			outcome += ", `" + name + "` removed"
		}
	}
	return outcome + indexed(s, got)
}

// afterDelete sees what the peer stores after our Delete of what it has read.
func (w write) afterDelete(s *shop, p *peer) string {
	ours := p.begin(s)
	held := s.one("get", orderKey(anOrder))
	expect.OK(s, ours.remove(s.Context(), anOrder))
	if err := w.do(s, held, values{"status": "paid"}); err != nil {
		return "throws"
	}
	got, err := ours.get(s.Context(), anOrder)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return "stores nothing"
	case err != nil:
		return "stores what `Get` refuses"
	case got.Total == 0:
		return "stores a part of the order"
	default:
		return "stores the order"
	}
}

// indexed says so if the index does not lead to the order.
func indexed(s *shop, o order) string {
	s.Helper()
	if slices.ContainsFunc(ordersOf(s.many("byStatus", o.Status)), func(found order) bool { return found.ID == o.ID }) {
		return ""
	}
	return "; the index has the former key"
}
