package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// unprepared returns a table whose indexes have data as keys, with complaints that another
// library has stored, and which expire at other times than whole seconds.
func unprepared(t *testing.T) *table.Table {
	t.Helper()
	tbl := tabletest.New(t, schema.Table{Name: "Complaints", PK: "tenant", SK: "id", TTLAttribute: "expires", Indexes: []schema.Index{
		{Name: "byCustomer", PK: "customer", SK: "createdAt"},
		{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
		{Name: "open", PK: "state", Projection: "KEYS_ONLY"},
	}}, nil)
	var ops []table.Op
	for i := range 5 {
		expires := "4102444800.5"
		if i == 0 {
			expires = "1705312799.6" // less than half a second before the clock of the tests
		}
		ops = append(ops, opOf(t, keys.Key{PK: "acme", SK: keys.SK(fmt.Sprintf("c-%d", i))}, fmt.Sprintf(`{
			"agent": {"S": "%02d"}, "assignedTeamOfTheAgent": {"S": "a team with a long name"}, "channel": {"S": "mail"}, "createdAt": {"S": "2024-01-0%dT08:00:00Z"},
			"customer": {"S": "cu-%d"}, "expires": {"N": %q}, "gsi1pk": {"S": "STATE#%d"}, "gsi1sk": {"S": "AT#%d"}, "state": {"S": "open"},
			"kind": {"S": "complaint"}, "title": {"S": "Tap %d drips"}, "id": {"S": "c-%d"}}`, i, i+1, i%2, expires, i, i, i, i)))
	}
	store(t, tbl, ops...)
	return tbl
}

// A row has what tells it apart from the others first, also if an index has it as a key, and
// says how much it does not have.
func TestRowsTellItemsApart(t *testing.T) {
	t.Parallel()
	tbl := unprepared(t)
	name := tbl.Schema().Name
	for file, args := range map[string][]string{
		"table": {name, "acme"},
		"index": {"-index", "byCustomer", "-limit", "2", name, "cu-1"},
		"keys":  {"-index", "open", name, "open"},
	} {
		golden(t, "rows-"+file, hide(tbl, run(t, nil, "", append([]string{"query"}, args...)...)))
	}
}

// Two rows have what differs between them first, however it looks, and a text without the
// beginning that is equal. A long attribute that is alone is cut off.
func TestRowsShowWhatDiffers(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "Two", PK: "pk", SK: "sk"}, nil)
	var ops []table.Op
	for i := range 2 {
		ops = append(ops, opOf(t, keys.Key{PK: "A", SK: keys.SK(fmt.Sprint(i))}, fmt.Sprintf(`{
			"status": {"S": "open"}, "title": {"S": "the same for both of them"}, "serial": {"N": "9000000000000000000%d"}, "bytes": {"B": "AAA%d"},
			"path": {"S": "%s/%d"}, "entityType": {"S": "T"}}`, i, i, strings.Repeat("folder/", 10), i)))
		ops = append(ops, opOf(t, keys.Key{PK: "B", SK: keys.SK(fmt.Sprint(i))}, fmt.Sprintf(`{"odd": {"S": "%s%d"}}`, strings.Repeat(`\u200b`, 38), i)))
	}
	store(t, tbl, ops...)
	got := run(t, nil, "", "query", tbl.Schema().Name, "A")
	for _, want := range []string{
		"T           path=…folder//0 bytes=AAA0 serial=90000000000000000000 title=the same for both of them status=open\n",
		"T           path=…folder//1 bytes=AAA1 serial=90000000000000000001 title=the same for both of them status=open\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in %s", want, got.stdout)
		}
	}
	if got := run(t, nil, "", "query", tbl.Schema().Name, "B"); strings.Count(got.stdout, "odd=") != 2 {
		t.Error(got.stdout)
	}
}

// What query marks as expired is what count leaves out and says.
func TestExpiredItems(t *testing.T) {
	t.Parallel()
	tbl := unprepared(t)
	name := tbl.Schema().Name
	for command, want := range map[string]string{
		"count " + name + " acme":             "4 items, 1 expired item not counted, ",
		"count -scan -yes " + name:            "4 items, 1 expired item not counted, ",
		"count -index open " + name + " open": "5 items, ",
	} {
		got := run(t, nil, "", strings.Fields(command)...)
		if got.code != exitYes || !strings.HasPrefix(got.stdout, want) {
			t.Errorf("%s: %+v", command, got)
		}
		if unknown := strings.Contains(got.stderr, "The index does not hold expires: items that have expired are counted as well."); unknown != strings.Contains(command, "open") {
			t.Errorf("%s: %s", command, got.stderr)
		}
	}
	if out := decoded[itemCount](t, run(t, nil, "", "count", "-json", name, "acme")); out.Items != 4 || out.Expired != 1 {
		t.Errorf("%+v", out)
	}
	if got := run(t, nil, "", "query", name, "acme"); strings.Count(got.stdout, "EXPIRED") != 1 {
		t.Error(got.stdout)
	}
	if got := run(t, nil, "", "get", name, "acme", "c-0"); !strings.Contains(got.stdout, "1705312799.6  EXPIRED 2024-01-15T10:00:00Z") {
		t.Error(got.stdout)
	}
}

// Each command that shows types says the same if no item has one, with the attribute that all
// items have.
func TestNoItemHasAType(t *testing.T) {
	t.Parallel()
	name := unprepared(t).Schema().Name
	hint := fmt.Sprintf("No item that was read has the attribute entityType. All of them have kind. If that holds the type of an item, "+
		"make a schema file that says so, for -schema of the other commands: singletable schema -sample=1000 -type=kind -- %s >schema.json\n", name)
	for command, want := range map[string]bool{
		"hot " + name:                          true,
		"hot -json " + name:                    true,
		"hot -index byCustomer " + name:        true,
		"hot -index open " + name:              false, // It does not hold the attribute.
		"query " + name + " acme":              true,
		"query -json " + name + " acme":        false,
		"query -all " + name + " acme":         true,
		"query -index open " + name + " open":  false,
		"query " + name + " nobody":            false,
		"schema -sample 10 " + name:            true,
		"schema -sample 10 -type kind " + name: false,
	} {
		if got := run(t, nil, "", strings.Fields(command)...); got.code != exitYes || strings.Contains(got.stderr, hint) != want || strings.Contains(got.stderr, "No item") != want {
			t.Errorf("%s: %+v", command, got)
		}
	}
	empty := tabletest.New(t, appCore(), nil).Schema().Name
	if got := run(t, nil, "", "schema", "-sample", "10", empty); !strings.Contains(got.stderr, "No item was read, so the file has no entities.\n") {
		t.Errorf("%+v", got)
	}
}
