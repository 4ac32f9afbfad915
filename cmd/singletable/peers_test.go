package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// withElectroDB returns a table of a shop as ElectroDB 3.9.3 stores it: two entities and a
// collection.
func withElectroDB(t *testing.T) *table.Table {
	t.Helper()
	tbl := tabletest.New(t, schema.Table{Name: "Orders", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}, nil)
	var ops []table.Op
	for i, customer := range []string{"C-Ana", "ΟΔΟΣ", "C-Bob"} {
		lower := []string{"c-ana", "οδος", "c-bob"}[i]
		status := []string{"Paid", "Open", "Open"}[i]
		ops = append(ops,
			opOf(t, keys.Key{PK: keys.PK("$shop#customerid_" + lower), SK: keys.SK(fmt.Sprintf("$order_1#orderid_o-%d", i))}, fmt.Sprintf(`{
				"__edb_e__": {"S": "order"}, "__edb_v__": {"S": "1"}, "customerId": {"S": %q}, "orderId": {"S": "O-%d"}, "status": {"S": %q}, "total": {"N": "0.0000001"},
				"gsi1pk": {"S": "$shop#status_%s"}, "gsi1sk": {"S": "$statusthings#order_1#total_1e-7"}}`, customer, i, status, strings.ToLower(status))),
			opOf(t, keys.Key{PK: keys.PK("$shop#customerid_" + lower), SK: "$customer_1"}, fmt.Sprintf(`{
				"__edb_e__": {"S": "customer"}, "__edb_v__": {"S": "1"}, "customerId": {"S": %q}, "email": {"S": "Nr%d@Example.com"},
				"gsi1pk": {"S": "$shop#email_nr%d@example.com"}, "gsi1sk": {"S": "$customer_1"}}`, customer, i, i)))
	}
	store(t, tbl, ops...)
	return tbl
}

// The commands find the type attribute and the patterns of a table of ElectroDB, check its keys,
// and say what they do not check.
func TestATableOfElectroDB(t *testing.T) {
	t.Parallel()
	tbl := withElectroDB(t)
	name := tbl.Schema().Name
	for _, args := range [][]string{{"schema", "-sample", "100", name}, {"hot", name}, {"query", name, "$shop#customerid_c-ana"}} {
		got := run(t, nil, "", args...)
		if got.code != exitYes || !strings.Contains(got.stderr, "All of them have __edb_e__.") || !strings.Contains(got.stderr, "-type=__edb_e__") {
			t.Errorf("%q: %+v", args, got)
		}
		// The keys say them, in lower case and behind a label.
		if strings.Contains(got.stdout, "customerId=") || strings.Contains(got.stdout, "orderId=") {
			t.Errorf("%q repeats the key:\n%s", args, got.stdout)
		}
	}
	got := run(t, nil, "", "schema", "-sample", "100", "-type", "__edb_e__", name)
	golden(t, "schema-electrodb", hide(tbl, got))
	file := save(t, "schema.json", got.stdout)

	stored := run(t, nil, "", "get", "-json", name, "$shop#customerid_οδος", "$order_1#orderid_o-1").stdout
	for edited, says := range map[string]string{
		strings.Replace(stored, `"Open"`, `"Gone"`, 1):              `attribute "gsi1pk" is not what the pattern "$shop#status_{status:lower}" makes of the item`,
		strings.Replace(stored, `"0.0000001"`, `"5"`, 1):            `attribute "gsi1sk" is not what the pattern "$statusthings#order_1#total_{total:lower}" makes`,
		strings.Replace(stored, `"O-1"`, `"O-7"`, 1):                `attribute "sk" is not what the pattern "$order_1#orderid_{orderId:lower}" makes`,
		strings.Replace(stored, `"O-1"`, `"O-1#x"`, 1):              `attribute "sk" has the pattern "$order_1#orderid_{orderId:lower}", and an attribute of it has another form`,
		strings.Replace(stored, `"$order_1#orderid_o-1"`, `"x"`, 1): `are like none of its patterns`,
	} {
		if edited == stored {
			t.Fatalf("nothing is changed for %s: %s", says, stored)
		}
		trouble(t, run(t, nil, edited, "put", "-schema", file, name), says)
		var read struct{ Item map[string]any }
		if err := json.Unmarshal([]byte(edited), &read); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, nil, string(line), "load", "-check", "-schema", file, name); got.code != exitNo || !strings.Contains(got.stdout, says) {
			t.Errorf("load -check: %+v", got)
		}
	}
	right := strings.NewReplacer(`"Open"`, `"GONE"`, "$shop#status_open", "$shop#status_gone").Replace(stored)
	if got := run(t, nil, right, "put", "-yes", "-schema", file, name); got.code != exitYes || strings.Contains(got.stderr, "not checked") {
		t.Errorf("put: %+v", got)
	}
	// Another label is another form, and that is said.
	other := strings.Replace(right, "$shop#status_gone", "$shop#state_gone", 1)
	if got := run(t, nil, other, "put", "-schema", file, name); got.code != exitNo || !strings.Contains(got.stderr, `attribute "gsi1pk" of entity "order", which is in a key of another form`) {
		t.Errorf("put: %+v", got)
	}
	if got := run(t, nil, "", "get", name, "$shop#customerid_nobody", "$customer_1"); got.code != exitNo || strings.Contains(got.stderr, "Package keys writes") {
		t.Errorf("get: %+v", got)
	}
}

