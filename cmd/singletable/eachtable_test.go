package main

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// eachCommand has a line for each command. T is the name of a table, KEY and PK are those of an
// item, FILE is a schema file of the table, ITEM an item in JSON, and DUMP a dump. says is the
// exit code with the beginning of the result, for a table that is there, and missing for one that
// is not. The commands that open no table are without.
var eachCommand = []commandLine{
	{"verify FILE", `0 \S+ in \S+ is as the schema says`, `1 \S+ in \S+ differs from the schema:\n  the table does not exist`},
	{"plan FILE", `0 \S+ in \S+ is as the schema says`, `1 \S+ in \S+ differs from the schema\.\nEnsure makes these changes:\n  the table does not exist`},
	{"schema T", `0 {\n  "name"`, ""},
	{"schema -sample 10 T", `0 {\n  "name"`, ""},
	{"check FILE", `[01] \S+: \d+ findings?, 0 accepted`, `[01] \S+: `},
	{"get T KEY", `(0 \S+ +[SNB]  \S|1 There is no item under the key\.)`, ""},
	{"get -schema FILE T KEY", `(0 \S+ +[SNB]  \S|1 There is no item under the key\.)`, ""},
	{"query T PK", `0 (\S+|$)`, ""},
	{"query -limit 1 -schema FILE T PK", `0 (\S+|$)`, ""},
	{"query -index nope T PK", `2 the table has no index of the name of -index(; it has GSI|, and no other)`, ""},
	{"search T byText KEY", `2 the table has no vector index of that name; it has none`, ""},
	{"count T", `0 about \d+ items?, `, ""},
	{"count -index nope T", `2 the table has no index of the name of -index(; it has GSI|, and no other)`, ""},
	{"count T PK", `0 \d items?, [0-9.]+ read units?\n`, ""},
	{"count -scan T", `1 about \d+ items?, .*\nWhat the scan takes is not known`, ""},
	{"count -scan -yes T", `0 \d items?, [0-9.]+ read units?\n`, ""},
	{"hot T", `0 \S+ in \S+: (0 items in 0 partitions, .*\n\nThere is nothing to count|[^0].*\n\nitems)`, ""},
	{"hot -stream 1s T", `2 the table has no stream`, ""},
	{"put T ITEM", `[01] \S+ in \S+, (stored item|no item is stored)`, ""},
	{"put -yes -schema FILE T ITEM", `0 \S+ in \S+, (stored item|no item is stored)`, ""},
	{"dump -o DUMP T", `0 $`, ""},
	{"dump T", `0 ({"Item":{"|$)`, ""},
	{"load -check T DUMP", `0 \d items?, all valid`, ""},
	{"load T DUMP", `2 the table is not empty; -replace writes over`, ""},
	{"load -replace T DUMP", `0 \d items?, \d`, ""},
	{"delete T KEY", `1 \S+ in \S+, stored item \w+\n- `, ""},
	{"delete -yes T KEY", `0 \S+ in \S+, stored item \w+\n(- .*\n)+Deleted`, ""},
	{"mcp FILE", `(?s)(0 .*"id":2,"result":.*(readUnits|keys do not fit)|2 the schema file has no entities)`, `(?s)0 .*"id":2,.*The table or the index does not exist: tell the user`},
	{"view T", `0 http://127`, ""},
	{"ensure FILE", `0 \S+ in \S+ is as the schema says`, `0 \S+ in \S+ is as the schema says`},
}

// commandLine is a line with what is expected of it.
type commandLine struct{ line, says, missing string }

// opensNone are the commands that open no table.
var opensNone = []string{"explain", "cursor", "engine", "simulate", "new", "version", "completion"}

// target is a table that the commands are for.
type target struct {
	name             string
	key              []string // as on the command line
	file, item, dump string   // files
	isThere          bool
}

