package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// Each item is refused for the attribute that no longer is what its pattern says, and no value
// is in the error.
func TestCheckPatterns(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "AppCore", Indexes: []schema.Index{
		{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}, {Name: "LSI1", SK: "lsi1sk", Local: true}, {Name: "byYear", PK: "year", PKType: types.ScalarAttributeTypeN},
	}}
	tbl, err := table.New(tabletest.Client(t), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	user := tablemodel.Entity{Type: "USER", Items: []tablemodel.Pattern{
		{PK: "USER#{id}", SK: "PROFILE", Indexes: map[string]tablemodel.Pattern{
			"GSI1": {PK: "CITY#{city}", SK: "USER#{id}"}, "LSI1": {PK: "USER#{id}", SK: "AT#{at:time}"}, "byYear": {PK: "{year}"},
		}},
		{PK: "EMAIL#{email}", SK: "PROFILE"},
		{PK: "LIST#{1}", SK: "USER#{id}"},
	}}
	model := tablemodel.Model{Table: spec, Entities: []tablemodel.Entity{user}}
	whole := strings.Replace(ana, `"revision"`, `"at":{"S":"2024-01-15T10:00:00Z"},"lsi1sk":{"S":"AT#2024-01-15T10:00:00.000Z"},"year":{"N":"2024"},"revision"`, 1)
	without := func(from string, parts ...string) string {
		for _, part := range parts {
			from = strings.Replace(from, part, "", 1)
		}
		return from
	}
	for text, says := range map[string]string{
		whole: "",
		ana:   "",
		without(ana, `,"gsi1pk":{"S":"CITY#Köln"},"gsi1sk":{"S":"USER#ana"}`):                               "", // it is not in the index
		without(ana, `,"gsi1sk":{"S":"USER#ana"}`):                                                          `attribute "gsi1sk" is missing, and attribute "gsi1pk" is there: both are the key in index GSI1, and it has the pattern "USER#{id}"`,
		without(ana, `"gsi1pk":{"S":"CITY#Köln"},`):                                                         `attribute "gsi1pk" is missing, and attribute "gsi1sk" is there: both are the key in index GSI1`,
		without(ana, `"gsi1pk":{"S":"CITY#Köln"},`, `"city":{"S":"Köln"},`):                                 "", // what makes it is missing
		strings.Replace(ana, `"gsi1pk":{"S":"CITY#Köln"}`, `"gsi1pk":{"S":"LEFT"}`, 1):                      "", // a key of another form
		strings.Replace(ana, `"USER"`, `"OTHER"`, 1):                                                        "",
		without(ana, `"entityType":{"S":"USER"},`):                                                          "",
		copied(ana, "EMAIL#a@x"):                                                                            "",
		strings.Replace(copied(ana, "LIST#7"), `"sk":{"S":"PROFILE"}`, `"sk":{"S":"USER#ana"}`, 1):          "",
		strings.Replace(ana, `"PROFILE"`, `"SETTINGS"`, 1):                                                  `entity "USER": attributes "pk" and "sk" are like none of its patterns: USER#{id} / PROFILE, EMAIL#{email} / PROFILE, LIST#{1} / USER#{id}`,
		strings.Replace(ana, `"id":{"S":"ana"}`, `"id":{"S":"bob"}`, 1):                                     `entity "USER": attribute "pk" is not what the pattern "USER#{id}" makes of the item`,
		without(ana, `"id":{"S":"ana"},`):                                                                   `attribute "pk" has the pattern "USER#{id}", and the item lacks an attribute of it`,
		copied(ana, "EMAIL#b@x"):                                                                            `attribute "pk" is not what the pattern "EMAIL#{email}" makes`,
		strings.Replace(copied(ana, "LIST#7"), `"sk":{"S":"PROFILE"}`, `"sk":{"S":"USER#bob"}`, 1):          `attribute "sk" is not what the pattern "USER#{id}" makes`,
		strings.Replace(ana, `"city":{"S":"Köln"}`, `"city":{"S":"Bonn"}`, 1):                               `attribute "gsi1pk" is not what the pattern "CITY#{city}" makes`,
		without(ana, `"city":{"S":"Köln"},`):                                                                `attribute "gsi1pk" has the pattern "CITY#{city}", and the item lacks`,
		strings.Replace(ana, `"gsi1sk":{"S":"USER#ana"}`, `"gsi1sk":{"S":"USER#eva"}`, 1):                   `attribute "gsi1sk" is not what the pattern "USER#{id}" makes`,
		strings.Replace(whole, `"at":{"S":"2024-01-15T10:00:00Z"}`, `"at":{"S":"yesterday"}`, 1):            `attribute "lsi1sk" has the pattern "AT#{at:time}", and an attribute of it has another form`,
		strings.Replace(whole, `"at":{"S":"2024-01-15T10:00:00Z"}`, `"at":{"S":"2024-01-16T10:00:00Z"}`, 1): `attribute "lsi1sk" is not what`,
	} {
		_, err := edit.CheckPatterns(tbl, model, item(t, text))
		if says == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !errors.Is(err, edit.ErrPattern) || !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, and no %q", text, err, says)
			continue
		}
		for _, value := range []string{"ana", "bob", "eva", "Köln", "Bonn", "a@x", "yesterday"} {
			if strings.Contains(err.Error(), value) {
				t.Errorf("the error has the value %s: %v", value, err)
			}
		}
	}
}

