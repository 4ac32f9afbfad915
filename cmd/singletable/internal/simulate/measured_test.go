package simulate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
)

// modelled are the operations of docs/costs.md as requests of a load. Their items have 1,000
// bytes; indexes and copies hold all attributes. Jobs are not in a load.
var modelled = map[string]string{
	"`Get`":                          `{"op": "get", "keys": "k"}`,
	"`Get`, `Consistent`":            read1,
	"`Get` of a copy":                `{"op": "get", "keys": "k"}`,
	"`BatchGet` of 10":               `{"op": "get", "keys": "k", "times": 10}`,
	"`TransactGet` of 10":            `{"op": "get", "keys": "k", "times": 10, "transaction": true}`,
	"`Query`, a page of 20":          page20,
	"… of which a filter drops half": `{"op": "query", "keys": "k", "items": 20, "bytes": 950, "times": 2}`,
	"… with `Project`":               page20,
	"a page of 20 over 4 shards":     `{"op": "query", "keys": "shards", "items": 20, "bytes": 950}`,
	"`Count` of 100":                 `{"op": "query", "keys": "k", "items": 100, "bytes": 950}`,
	"`Create`":                       `{"op": "write", "keys": "k"}`,
	"`Create`, in one index":         `{"op": "write", "keys": "k", "indexes": [{"in": "GSI1", "keys": "k"}]}`,
	"`Create`, with one copy":        two,
	"`Save` of what is stored":       read1 + `, {"op": "write", "keys": "k"}`,
	"`Update`":                       read1 + `, {"op": "write", "keys": "k"}`,
	"`Update`, nothing differs":      read1,
	"`Update`, in one index":         read1 + `, {"op": "write", "keys": "k", "indexes": [{"in": "GSI1", "keys": "k"}]}`,
	"`Update` of the index key":      read1 + `, {"op": "write", "keys": "k", "indexes": [{"in": "GSI1", "keys": "k", "moves": true}]}`,
	"`Update`, with one copy":        read1 + `, ` + two,
	"… and an integer version":       read1 + `, ` + read1 + `, ` + two,
	"`Update` of the copy's key":     read1 + `, ` + read1 + `, ` + two + `, {"op": "write", "keys": "k", "transaction": true}`,
	"`Patch`, `Upsert`":              `{"op": "write", "keys": "k"}`,
	"`Delete`, with one copy":        read1 + `, ` + two,
	"`CreateOps` of 3":               `{"op": "write", "keys": "k", "transaction": true, "times": 3}`,
	"`BatchWrite` of 10":             `{"op": "write", "keys": "k", "times": 10}`,
	"`idempotency.Do`, one `Create`": two,
	"… and the same request again":   "", // DynamoDB does not report it
}

const (
	read1  = `{"op": "get", "keys": "k", "consistent": true}`
	page20 = `{"op": "query", "keys": "k", "items": 20, "bytes": 950}`
	two    = `{"op": "write", "keys": "k", "transaction": true}, {"op": "write", "keys": "k", "transaction": true}`
)

// The model charges for each operation of the library what the engine does. docs/costs.md has
// that; a test there measures it.
func TestOperationsOfTheLibrary(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	reads, writes, _ := strings.Cut(string(page), "\n## Writes\n")
	writes, _, _ = strings.Cut(writes, "\n## Jobs\n")
	_, reads, _ = strings.Cut(reads, "\n## Reads\n")
	rows := 0
	for line := range strings.Lines(reads + writes) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[1]) == "operation" {
			continue
		}
		rows++
		name := strings.TrimSpace(cells[1])
		requests, ok := modelled[name]
		if !ok {
			t.Errorf("%s: is not modelled", name)
		}
		if requests == "" {
			continue
		}
		l := read(t, `{"name": "L", "keys": {"k": {"count": 9}, "shards": {"count": 1, "shards": 4}}, "patterns": [{"name": "p", "rate": 7, "requests": [`+requests+`]}]}`)
		u := simulate.Month(l, 1, simulate.USEast()).Patterns[0].Units
		if got, want := fmt.Sprintf("%g %g", u.Read, u.Write), strings.Join(strings.Fields(cells[2]+cells[3]), " "); got != want {
			t.Errorf("%s: %s read and write units, measured %s", name, got, want)
		}
	}
	if rows != len(modelled) {
		t.Errorf("the page has %d operations, and %d are modelled", rows, len(modelled))
	}
}

// The model charges for a page of a sharded index what was measured, within 15%.
func TestPagesOfShards(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../suites/benchmarks/shardcost/cost.json")
	if err != nil {
		t.Fatal(err)
	}
	var costs []struct {
		Shards, Items int
		Units         float64
	}
	if err := json.Unmarshal(text, &costs); err != nil || len(costs) < 30 {
		t.Fatalf("%d rows: %v", len(costs), err)
	}
	for _, c := range costs {
		l := read(t, fmt.Sprintf(`{"name": "L", "keys": {"all": {"count": 1, "shards": %d}}, "patterns": [{"name": "p", "rate": 7, "requests": [
			{"op": "query", "keys": "all", "items": %d, "bytes": 1024}]}]}`, c.Shards, c.Items))
		u := simulate.Month(l, 1, simulate.USEast()).Patterns[0].Units
		near(t, fmt.Sprintf("%d of %d shards", c.Items, c.Shards), u.Read, c.Units, 0.15)
	}
}