// newTarget makes the files of a table, which has the item unless that is missing. kind is the
// attribute with the types.
func newTarget(t *testing.T, name, kind string, key ...string) *target {
	t.Helper()
	c := &target{name: name, key: key, dump: filepath.Join(t.TempDir(), "dump.jsonl"), isThere: true}
	c.file = save(t, "schema.json", run(t, nil, "", "schema", "-sample", "10", "-type", kind, name).stdout)
	text := fmt.Sprintf(`{"pk": {"S": %q}, "sk": {"S": %q}}`, key[0], key[len(key)-1])
	if got := run(t, nil, "", append([]string{"get", "-json", name}, key...)...); got.code == exitYes {
		text = got.stdout
	}
	c.item = save(t, "item.json", text)
	return c
}

// run runs a line of eachCommand, and returns the exit code with the result or else the error.
func (c *target) run(t *testing.T, line string) (text, stderr string) {
	t.Helper()
	var args []string
	for _, word := range strings.Fields(line) {
		switch word {
		case "T":
			args = append(args, c.name)
		case "PK":
			args = append(args, c.key[0])
		case "KEY":
			args = append(args, c.key...)
		case "FILE":
			args = append(args, c.file)
		case "ITEM":
			args = append(args, c.item)
		case "DUMP":
			args = append(args, c.dump)
		default:
			args = append(args, word)
		}
	}
	if args[0] == "view" && c.isThere {
		return c.view(t), ""
	}
	sk := ""
	if len(c.key) > 1 {
		sk = fmt.Sprintf(`,"sk":%q`, c.key[1])
	}
	got := run(t, nil, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_item","arguments":{"pk":%q%s}}}
`, c.key[0], sk), args...)
	// The SDK logs a connection that breaks, before it sends the request once more.
	got.stderr = regexp.MustCompile(`(?m)^SDK .*\n`).ReplaceAllString(got.stderr, "")
	if got.code == exitTrouble {
		return fmt.Sprint(got.code, " ", strings.TrimPrefix(got.stderr, "singletable "+args[0]+": ")), got.stderr
	}
	return fmt.Sprint(got.code, " ", got.stdout), got.stderr
}

// view opens the first page.
func (c *target) view(t *testing.T) string {
	t.Helper()
	p := start(t, "view", c.name)
	address := strings.TrimSpace(p.line(t))
	if status, body := browse(t, newBrowser(t), address); status != http.StatusOK || !strings.Contains(body, c.name) {
		t.Errorf("status %d\n%s", status, body)
	}
	p.succeed(t, os.Interrupt)
	return "0 " + address
}

// check runs all lines and compares the exit code and the beginning of the result with what is
// wanted. A first line that says what is wrong is the command's own, and not that of the SDK.
func (c *target) check(t *testing.T, want func(says, missing string) string) {
	t.Helper()
	for _, row := range eachCommand {
		text, stderr := c.run(t, row.line)
		if pattern := want(row.says, row.missing); !regexp.MustCompile("^" + pattern).MatchString(text) {
			t.Errorf("%s: want %s, got %.2000s\n%s", row.line, pattern, text, stderr)
		}
		first, _, _ := strings.Cut(stderr, "\n")
		if strings.Contains(first, "operation error") {
			t.Errorf("%s: the first line is the SDK's:\n%s", row.line, stderr)
		}
	}
}

// Each command says something useful of each table, also of those that the library would not
// make, that are empty, or that there are not.
func TestEachCommandOnEachTable(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		isIt := func(row commandLine) bool { return strings.HasPrefix(row.line, c.name+" ") }
		if slices.Contains(opensNone, c.name) == slices.ContainsFunc(eachCommand, isIt) {
			t.Errorf("%s is to be in eachCommand or in opensNone", c.name)
		}
	}
	twenty := schema.Table{Name: "Twenty"}
	keysOfTwenty := ""
	for i := range 20 {
		twenty.Indexes = append(twenty.Indexes, schema.Index{Name: fmt.Sprintf("GSI%d", i), PK: fmt.Sprintf("g%d", i)})
		keysOfTwenty += fmt.Sprintf(`, "g%d": {"S": "A#%d"}`, i, i)
	}
	large := strings.Repeat("x", 400<<10-100)
	for label, tt := range map[string]struct {
		spec  schema.Table
		items []string
		key   []string
	}{
		"numbers and bytes": {
			schema.Table{Name: "Numbers", PKType: "N", SKType: "B", Indexes: []schema.Index{{Name: "GSI0", PK: "n", PKType: "N", SK: "b", SKType: "B"}, {Name: "GSI1", PK: "n", PKType: "N"}}},
			[]string{`{"pk": {"N": "12.5"}, "sk": {"B": "Af8="}, "n": {"N": "-1"}, "b": {"B": "AA=="}, "entityType": {"S": "N"}}`},
			[]string{"12.5", "Af8="},
		},
		"no sort key":    {schema.Table{Name: "Simple", SimpleKey: true}, []string{`{"pk": {"S": "a b"}, "entityType": {"S": "S"}}`}, []string{"a b"}},
		"twenty indexes": {twenty, []string{`{"pk": {"S": "A"}, "sk": {"S": "B"}, "entityType": {"S": "T"}` + keysOfTwenty + `}`}, []string{"A", "B"}},
		"items of 400 KB": {
			schema.Table{Name: "Large"},
			[]string{
				`{"pk": {"S": "A"}, "sk": {"S": "B"}, "entityType": {"S": "L"}, "body": {"S": "` + large + `"}}`,
				`{"pk": {"S": "A"}, "sk": {"S": "C"}, "entityType": {"S": "L"}, "body": {"S": "` + large + `"}}`,
				`{"pk": {"S": "A"}, "sk": {"S": "D"}, "entityType": {"S": "L"}, "body": {"S": "` + large + `"}}`,
			},
			[]string{"A", "B"},
		},
		"empty": {schema.Table{Name: "Empty"}, nil, []string{"A", "B"}},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			name := tabletest.New(t, tt.spec, nil).Schema().Name
			for _, item := range tt.items {
				if got := run(t, nil, item, "put", "-yes", name); got.code != exitYes {
					t.Fatal(got.stderr)
				}
			}
			newTarget(t, name, "", tt.key...).check(t, isThere)
		})
	}
	t.Run("of a peer", func(t *testing.T) {
		t.Parallel()
		newTarget(t, withElectroDB(t).Schema().Name, "__edb_e__", "$shop#customerid_c-ana", "$order_1#orderid_o-0").check(t, isThere)
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		c := missing(t)
		c.check(t, func(_, missing string) string {
			return cmp.Or(missing, `2 there is no table \S+ at http://\S+, to which AWS_ENDPOINT_URL_DYNAMODB leads`)
		})
	})
}

// isThere is what the commands say of a table that there is.
func isThere(says, _ string) string { return says }

// missing returns a table that there is not.
func missing(t *testing.T) *target {
	t.Helper()
	spec := unmade(t, schema.Table{Name: "Missing"})
	c := newTarget(t, spec.Name, "", "A", "B")
	c.isThere, c.dump = false, c.item
	c.file = save(t, "schema.json", `{"name": "`+spec.Name+`", "entities": [{"type": "T", "items": [{"pk": "T#{id}", "sk": "T"}]}]}`)
	return c
}

// The same for a table that the credentials have no permission for.
func TestEachCommandWithoutPermission(t *testing.T) {
	c := missing(t)
	dynamo(t, http.StatusBadRequest, denied)
	c.check(t, func(_, missing string) string {
		switch {
		case strings.Contains(missing, "tell the user"):
			return `(?s)0 .*"id":2,.*The credentials have no permission for it: tell the user`
		case strings.HasPrefix(missing, "[01] "): // which asks no table
			return missing
		}
		return `2 the credentials are not allowed to do this; the command needs dynamodb:`
	})
}
