package tablemodel_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// Items of a [schema.Kind] have its type in all pictures and in the model, except in an index
// that does not hold what tells it.
func TestKinds(t *testing.T) {
	t.Parallel()
	spec := schema.Table{
		Name: "Devices",
		Kinds: []schema.Kind{
			{Type: "DEVICE", PK: "DEVICE#", SK: "META"},
			{Type: "READING", PK: "DEVICE#", SK: "READING#", Exists: []string{"value"}},
		},
		Indexes: []schema.Index{{Name: "unit", PK: "unit", Projection: types.ProjectionTypeKeysOnly}},
	}
	items := []table.Item{
		{"pk": stringValue("DEVICE#d-1"), "sk": stringValue("META"), "id": stringValue("d-1"), "entityType": stringValue("pump"), "unit": stringValue("bar")},
		{"pk": stringValue("DEVICE#d-1"), "sk": stringValue("READING#1"), "value": stringValue("7"), "unit": stringValue("bar")},
		{"pk": stringValue("USER#u"), "sk": stringValue("META"), "entityType": stringValue("USER")},
		{"pk": stringValue("DEVICE#d-1"), "sk": stringValue("NOTE#1"), "entityType": stringValue("DEVICE claim"), "ownerPK": stringValue("x"), "ownerSK": stringValue("y")},
	}
	m := expect.Value(tablemodel.Infer(spec, items))(t)
	expect.Equal(t, "model", patterns(m), []string{
		"DEVICE#{id} / META; unit {unit} / ", "DEVICE#{1} / NOTE#{2}", "DEVICE#{1} / READING#{2}; unit {unit} / ", "USER#{1} / META",
	})
	e, n, ok := m.Find(items[1])
	expect.Equal(t, "Find", []any{e.Type, n, ok}, []any{"READING", 0, true})
	_, _, ok = tablemodel.ClaimOwner(spec, table.Item{"pk": stringValue("DEVICE#d"), "sk": stringValue("META"), "entityType": stringValue("X claim"), "ownerPK": stringValue("x"), "ownerSK": stringValue("y")})
	expect.Equal(t, "a device owns", ok, false)

	md := expect.Value(tablemodel.Markdown(spec, items, nil))(t)
	rows := regexp.MustCompile(`(?m)^\|.*(META|READING).*$`).FindAllString(md, -1)
	expect.Equal(t, "Markdown", rows, []string{
		"| `DEVICE#d-1` | `META` | DEVICE, pump | `bar` | id `d-1` |", "|  | `READING#1` | READING | `bar` | value `7` |", "| `USER#u` | `META` | USER |  |  |",
		"| `bar` | `DEVICE#d-1` | `META` | DEVICE |", "|  | `DEVICE#d-1` | `READING#1` |  |",
	})
	flow := expect.Value(tablemodel.Mermaid(spec, items, nil))(t)
	expect.Equal(t, "Mermaid", regexp.MustCompile(`<i>\w+`).FindAllString(flow, -1), []string{"<i>DEVICE", "<i>DEVICE", "<i>READING", "<i>USER", "<i>DEVICE"})
	page := expect.Value(tablemodel.HTML(spec, items, nil))(t)
	for text, want := range map[string]int{`>DEVICE</span>`: 3, `>READING</span>`: 2, `<tr class="untyped">`: 1} {
		expect.Equal(t, "HTML: "+text, strings.Count(page, text), want)
	}
	file := string(expect.Value(tablemodel.Workbench(spec, items))(t))
	expect.Equal(t, "facets", strings.Contains(file, `"FacetName": "READING"`), true)
}
