package edit_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// person is an entity with a copy, and one that not all have.
var person = tablemodel.Entity{Type: "USER", Version: "revision", Items: []tablemodel.Pattern{
	{PK: "USER#{id}", SK: "PROFILE", Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "CITY#{city}", SK: "USER#{id}"}}},
	{PK: "EMAIL#{email}", SK: "PROFILE"},
	{PK: "PHONE#{phone}", SK: "PROFILE"},
}}

const ana = `{"pk":{"S":"USER#ana"},"sk":{"S":"PROFILE"},"entityType":{"S":"USER"},"id":{"S":"ana"},"email":{"S":"a@x"},"city":{"S":"Köln"},"name":{"S":"Ana"},"revision":{"S":"r1"},"gsi1pk":{"S":"CITY#Köln"},"gsi1sk":{"S":"USER#ana"}}`

// family is a table with people.
type family struct {
	*table.Table
	*edit.Editor
	faults *tabletest.Faults
}

func newFamily(t *testing.T) family {
	t.Helper()
	f := family{faults: &tabletest.Faults{}}
	f.Table = tabletest.New(t, schema.Table{Name: "AppCore", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}, nil)
	var err error
	f.Editor, err = edit.New(tabletest.Client(t, f.faults.Install), f.Schema(), func(table.Item) string { return "revision" })
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, ana)
	f.put(t, copied(ana, `EMAIL#a@x`))
	return f
}

// copied returns an item as a copy under another key.
func copied(text, pk string) string {
	text = strings.Replace(text, `"USER#ana"},"sk"`, `"`+pk+`"},"sk"`, 1)
	return strings.Replace(text, `,"gsi1pk":{"S":"CITY#Köln"},"gsi1sk":{"S":"USER#ana"}`, "", 1)
}

func (f family) put(t *testing.T, text string) {
	t.Helper()
	i := item(t, text)
	if err := f.Do(t.Context(), table.Put(f.KeyOf("", i), i)); err != nil {
		t.Fatal(err)
	}
}

