package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
	"github.com/singletable/singletable/cmd/singletable/internal/system"
)

const costsPage = "../../docs/costs.md"

// TestLoads compares what the pages and testdata/loads.golden say of the loads of the example
// systems with what simulate finds. With -update it writes them.
func TestLoads(t *testing.T) {
	t.Parallel()
	patterns := ""
	for _, name := range systemsWithLoads() {
		dir := filepath.Join("..", "..", "examples", name)
		l := loadOf(t, filepath.Join(dir, "load.json"))
		checkPart(t, filepath.Join(dir, "README.md"), "load", holdsText(l))
		patterns += name + "\n\n" + patternTable(l) + "\n"
	}
	golden(t, "loads", result{stdout: patterns})
	checkPart(t, costsPage, "shards", shardTable(t))
}

// What is said to hold does in the simulation, once DynamoDB has adapted, and more does not.
func TestLoadsHold(t *testing.T) {
	t.Parallel()
	for _, name := range systemsWithLoads() {
		l := loadOf(t, filepath.Join("..", "..", "examples", name, "load.json"))
		l.Warm = l.Quota
		factor, first := simulate.Holds(l)
		for times, refuses := range map[float64]bool{0.9: false, 1.3: true} {
			share := 0.0
			const seconds, last = 4 * 3600, 600
			simulate.Run(l, seconds, times*factor, 1, func(s simulate.Second) {
				if s.Second < seconds-last {
					return
				}
				for i, p := range l.Patterns {
					if slices.Contains(first.Patterns, p.Name) {
						share = max(share, s.ByPattern[i]/(p.Rate*s.Factor))
					}
				}
			})
			if (share > 0.1) != refuses {
				t.Errorf("%s at %g times what it holds: %g refused", name, times, share)
			}
		}
	}
}

// What a handler of the stream is said to keep up with, it does in the simulation, and with more
// it does not.
func TestLoadsAreHandled(t *testing.T) {
	t.Parallel()
	handlers := 0
	for _, name := range systemsWithLoads() {
		l := loadOf(t, filepath.Join("..", "..", "examples", name, "load.json"))
		l.Quota = simulate.Units{Read: 10 * l.Quota.Read, Write: 10 * l.Quota.Write} // a load beyond it is not written
		l.Warm = l.Quota
		for i, h := range l.Handlers {
			handlers++
			falls := simulate.Falls(l, h)
			if len(falls) == 0 {
				continue
			}
			for times, late := range map[float64]bool{0.7: false, 1.5: true} {
				late = late && (falls[0].Until == 0 || times*falls[0].Factor < falls[0].Until)
				r := simulate.New(l, 3600, times*falls[0].Factor, 1, simulate.USEast()).Handlers[i]
				if r.Waits != late {
					t.Errorf("%s of %s at %g times what it keeps up with: %+v", h.Name, name, times, r)
				}
			}
		}
	}
	if handlers != 5 {
		t.Errorf("%d handlers", handlers)
	}
}

// systemsWithLoads returns the names of the systems that describe a load: all but the starter, which is
// whatever becomes of it.
func systemsWithLoads() []string {
	return slices.DeleteFunc(system.Names(), func(name string) bool { return name == "service" })
}

func loadOf(t *testing.T, file string) simulate.Load {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return readLoad(t, string(text))
}

