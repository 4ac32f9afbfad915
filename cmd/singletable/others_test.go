package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// withModel returns a table with a user in three items, one of which the model gives no
// key of, and a schema file with its entities.
func withModel(t *testing.T) (tbl *table.Table, file string) {
	t.Helper()
	tbl = tabletest.New(t, appCore(), nil)
	for _, key := range []keys.Key{{PK: "USER#ana", SK: "PROFILE"}, {PK: "EMAIL#ana's@example.com", SK: "METADATA"}} {
		store(t, tbl, opOf(t, key, `{"entityType":{"S":"USER"},"userId":{"S":"ana"},"email":{"S":"ana's@example.com"},"revision":{"S":"R1"},"city":{"S":"Köln"}}`))
	}
	model := tablemodel.Model{Table: appCore(), Entities: []tablemodel.Entity{
		{Type: "USER", Version: "revision", Items: []tablemodel.Pattern{
			{PK: "USER#{userId}", SK: "PROFILE"},
			{PK: "EMAIL#{email}", SK: "METADATA"},
			{PK: "PHONE#{phone}", SK: "METADATA"},
			{PK: "ALL#{1}", SK: "USER#{userId}"},
		}},
	}}
	return tbl, save(t, "schema.json", encode(t, model))
}

// TestWritesWithEntities knows the version and the copies of an item from a schema file.
func TestWritesWithEntities(t *testing.T) {
	t.Parallel()
	tbl, file := withModel(t)
	name := tbl.Schema().Name
	edited := strings.ReplaceAll(run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout, "Köln", "Bonn")
	step := func(golds, stdin string, args ...string) string {
		t.Helper()
		got := hide(tbl, run(t, nil, stdin, args...))
		got.stderr = strings.ReplaceAll(got.stderr, file, "schema.json")
		if drawn := jsonItem(t, name, "USER#ana", "PROFILE")["revision"]; drawn != "R1" && drawn != "" {
			got.stdout = strings.ReplaceAll(got.stdout, drawn, "DRAWN")
		}
		golden(t, golds, got)
		return got.stdout
	}
	step("put-entity", edited, "put", "-schema", file, name)
	step("put-entity-written", edited, "put", "-yes", "-schema", file, name)
	step("put-entity-nothing", run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout, "put", "-schema", file, name)
	step("delete-entity", "", "delete", "-schema", file, name, "EMAIL#ana's@example.com", "METADATA")
	if city := jsonItem(t, name, "EMAIL#ana's@example.com", "METADATA")["city"]; city != "Köln" {
		t.Errorf("the copy was changed: %s", city)
	}

	// -version is what the user says.
	got := run(t, nil, strings.ReplaceAll(edited, "Bonn", "Berlin"), "put", "-json", "-version", "revision", "-schema", file, name)
	out := decoded[written](t, got)
	if out.Guard != edit.ByVersion {
		t.Errorf("%+v", got)
	}
	want := []other{
		{Type: "USER", PK: "EMAIL#ana's@example.com", SK: "METADATA"},
		{Type: "USER", PK: "ALL#{1}", SK: "USER#{userId}", Pattern: true},
	}
	if diff := gocmp.Diff(want, out.Others); diff != "" {
		t.Errorf("the other items (-want +got):\n%s", diff)
	}
	// An item of another type is guarded as before.
	got = run(t, nil, `{"pk":{"S":"USER#ana"},"sk":{"S":"NOTE"},"entityType":{"S":"NOTE"}}`, "put", "-schema", file, name)
	if got.code != exitNo || strings.Contains(got.stdout, "Other items") {
		t.Errorf("%+v", got)
	}
}

// jsonItem returns the texts of an item by name.
func jsonItem(t *testing.T, args ...string) map[string]string {
	t.Helper()
	out := decoded[struct{ Item map[string]struct{ S string } }](t, run(t, nil, "", append([]string{"get", "-json"}, args...)...))
	texts := map[string]string{}
	for name, v := range out.Item {
		texts[name] = v.S
	}
	return texts
}