// all returns the stored items by their partition keys, as texts without the keys.
func (f family) all(t *testing.T) map[string]string {
	t.Helper()
	page, err := table.ScanPage[table.Item](t.Context(), f.Table, table.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, i := range page.Items {
		key := f.KeyOf("", i)
		delete(i, "pk")
		delete(i, "sk")
		all[string(key.PK)] = text(i)
	}
	return all
}

func changedItem(t *testing.T, from, old, new string) table.Item {
	t.Helper()
	if !strings.Contains(from, old) {
		t.Fatalf("%s has no %s", from, old)
	}
	return item(t, strings.Replace(from, old, new, 1))
}

func TestPutEntity(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, new string
		// has are parts of the stored items, by their partition key.
		has map[string]string
	}{
		"name":         {`"Ana"`, `"Anna"`, map[string]string{"USER#ana": `name={"S":"Anna"}`, "EMAIL#a@x": `name={"S":"Anna"}`}},
		"city":         {`"city":{"S":"Köln"}`, `"city":{"S":"Bonn"}`, map[string]string{"USER#ana": `gsi1pk={"S":"CITY#Bonn"} gsi1sk={"S":"USER#ana"}`, "EMAIL#a@x": `city={"S":"Bonn"}`}},
		"no city":      {`"city":{"S":"Köln"},`, ``, map[string]string{"USER#ana": `entityType={"S":"USER"} id=`, "EMAIL#a@x": `email={"S":"a@x"} entityType`}},
		"new":          {`"name"`, `"age":{"N":"7"},"name"`, map[string]string{"USER#ana": `age={"N":"7"}`, "EMAIL#a@x": `age={"N":"7"}`}},
		"email":        {`"a@x"`, `"b@x"`, map[string]string{"USER#ana": `email={"S":"b@x"}`, "EMAIL#b@x": `email={"S":"b@x"}`}},
		"phone":        {`"name"`, `"phone":{"S":"1"},"name"`, map[string]string{"USER#ana": `phone`, "EMAIL#a@x": `phone`, "PHONE#1": `city={"S":"Köln"} email={"S":"a@x"}`}},
		"key of index": {`"CITY#Köln"`, `"CITY#Ulm"`, map[string]string{"USER#ana": `gsi1pk={"S":"CITY#Ulm"}`, "EMAIL#a@x": `city={"S":"Köln"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t)
			plans, err := f.PutEntity(t.Context(), person, 0, changedItem(t, ana, test.old, test.new))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(f.faults.Requests("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem")); n != 0 {
				t.Fatal("a plan was written before it was applied")
			}
			if err := f.ApplyAll(t.Context(), plans); err != nil {
				t.Fatal(err)
			}
			got := f.all(t)
			if want := slices.Sorted(maps.Keys(test.has)); !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
				t.Errorf("items %v, want %v", got, want)
			}
			revisions := map[string]bool{}
			for pk, part := range test.has {
				if !strings.Contains(got[pk], part) {
					t.Errorf("%s is %s, want %s", pk, got[pk], part)
				}
				_, revision, _ := strings.Cut(got[pk], "revision=")
				revisions[strings.TrimSpace(revision)] = true
			}
			if len(revisions) != 1 || revisions[`{"S":"r1"}`] {
				t.Errorf("revisions %v, want a new one for all", revisions)
			}
			if n := len(f.faults.Requests("TransactWriteItems")); n != 1 {
				t.Errorf("%d transactions", n)
			}
		})
	}
}

// A change of a copy is one of the entity, too.
func TestPutEntityByItsCopy(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	plans, err := f.PutEntity(t.Context(), person, 1, changedItem(t, copied(ana, "EMAIL#a@x"), "Köln", "Bonn"))
	if err == nil {
		err = f.ApplyAll(t.Context(), plans)
	}
	got := f.all(t)
	if err != nil || !strings.Contains(got["USER#ana"], `city={"S":"Bonn"}`) || !strings.Contains(got["USER#ana"], "CITY#Bonn") {
		t.Errorf("%v: %v", err, got)
	}
}

func TestCreateAndDeleteEntity(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	plans, err := f.DeleteEntity(t.Context(), person, 0, at)
	if err == nil {
		err = f.ApplyAll(t.Context(), plans)
	}
	if got := f.all(t); err != nil || len(got) != 0 {
		t.Fatalf("%v: %v", err, got)
	}
	created := changedItem(t, ana, `,"gsi1pk":{"S":"CITY#Köln"},"gsi1sk":{"S":"USER#ana"}`, "")
	if plans, err = f.PutEntity(t.Context(), person, 0, created); err == nil {
		err = f.ApplyAll(t.Context(), plans)
	}
	got := f.all(t)
	if err != nil || len(got) != 2 || !strings.Contains(got["USER#ana"], "CITY#Köln") || strings.Contains(got["EMAIL#a@x"], "CITY#") || strings.Contains(got["USER#ana"], `"r1"`) {
		t.Errorf("%v: %v", err, got)
	}
	if err := f.ApplyAll(t.Context(), plans); !errors.Is(err, edit.ErrChanged) {
		t.Errorf("created once more: %v", err)
	}
}

// Nothing is written if another writer was faster, if a key is taken, or if the other items
// cannot be told.
func TestEntityThatIsNotChanged(t *testing.T) {
	t.Parallel()
	renamed := func(t *testing.T) table.Item { return changedItem(t, ana, `"Ana"`, `"Anna"`) }
	moved := func(t *testing.T) table.Item { return changedItem(t, ana, `"a@x"`, `"b@x"`) }
	for name, test := range map[string]struct {
		before  func(t *testing.T, f family)
		item    func(t *testing.T) table.Item
		between func(t *testing.T, f family)
		want    error
	}{
		"copy changed in between": {nil, renamed, func(t *testing.T, f family) {
			f.put(t, strings.Replace(copied(ana, "EMAIL#a@x"), `"r1"`, `"r2"`, 1))
		}, edit.ErrChanged},
		"key taken in between": {nil, moved, func(t *testing.T, f family) { f.put(t, copied(ana, "EMAIL#b@x")) }, edit.ErrChanged},
		"key taken":            {func(t *testing.T, f family) { f.put(t, copied(ana, "EMAIL#b@x")) }, moved, nil, table.ErrInvalid},
		"copy missing": {func(t *testing.T, f family) {
			if err := f.Do(t.Context(), table.Delete(keys.Key{PK: "EMAIL#a@x", SK: "PROFILE"})); err != nil {
				t.Fatal(err)
			}
		}, renamed, nil, edit.ErrAlone},
		"copy of another": {func(t *testing.T, f family) {
			f.put(t, strings.Replace(copied(ana, "EMAIL#a@x"), `"id":{"S":"ana"}`, `"id":{"S":"ben"}`, 1))
		}, moved, nil, edit.ErrAlone},
		"no attribute of the key":      {nil, func(t *testing.T) table.Item { return changedItem(t, ana, `"id":{"S":"ana"},`, "") }, nil, edit.ErrDetached},
		"another attribute of the key": {nil, func(t *testing.T) table.Item { return changedItem(t, ana, `"id":{"S":"ana"}`, `"id":{"S":"x"}`) }, nil, edit.ErrDetached},
		"invalid":                      {nil, func(t *testing.T) table.Item { return changedItem(t, ana, `{"S":"Ana"}`, `{"N":"NaN"}`) }, nil, table.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t)
			if test.before != nil {
				test.before(t, f)
			}
			plans, err := f.PutEntity(t.Context(), person, 0, test.item(t))
			if err == nil && test.between != nil {
				test.between(t, f)
				err = f.ApplyAll(t.Context(), plans)
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if got := f.all(t)["USER#ana"]; !strings.Contains(got, `name={"S":"Ana"}`) || !strings.Contains(got, `email={"S":"a@x"}`) {
				t.Errorf("stored: %s", got)
			}
		})
	}
}

// A copy that another entity has taken stays.
func TestDeleteEntityWithATakenCopy(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	f.put(t, strings.Replace(copied(ana, "EMAIL#a@x"), `"id":{"S":"ana"}`, `"id":{"S":"ben"}`, 1))
	if plans, err := f.DeleteEntity(t.Context(), person, 0, at); !errors.Is(err, edit.ErrAlone) {
		t.Errorf("%d plans: %v", len(plans), err)
	}
}

// Attributes that a copy does not have are not given to it: it can be a part.
func TestEntityWithCopiesThatAreParts(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	f.put(t, `{"pk":{"S":"EMAIL#a@x"},"sk":{"S":"PROFILE"},"entityType":{"S":"USER"},"id":{"S":"ana"},"email":{"S":"a@x"},"name":{"S":"other"},"revision":{"S":"r1"}}`)
	changed := changedItem(t, ana, `"city":{"S":"Köln"},"name":{"S":"Ana"}`, `"city":{"S":"Bonn"},"age":{"N":"1"},"name":{"S":"Anna"}`)
	plans, err := f.PutEntity(t.Context(), person, 0, changed)
	if err == nil {
		err = f.ApplyAll(t.Context(), plans)
	}
	got := f.all(t)["EMAIL#a@x"]
	if err != nil || strings.Contains(got, "city") || strings.Contains(got, "age") || !strings.Contains(got, "Anna") {
		t.Errorf("%v: the copy is %s", err, got)
	}
	if _, revision := plans[1].New["revision"].(*types.AttributeValueMemberS); !revision || !edit.Equal(plans[1].New["revision"], plans[0].New["revision"]) {
		t.Error("the items have different revisions")
	}
}

// A change by a copy moves neither the copy nor the main item.
func TestCopyKeepsItsKeys(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	for _, change := range [][2]string{{`"a@x"`, `"b@x"`}, {`"email":{"S":"a@x"},`, ``}, {`"id":{"S":"ana"}`, `"id":{"S":"x"}`}, {`"id":{"S":"ana"},`, ``}} {
		_, err := f.PutEntity(t.Context(), person, 1, changedItem(t, copied(ana, "EMAIL#a@x"), change[0], change[1]))
		if !errors.Is(err, edit.ErrDetached) || !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "Repo.Update") {
			t.Errorf("%s: %v", change[0], err)
		}
	}
}

// Attributes that have drifted from the key can be made to agree with it again, and others
// can be changed.
func TestPutDriftedItem(t *testing.T) {
	t.Parallel()
	lone := tablemodel.Entity{Type: "USER", Version: "revision", Items: person.Items[:1]}
	f := newFamily(t)
	drifted := strings.Replace(ana, `"id":{"S":"ana"}`, `"id":{"S":"x"}`, 1)
	f.put(t, drifted)
	for _, change := range []table.Item{changedItem(t, drifted, `"Ana"`, `"Anna"`), item(t, ana)} {
		if _, err := f.PutEntity(t.Context(), lone, 0, change); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.PutEntity(t.Context(), lone, 0, changedItem(t, drifted, `"id":{"S":"x"}`, `"id":{"S":"y"}`)); !errors.Is(err, edit.ErrDetached) {
		t.Errorf("drifted further: %v", err)
	}
}

// An item that was deleted in between is not created again over what is left of its entity.
func TestPutEntityThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	if err := f.Do(t.Context(), table.Delete(at)); err != nil {
		t.Fatal(err)
	}
	_, err := f.PutEntity(t.Context(), person, 0, changedItem(t, ana, `"Ana"`, `"Anna"`))
	if !errors.Is(err, edit.ErrLeft) || !strings.Contains(err.Error(), "EMAIL#a@x / PROFILE") {
		t.Errorf("%v", err)
	}
}