func readLoad(t *testing.T, text string) simulate.Load {
	t.Helper()
	l, err := simulate.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkPart compares a part of a page with text.
func checkPart(t *testing.T, file, name, text string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opens := strings.Cut(string(page), "<!-- "+name+" -->\n")
	got, after, closes := strings.Cut(rest, "<!-- /"+name+" -->\n")
	if !opens || !closes {
		t.Fatalf("%s has no part %q", file, name)
	}
	want := "\n" + strings.TrimSpace(text) + "\n\n"
	if *update {
		made := before + "<!-- " + name + " -->\n" + want + "<!-- /" + name + " -->\n" + after
		if err := os.WriteFile(file, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(got, want); diff != "" {
		t.Errorf("%s: run go test -run TestLoads -update (-page +made):\n%s", file, diff)
	}
}

func holdsText(l simulate.Load) string {
	factor, first := simulate.Holds(l)
	text := fmt.Sprintf("The table holds %s times this load: %s. The first limit: %s. ", short(factor), ratesText(l, first, factor), limitText(first))
	if x := firstSplit(l); x.Factor < factor {
		text += fmt.Sprintf("At %s times, DynamoDB divides one key of *%s* in %s, and refuses %ss of it for minutes. ", short(x.Factor), x.Keys, placeText(x), kindText(x))
	}
	text += fmt.Sprintf("A month of this load costs $%s.", short(month(l)))
	var follow []string
	for _, h := range l.Handlers {
		name := "`" + h.Name + "`"
		falls := simulate.Falls(l, h)
		if len(falls) == 0 || falls[0].Factor > factor {
			follow = append(follow, name)
			continue
		}
		what := "a shard"
		if falls[0].Keys != "" {
			what = "one key of *" + falls[0].Keys + "*"
		}
		text += fmt.Sprintf(" The handler %s of the stream keeps up with %s times this load: then %s has %s records a second.", name, short(falls[0].Factor), what, short(falls[0].Most))
	}
	if len(follow) > 0 {
		text += " Handlers of the stream that keep up with it: " + strings.Join(follow, ", ") + "."
	}
	return text
}

// firstSplit returns the first limit that DynamoDB removes by itself.
func firstSplit(l simulate.Load) simulate.Limit {
	for _, x := range simulate.Limits(l) {
		if x.Adapts && x.Keys != "" {
			return x
		}
	}
	return simulate.Limit{Factor: math.Inf(1)}
}

// patternTable has a row for each pattern, with what refuses it for good first.
func patternTable(l simulate.Load) string {
	text := "| pattern | a second, at most | what refuses first | dollars per million |\n|---|---:|---|---:|\n"
	prices := simulate.USEast()
	for i, c := range simulate.Month(l, 1, prices).Patterns {
		most, why := "", "nothing"
		for _, x := range simulate.Limits(l) {
			if !x.Adapts && slices.Contains(x.Patterns, c.Name) {
				most, why = short(x.Factor*l.Patterns[i].Rate), limitText(x)
				break
			}
		}
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", c.Name, most, why, short(c.Units.Read*prices.ReadMillion+c.Units.Write*prices.WriteMillion))
	}
	return text
}

// ratesText says how often the patterns of a limit happen that have the most part in it.
func ratesText(l simulate.Load, x simulate.Limit, factor float64) string {
	var texts []string
	for _, name := range x.Patterns[:min(2, len(x.Patterns))] {
		for _, p := range l.Patterns {
			if p.Name == name {
				texts = append(texts, fmt.Sprintf("%s × *%s*", short(p.Rate*factor), name))
			}
		}
	}
	return strings.Join(texts, " and ") + " a second"
}

// limitText names a limit in a few words.
func limitText(x simulate.Limit) string {
	if x.Keys == "" {
		return "the " + kindText(x) + " quota of " + placeText(x)
	}
	return kindText(x) + "s of one key of *" + x.Keys + "* in " + placeText(x)
}

func kindText(x simulate.Limit) string {
	if x.Write {
		return "write"
	}
	return "read"
}

func placeText(x simulate.Limit) string {
	if x.Place == "" {
		return "the table"
	}
	return "`" + x.Place + "`"
}

func month(l simulate.Load) float64 { return simulate.Month(l, 1, simulate.USEast()).Total }

// shardTable says how many shards an index needs in which sort keys grow, and what a page costs.
func shardTable(t *testing.T) string {
	t.Helper()
	text := "| writes a second | shards | read units of a page of 20 | dollars per million pages |\n|---:|---:|---:|---:|\n"
	prices := simulate.USEast()
	for _, writes := range []int{1000, 2000, 4000, 8000, 16_000, 32_000} {
		l := readLoad(t, fmt.Sprintf(`{"name": "shards", "quota": {"read": 1000000, "write": 1000000},
			"keys": {"item": {"count": 1000000000}, "all": {"count": 1, "sortKeys": "growing"}}, "patterns": [
			{"name": "write", "rate": %d, "requests": [{"op": "write", "keys": "item", "indexes": [{"in": "GSI1", "keys": "all"}]}]},
			{"name": "page", "rate": 1, "requests": [{"op": "query", "in": "GSI1", "keys": "all", "items": 20}]}]}`, writes))
		n := 1
		for factor, _ := simulate.Holds(l.WithShards("all", n)); factor < 1; factor, _ = simulate.Holds(l.WithShards("all", n)) {
			n++
		}
		units := simulate.Month(l.WithShards("all", n), 1, prices).Patterns[1].Units
		text += fmt.Sprintf("| %s | %d | %s | %s |\n", short(float64(writes)), n, short(units.Read), short(units.Read*prices.ReadMillion))
	}
	return text
}

// short writes a number with three digits that count, and commas.
func short(f float64) string {
	if f < 1000 {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(f))-2)
	text := strconv.FormatFloat(math.Round(f/unit)*unit, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