// An item whose keys are not what its entity's patterns say is refused before a request, and
// written without the schema file. Its values are not in the error.
func TestPutRefusesOtherKeysThanThePatterns(t *testing.T) {
	t.Parallel()
	tbl, file := withModel(t)
	name := tbl.Schema().Name
	stored := run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout
	for attribute, says := range map[string]string{
		"userId": `entity "USER": attribute "pk" is not what the pattern "USER#{userId}" makes of the item`,
		"sk":     `entity "USER": attributes "pk" and "sk" are like none of its patterns: USER#{userId} / PROFILE`,
		"email":  `entity "USER": the change makes another key of the pattern "EMAIL#{email} / METADATA"`,
	} {
		edited := regexp.MustCompile(`("`+attribute+`":\s*\{\s*"S":\s*)"[^"]*"`).ReplaceAllString(stored, `$1"secret"`)
		if edited == stored {
			t.Fatalf("%s is not in %s", attribute, stored)
		}
		got := run(t, nil, edited, "put", "-yes", "-schema", file, name)
		trouble(t, got, "singletable put: ", says, "Without -schema, or without the entity in its file")
		if strings.Contains(got.stderr, "secret") || strings.Contains(got.stderr, "ana") {
			t.Errorf("the error has a value: %s", got.stderr)
		}
		if now := run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout; now != stored {
			t.Errorf("%s: the item was written: %s", says, now)
		}
		if attribute != "email" { // a table that is missing is not asked
			trouble(t, run(t, nil, edited, "put", "-schema", file, "Missing"), says)
		}
		if got := run(t, nil, edited, "put", name); got.code != exitNo {
			t.Errorf("without -schema: %+v", got)
		}
	}
}

// load refuses such a line, too.
func TestLoadRefusesOtherKeysThanThePatterns(t *testing.T) {
	t.Parallel()
	tbl, file := withModel(t)
	to := tabletest.New(t, appCore(), nil).Schema().Name
	dumped := run(t, nil, "", "dump", tbl.Schema().Name).stdout
	drifted := dumped + `{"Item":{"pk":{"S":"USER#ana"},"sk":{"S":"PROFILE"},"entityType":{"S":"USER"},"userId":{"S":"bob"}}}` + "\n"
	if got := run(t, nil, dumped, "load", "-check", "-schema", file, to); got.code != exitYes {
		t.Errorf("%+v", got)
	}
	got := run(t, nil, drifted, "load", "-check", "-schema", file, to)
	if got.code != exitNo || !strings.Contains(got.stdout, `line 3: invalid: the keys are not those of the entity: entity "USER": attribute "pk"`) {
		t.Errorf("%+v", got)
	}
	trouble(t, run(t, nil, drifted, "load", "-schema", file, to), `line 3: `, `Without the entity in the schema file`)
	if got := run(t, nil, drifted, "load", "-check", "-schema", file, to); !strings.Contains(got.stdout, "\nWithout the entity in the schema file") {
		t.Errorf("%+v", got)
	}
	if got := run(t, nil, drifted, "load", "-replace", to); got.code != exitYes {
		t.Errorf("%+v", got)
	}
}

// put and load say which keys the schema file does not describe, so that nobody takes them for
// checked.
func TestKeysThatAreNotChecked(t *testing.T) {
	t.Parallel()
	tbl, file := withModel(t)
	name := tbl.Schema().Name
	// The file has no entity NOTE, and does not know what the first copy of a user is made of.
	const note = `{"pk":{"S":"USER#ana"},"sk":{"S":"NOTE"},"entityType":{"S":"NOTE"}}`
	const list = `{"pk":{"S":"ALL#5"},"sk":{"S":"USER#ana"},"entityType":{"S":"USER"},"userId":{"S":"ana"},"email":{"S":"ana's@example.com"}}`
	const ofNote = `all keys of entity "NOTE", which the schema file does not have`
	const ofList = `attribute "pk" of entity "USER", but for the constants: its pattern "ALL#{1}" does not say what the numbers in braces are made of`
	for item, want := range map[string]string{note: ofNote, list: ofList} {
		got := run(t, nil, item, "put", "-schema", file, name)
		if !strings.HasPrefix(got.stderr, "Not checked: "+want+"\n") {
			t.Errorf("%+v", got)
		}
		if out := decoded[written](t, run(t, nil, item, "put", "-json", "-schema", file, name)); !slices.Equal(out.Unchecked, []string{want}) {
			t.Errorf("%+v", out)
		}
	}
	items := `{"Item":` + note + "}\n" + `{"Item":` + list + "}\n" + `{"Item":` + strings.Replace(note, "NOTE", "NOTE#2", 1) + "}\n"
	all := "Not checked: " + ofNote + " (2 items)\nNot checked: " + ofList + " (1 item)\n"
	to := tabletest.New(t, appCore(), nil).Schema().Name
	for _, args := range [][]string{{"load", "-check", "-schema", file, to}, {"load", "-schema", file, to}} {
		if got := run(t, nil, items, args...); got.code != exitYes || !strings.HasSuffix(got.stderr, all) {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if out := decoded[loaded](t, run(t, nil, items, "load", "-check", "-json", "-schema", file, to)); len(out.Unchecked) != 2 {
		t.Errorf("%+v", out)
	}
}