// What the model does not describe is returned, with the entity and the pattern and without a
// value.
func TestCheckPatternsSaysWhatItDoesNotCheck(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Shop", Indexes: []schema.Index{
		{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
		{Name: "GSI2", PK: "gsi2pk", SK: "pk"},
		{Name: "byYear", PK: "year", PKType: types.ScalarAttributeTypeN},
		{Name: "LSI1", SK: "lsi1sk", Local: true},
	}}
	tbl, err := table.New(tabletest.Client(t), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	// ElectroDB makes keys with a label and a value in a segment.
	model := tablemodel.Model{Table: spec, Entities: []tablemodel.Entity{{Type: "order", Items: []tablemodel.Pattern{
		{PK: "$shop#{1}", SK: "$order_1#{id}", Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "$shop#{2}", SK: "AT#{at}"}, "LSI1": {PK: "$shop#{1}", SK: "{3}"}}},
	}}}}
	const order = `{"pk":{"S":"$shop#customer_secret"},"sk":{"S":"$order_1#secret"},"id":{"S":"secret"},"entityType":{"S":"order"}`
	const pk = `attribute "pk" of entity "order", but for the constants: its pattern "$shop#{1}" does not say what the numbers in braces are made of`
	for text, want := range map[string][]string{
		order + "}": {pk},
		order + `,"gsi1pk":{"S":"$shop#status_secret"},"gsi1sk":{"S":"AT#secret"},"at":{"S":"secret"}}`: {
			pk, `attribute "gsi1pk" of entity "order", but for the constants: its pattern "$shop#{2}" does not say what the numbers in braces are made of`,
		},
		order + `,"gsi1pk":{"S":"$shop#status_secret"},"gsi1sk":{"S":"secret"}}`: {
			pk, `attribute "gsi1pk" of entity "order", which is in a key of another form than the pattern "$shop#{2}"`,
			`attribute "gsi1sk" of entity "order", which is in a key of another form than the pattern "AT#{at}"`,
		},
		order + `,"gsi1pk":{"S":"left"}}`: {
			pk, `attribute "gsi1sk" of entity "order", which is missing, though the other key of its index is there; it has the pattern "AT#{at}"`,
		},
		order + `,"gsi1sk":{"S":"left"}}`: {
			pk, `attribute "gsi1pk" of entity "order", which is missing, though the other key of its index is there; it has the pattern "$shop#{2}"`,
		},
		order + `,"gsi2pk":{"S":"secret"},"year":{"N":"5"},"lsi1sk":{"S":"secret"}}`: {
			pk, `attribute "gsi2pk" of entity "order", which has no pattern in the schema file`,
			`attribute "lsi1sk" of entity "order", but for the constants: its pattern "{3}" does not say what the numbers in braces are made of`,
		},
		strings.Replace(order, `"order"`, `"item"`, 1) + "}":          {`all keys of entity "item", which the schema file does not have`},
		strings.Replace(order, `,"entityType":{"S":"order"}`, "}", 1): {"all keys of an item without a type"},
	} {
		unchecked, err := edit.CheckPatterns(tbl, model, item(t, text))
		var got []string
		for _, u := range unchecked {
			got = append(got, u.String())
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", text, err, diff)
		}
	}
	if unchecked, err := edit.CheckPatterns(tbl, tablemodel.Model{Table: spec}, item(t, order+"}")); unchecked != nil || err != nil {
		t.Errorf("without entities: %v, %v", unchecked, err)
	}
}

// A change of one item is refused if it gives another item of the entity another key.
func TestCheckAlone(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	model := tablemodel.Model{Table: f.Schema(), Entities: []tablemodel.Entity{person}}
	for text, says := range map[string]string{
		ana: "",
		strings.Replace(ana, `"Ana"`, `"Eva"`, 1):                                             "",
		strings.Replace(ana, `"a@x"`, `"b@x"`, 1):                                             `entity "USER": the change makes another key of the pattern "EMAIL#{email} / PROFILE"`,
		strings.Replace(ana, `"name"`, `"phone":{"S":"0221"},"name"`, 1):                      `the pattern "PHONE#{phone} / PROFILE"`,
		strings.Replace(copied(ana, "EMAIL#a@x"), `"id":{"S":"ana"}`, `"id":{"S":"bob"}`, 1):  `the pattern "USER#{id} / PROFILE"`,
		strings.Replace(strings.Replace(ana, "USER#ana", "USER#new", 1), `"ana"`, `"new"`, 1): "",
	} {
		plan, err := f.Put(t.Context(), item(t, text))
		if err != nil {
			t.Fatal(err)
		}
		err = edit.CheckAlone(model, plan)
		if (says == "") != (err == nil) || err != nil && (!errors.Is(err, edit.ErrPattern) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, and no %q", text, err, says)
		}
	}
}