func TestViewByAnotherType(t *testing.T) {
	t.Parallel()
	tbl := withElectroDB(t)
	name := tbl.Schema().Name
	c := start(t, "view", "-type", "__edb_e__", name)
	if status, body := browse(t, newBrowser(t), strings.TrimSpace(c.line(t))); status != http.StatusOK || !strings.Contains(body, "customerid_") || !strings.Contains(body, "{customerId:lower}") {
		t.Errorf("status %d\n%s", status, body)
	}
	c.succeed(t, os.Interrupt)
	trouble(t, run(t, nil, "", "view", "-type", "kind", "-schema", "x.json"), "-type does not go with -schema")
}

// Most items of a table can have the type of one library, and some that of none.
func TestTheTypeOfMostItems(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "Users"}, nil)
	store(t, tbl,
		opOf(t, keys.Key{PK: "user#1", SK: "user#"}, `{"_type": {"S": "User"}, "email": {"S": "a@b.example"}}`),
		opOf(t, keys.Key{PK: "_unique#User#email#a@b.example", SK: "_unique#"}, `{"_type": {"S": "_Unique"}}`),
		opOf(t, keys.Key{PK: "pay#1", SK: "x"}, `{"status": {"S": "COMPLETED"}}`))
	if got := run(t, nil, "", "hot", tbl.Schema().Name); !strings.Contains(got.stderr, "2 of 3 have _type.") {
		t.Errorf("%+v", got)
	}
}

// The commands tell the entity of an item without a type attribute by the kinds of the schema file.
func TestATableWithoutTypes(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "Devices"}, nil)
	store(t, tbl,
		opOf(t, keys.Key{PK: "DEVICE#d-1", SK: "META"}, `{"id": {"S": "d-1"}}`),
		opOf(t, keys.Key{PK: "DEVICE#d-1", SK: "READING#1"}, `{"id": {"S": "d-1"}, "at": {"S": "1"}}`))
	name := tbl.Schema().Name
	file := save(t, "schema.json", fmt.Sprintf(`{"name": %q,
		"kinds": [{"type": "DEVICE", "pk": "DEVICE#", "sk": "META"}, {"type": "READING", "pk": "DEVICE#", "sk": "READING#", "exists": ["at"]}],
		"entities": [{"type": "READING", "items": [{"pk": "DEVICE#{id}", "sk": "READING#{at}"}]}]}`, name))
	for _, args := range [][]string{{"query", "-schema", file, name, "DEVICE#d-1"}, {"hot", "-schema", file, name}} {
		got := run(t, nil, "", args...)
		words := strings.Fields(got.stdout)
		if got.code != exitYes || !slices.Contains(words, "DEVICE") || !slices.Contains(words, "READING") || strings.Contains(got.stderr, "No item that was read") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	wrong := `{"Item": {"pk": {"S": "DEVICE#d-1"}, "sk": {"S": "READING#1"}, "id": {"S": "d-1"}, "at": {"S": "2"}}}`
	trouble(t, run(t, nil, wrong, "put", "-schema", file, name), `attribute "sk" is not what the pattern "READING#{at}" makes of the item`)
	if got := run(t, nil, wrong, "load", "-check", "-schema", file, name); got.code != exitNo || !strings.Contains(got.stdout, `attribute "sk" is not what the pattern`) {
		t.Errorf("load -check: %+v", got)
	}
}
