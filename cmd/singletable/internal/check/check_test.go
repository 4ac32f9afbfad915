package check_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
	"github.com/singletable/singletable/table/tablemodel"
)

var update = flag.Bool("update", false, "write the findings of the designs")

// modelOf returns the model of a schema file, given without its braces and name.
func modelOf(t *testing.T, members string) tablemodel.Model {
	t.Helper()
	var m tablemodel.Model
	if err := json.Unmarshal([]byte(strings.TrimSuffix(`{"name": "AppCore", `+members, ", ")+"}"), &m); err != nil {
		t.Fatal(err)
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return m
}

// loadOf returns a load with kinds of keys and the requests of one pattern.
func loadOf(t *testing.T, keys string, rate float64, requests string) *simulate.Load {
	t.Helper()
	l, err := simulate.Read(strings.NewReader(fmt.Sprintf(
		`{"name": "AppCore", "keys": {%s}, "patterns": [{"name": "p", "rate": %g, "requests": [%s]}]}`, keys, rate, requests)))
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

const (
	// user is an entity with nothing to find, and gsi an index.
	user = `{"type": "USER", "items": [{"pk": "USER#{userId}", "sk": "PROFILE"}]}`
	gsi  = `"indexes": [{"name": "GSI1", "pk": "a", "sk": "b"}]`
)

// order returns an entity with these keys in index GSI1.
func order(pk, sk string) string {
	return gsi + `, "entities": [{"type": "ORDER", "items": [{"pk": "ORDER#{id}", "sk": "METADATA", "indexes": {"GSI1": {"pk": "` + pk + `", "sk": "` + sk + `"}}}]}]`
}

func entities(all ...string) string { return `"entities": [` + strings.Join(all, ", ") + `]` }

// TestRules has for each rule designs that it finds something in, and ones in which it finds
// nothing.
func TestRules(t *testing.T) {
	t.Parallel()
	const ttl = `"ttl": "until", `
	write := func(t *testing.T, rate float64, more string) *simulate.Load {
		t.Helper()
		return loadOf(t, `"k": {"count": 1, "sortKeys": "growing"}, "u": {"count": 1000000}`, rate, `{"op": "write", "keys": "u", "bytes": 900`+more+`}, {"op": "query", "in": "GSI1", "keys": "u"}`)
	}
	for name, tt := range map[string]struct {
		model string
		load  *simulate.Load
		id    string
		place string // "" if nothing is found
	}{
		"one key, by time":         {order("ALL", "{at:time}#{id}"), nil, "hot-partition-key", "entity ORDER, index GSI1"},
		"few keys, by time":        {order("STATUS#{status}", "{createdAt}#{id}"), nil, "hot-partition-key", "entity ORDER, index GSI1"},
		"a key for each day":       {order("DAY#{day}", "{id}"), nil, "hot-partition-key", "entity ORDER, index GSI1"},
		"a key for each birth day": {order("DAY#{birthDay}", "{id}"), nil, "hot-partition-key", "entity ORDER, index GSI1"},
		"a candidate is no date":   {order("CANDIDATE#{candidate}", "{id}"), nil, "hot-partition-key", ""},
		"a mandate is no date":     {order("ALL", "{mandate}"), nil, "hot-partition-key", ""},
		"shards":                   {order("ALL#{1}", "{at:time}#{id}"), nil, "hot-partition-key", ""},
		"a tenant and a day":       {order("DAY#{tenant}#{day}", "{at:time}"), nil, "hot-partition-key", ""},
		"one item":                 {entities(`{"type": "SETTINGS", "items": [{"pk": "SETTINGS", "sk": "METADATA"}]}`), nil, "hot-partition-key", ""},
		"one key, a low rate":      {order("ALL", "{at:time}#{id}"), write(t, 50, `, "indexes": [{"in": "GSI1", "keys": "k"}]`), "hot-partition-key", ""},
		"one key, a high rate":     {order("ALL", "{at:time}#{id}"), write(t, 1500, `, "indexes": [{"in": "GSI1", "keys": "u"}]`), "hot-partition-key", "entity ORDER, index GSI1"},
		"a hot key of the load":    {order("ALL#{1}", "{at:time}#{id}"), write(t, 1500, `, "indexes": [{"in": "GSI1", "keys": "k"}]`), "hot-partition-key", `keys "k" in index GSI1`},
		"a calm key of the load":   {order("ALL#{1}", "{at:time}#{id}"), write(t, 900, `, "indexes": [{"in": "GSI1", "keys": "k"}]`), "hot-partition-key", ""},

		"all under one key":        {entities(`{"type": "CATEGORY", "items": [{"pk": "CATEGORIES", "sk": "CATEGORY#{id}"}]}`), nil, "low-cardinality-key", "entity CATEGORY"},
		"a status":                 {order("STATUS#{status}", "{id}"), nil, "low-cardinality-key", "entity ORDER, index GSI1"},
		"a flag":                   {order("OPEN#{isOpen}", "{id}"), nil, "low-cardinality-key", "entity ORDER, index GSI1"},
		"an estate":                {order("ESTATE#{estate}", "{id}"), nil, "low-cardinality-key", ""},
		"a kind of an order":       {order("KIND#{order_kind}", "{id}"), nil, "low-cardinality-key", "entity ORDER, index GSI1"},
		"a hash":                   {order("HASH#{hash}", "{id}"), nil, "low-cardinality-key", ""},
		"a tenant's status":        {order("STATUS#{tenant}#{status}", "{id}"), nil, "low-cardinality-key", ""},
		"attributes of few values": {`"indexes": [{"name": "GSI1", "pks": [{"name": "entityType"}, {"name": "status"}]}]`, nil, "low-cardinality-key", "index GSI1"},
		"attributes of a tenant":   {`"indexes": [{"name": "GSI1", "pks": [{"name": "entityType"}, {"name": "tenant"}]}]`, nil, "low-cardinality-key", ""},
		"few, and a low rate":      {order("STATUS#{status}", "{id}"), write(t, 5, `, "indexes": [{"in": "GSI1", "keys": "k"}]`), "low-cardinality-key", ""},

		"a time behind the id":    {order("CUSTOMER#{customer}", "{id}#{at:time}"), nil, "sort-key-without-order", "entity ORDER, index GSI1"},
		"a time first":            {order("CUSTOMER#{customer}", "{at:time}#{id}"), nil, "sort-key-without-order", ""},
		"a history of an id":      {entities(`{"type": "EVENT", "items": [{"pk": "A#{id}", "sk": "{at:time}"}]}`), nil, "sort-key-without-order", ""},
		"a constant in an index":  {order("STATUS#{status}", "ORDER"), nil, "sort-key-without-order", "entity ORDER, index GSI1"},
		"a constant for one item": {order("EMAIL#{email}", "ORDER"), nil, "sort-key-without-order", ""},

		"two types, one key":   {entities(user, `{"type": "ADMIN", "items": [{"pk": "USER#{adminId}", "sk": "PROFILE"}]}`), nil, "same-key", "entity ADMIN"},
		"two types, two keys":  {entities(user, `{"type": "ADMIN", "items": [{"pk": "USER#{adminId}", "sk": "ADMIN"}]}`), nil, "same-key", ""},
		"keys of another shop": {entities(`{"type": "A", "items": [{"pk": "{a}", "sk": "{b}"}]}`, `{"type": "B", "items": [{"pk": "{c}", "sk": "{d}"}]}`), nil, "same-key", ""},

		"an empty index":       {gsi + ", " + entities(user), nil, "unused-index", "index GSI1"},
		"an inverted index":    {`"indexes": [{"name": "GSI1", "pk": "sk", "sk": "pk"}], ` + entities(user), nil, "unused-index", ""},
		"several attributes":   {`"indexes": [{"name": "GSI1", "pks": [{"name": "tenant"}]}], ` + entities(user), nil, "unused-index", ""},
		"no query in the load": {order("A#{a}", "B"), loadOf(t, `"k": {"count": 9}`, 1, `{"op": "get", "keys": "k"}`), "unused-index", "index GSI1"},
		"a query in the load":  {order("A#{a}", "B"), loadOf(t, `"k": {"count": 9}`, 1, `{"op": "query", "keys": "k", "in": "GSI1"}`), "unused-index", ""},

		"a copy and an index": {
			gsi + `, "entities": [{"type": "T", "version": "v", "items": [{"pk": "T#{id}", "sk": "T", "indexes": {"GSI1": {"pk": "U#{user}", "sk": "T#{id}"}}}, {"pk": "U#{user}", "sk": "T#{id}"}]}]`,
			nil, "copy-instead-of-projection", "entity T, index GSI1",
		},
		"a copy and another index": {
			gsi + `, "entities": [{"type": "T", "version": "v", "items": [{"pk": "T#{id}", "sk": "T", "indexes": {"GSI1": {"pk": "U#{user}", "sk": "{at:time}"}}}, {"pk": "U#{user}", "sk": "T#{id}"}]}]`,
			nil, "copy-instead-of-projection", "",
		},
		"an index as a filter": {
			gsi + `, "entities": [{"type": "T", "items": [{"pk": "U#{user}", "sk": "T#{id}", "indexes": {"GSI1": {"pk": "U#{user}", "sk": "T#{id}"}}}]}]`,
			nil, "copy-instead-of-projection", "",
		},
		"an index of two types": {
			gsi + `, "entities": [{"type": "T", "version": "v", "items": [{"pk": "T#{id}", "sk": "T", "indexes": {"GSI1": {"pk": "U#{user}", "sk": "T#{id}"}}}, {"pk": "U#{user}", "sk": "T#{id}"}]},
				{"type": "U", "items": [{"pk": "{a}", "sk": "{b}", "indexes": {"GSI1": {"pk": "U#{b}", "sk": "A"}}}]}]`,
			nil, "copy-instead-of-projection", "",
		},
		"a local index":         {`"indexes": [{"name": "LSI", "local": true, "sk": "b"}]`, nil, "local-index-collection", "index LSI"},
		"a global index":        {gsi, nil, "local-index-collection", ""},
		"keys only":             {ttl + `"indexes": [{"name": "GSI1", "pk": "a", "projection": "KEYS_ONLY"}]`, nil, "expiry-not-projected", "index GSI1"},
		"the expiry in it":      {ttl + `"indexes": [{"name": "GSI1", "pk": "a", "projection": "INCLUDE", "include": ["until"]}]`, nil, "expiry-not-projected", ""},
		"an expiry in a key":    {entities(`{"type": "SESSION", "items": [{"pk": "SESSION#{id}", "sk": "{expiresAt}"}]}`), nil, "expiry-without-ttl", "entity SESSION"},
		"an expiry in the load": {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "expire", "keys": "k"}`), "expiry-without-ttl", `pattern "p"`},
		"an expiry with TTL":    {ttl + gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "expire", "keys": "k"}`), "expiry-without-ttl", ""},
		"101 writes":            {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "transaction": true, "times": 101}`), "transaction-too-large", `pattern "p"`},
		"5 MB":                  {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "transaction": true, "times": 50, "bytes": 102400}`), "transaction-too-large", `pattern "p"`},
		"100 writes":            {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "transaction": true, "times": 100}`), "transaction-too-large", ""},
		"a counter":             {gsi, loadOf(t, `"k": {"count": 1, "sortKeys": "one"}`, 1100, `{"op": "write", "keys": "k"}`), "counter-too-hot", `keys "k" in the table`},
		"a counter of shards":   {gsi, loadOf(t, `"k": {"count": 1, "sortKeys": "one", "shards": 2}`, 1100, `{"op": "write", "keys": "k"}`), "counter-too-hot", ""},
		"a large item":          {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "bytes": 300000}`), "item-too-large", `pattern "p"`},
		"an item of 100 KB":     {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "bytes": 100000}`), "item-too-large", ""},
		"whole items":           {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "bytes": 3000, "indexes": [{"in": "GSI1", "keys": "k"}]}`), "wide-projection", "index GSI1"},
		"parts of items":        {gsi, loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "bytes": 3000, "indexes": [{"in": "GSI1", "keys": "k", "bytes": 1024}]}`), "wide-projection", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := check.Run(check.Design{Model: modelOf(t, tt.model), Load: tt.load, Factor: 1}, nil)
			i := slices.IndexFunc(found, func(f check.Finding) bool { return f.ID == tt.id })
			switch {
			case i >= 0 && found[i].Place != tt.place:
				t.Errorf("%s: %+v", tt.id, found[i])
			case i < 0 && tt.place != "":
				t.Errorf("%s finds nothing; found: %+v", tt.id, found)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	model := modelOf(t, order("ALL", "{at:time}#{id}"))
	quiet := loadOf(t, `"k": {"count": 9}`, 1, `{"op": "write", "keys": "k", "indexes": [{"in": "GSI1", "keys": "k"}]}, {"op": "query", "in": "GSI1", "keys": "k"}`)
	const reason = "one order a second"
	hot := check.Accepted{ID: "hot-partition-key", Place: "entity ORDER, index GSI1", Reason: reason}
	for name, tt := range map[string]struct {
		load       *simulate.Load
		accepted   []check.Accepted
		open, kept []string
	}{
		"none":                            {nil, nil, []string{"hot-partition-key"}, nil},
		"the finding":                     {nil, []check.Accepted{hot}, nil, []string{"hot-partition-key"}},
		"another place":                   {nil, []check.Accepted{{"hot-partition-key", "entity ORDER", reason}}, []string{"hot-partition-key"}, nil},
		"one that is gone":                {nil, []check.Accepted{hot, {"same-key", "entity ORDER", reason}}, []string{"stale-acceptance"}, []string{"hot-partition-key"}},
		"one that a load refutes":         {quiet, []check.Accepted{hot}, nil, nil},
		"one of a load, without the load": {nil, []check.Accepted{hot, {"item-too-large", `pattern "p"`, reason}}, nil, []string{"hot-partition-key"}},
		"one of a load that is gone":      {quiet, []check.Accepted{{"item-too-large", `pattern "p"`, reason}}, []string{"stale-acceptance"}, nil},
	} {
		open, kept := check.Run(check.Design{Model: model, Load: tt.load, Factor: 1}, tt.accepted)
		ids := func(all []check.Finding) (ids []string) {
			for _, f := range all {
				ids = append(ids, f.ID)
			}
			return ids
		}
		if diff := cmp.Diff([][]string{tt.open, tt.kept}, [][]string{ids(open), ids(kept)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(kept) > 0 && kept[0].Reason != reason {
			t.Errorf("%s: %+v", name, kept[0])
		}
	}
	if got := check.Validate([]check.Accepted{hot, {ID: "no-rule"}, hot}); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// A finding has the line of what it is about, in the file that it is about.
func TestLines(t *testing.T) {
	t.Parallel()
	const file = `{
  "name": "AppCore",
  "indexes": [
    {"name": "GSI1", "pk": "a", "sk": "b"},
    {"name": "GSI2", "pk": "c"}
  ],
  "entities": [
    {"type": "ORDER", "items": [
      {
        "pk": "ORDER#{id}", "sk": "METADATA",
        "indexes": {
          "GSI1": {"pk": "ALL", "sk": "{at:time}#{id}"}
        }
      }
    ]}
  ]
}`
	const load = `{"name": "AppCore", "keys": {
  "k": {"count": 1}}, "patterns": [
  {"name": "p", "rate": 2000, "requests": [
    {"op": "query", "in": "GSI1", "keys": "k"},
    {"op": "write", "keys": "k", "bytes": 300000}]}]}`
	var model tablemodel.Model
	if err := json.Unmarshal([]byte(file), &model); err != nil {
		t.Fatal(err)
	}
	l, err := simulate.Read(strings.NewReader(load))
	if err != nil {
		t.Fatal(err)
	}
	found, _ := check.Run(check.Design{Model: model, Load: &l, Factor: 1}, nil)
	check.Locate(found, file, load)
	lines := map[string]int{}
	for _, f := range found {
		lines[f.ID+" "+f.Place] = f.Line
	}
	want := map[string]int{
		"hot-partition-key entity ORDER, index GSI1": 12, "unused-index index GSI2": 5,
		`item-too-large pattern "p"`: 5,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each rule is on the page of the documentation.
func TestThePageHasAllRules(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range check.IDs() {
		if !strings.Contains(string(page), "\n| `"+id+"` |") {
			t.Errorf("docs/check.md lacks %s", id)
		}
	}
}

// TestDesigns has what is found in designs of books, talks and sample repositories, as other
// applications would have them: a change of a rule shows here what it does to real designs.
func TestDesigns(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/designs/*.json")
	if err != nil || len(files) != 12 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	var got strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var model tablemodel.Model
		if err := json.Unmarshal(text, &model); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := model.Validate(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		found, _ := check.Run(check.Design{Model: model, Factor: 1}, nil)
		fmt.Fprintf(&got, "%s: %d\n", model.Name, len(found))
		for _, f := range found {
			fmt.Fprintf(&got, "  %s: %s\n", f.ID, f.Place)
		}
	}
	want, err := os.ReadFile("testdata/designs/findings.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/designs/findings.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("run go test -run TestDesigns -update (-want +got):\n%s", diff)
	}
}
