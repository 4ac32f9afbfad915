package tablemodel_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

func TestPicturesOfATable(t *testing.T) {
	t.Parallel()
	tbl, _ := stored(t)
	items := expect.Value(tablemodel.Scan(t.Context(), tbl, 0))(t)

	md := expect.Value(tablemodel.Markdown(full, items, nil))(t)
	expect.Golden(t, "payments.md", md)
	all, err := tablemodel.Markdown(full, items, &tablemodel.Options{
		Attributes: []string{"amount", "nowhere", "text"}, Partitions: -1, Items: -1, Length: -1,
	})
	expect.OK(t, err)
	expect.Golden(t, "payments-all.md", all)
	flow := expect.Value(tablemodel.Mermaid(full, items, &tablemodel.Options{Items: 2}))(t)
	expect.Golden(t, "payments.mermaid", flow)
	file := expect.Value(tablemodel.Workbench(full, items))(t)
	expect.Golden(t, "payments.workbench.json", string(file))
	page := expect.Value(tablemodel.HTML(full, items, nil))(t)
	expect.Golden(t, "payments.html", page)
}

// The same items give the same output, in whatever order they come.
func TestTheOrderOfItemsDoesNotMatter(t *testing.T) {
	t.Parallel()
	tbl, _ := stored(t)
	items := expect.Value(tablemodel.Scan(t.Context(), tbl, 0))(t)
	print := func() string {
		md := expect.Value(tablemodel.Markdown(full, items, nil))(t)
		flow := expect.Value(tablemodel.Mermaid(full, items, nil))(t)
		file := expect.Value(tablemodel.Workbench(full, items))(t)
		page := expect.Value(tablemodel.HTML(full, items, nil))(t)
		model := expect.Value(json.Marshal(expect.Value(tablemodel.Infer(full, items))(t)))(t)
		return md + flow + string(file) + page + string(model)
	}
	want := print()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		if print() != want {
			t.Fatalf("seed %d: another order of items gives another output", seed)
		}
	}
}

// An index whose keys have several attributes has a column for each of them.
func TestPicturesOfSeveralKeyAttributes(t *testing.T) {
	t.Parallel()
	var items []table.Item
	for i, of := range [][4]string{{"WINTER", "EU", "2", "b"}, {"WINTER", "EU", "10", "a"}, {"WINTER", "NA", "1", "a"}, {"SUMMER", "EU", "1", ""}} {
		item := table.Item{
			"pk": &types.AttributeValueMemberS{Value: "MATCH#" + strconv.Itoa(i)}, "sk": &types.AttributeValueMemberS{Value: "METADATA"},
			"tournament": &types.AttributeValueMemberS{Value: of[0]}, "region": &types.AttributeValueMemberS{Value: of[1]},
			"round": &types.AttributeValueMemberN{Value: of[2]},
		}
		if of[3] != "" {
			item["bracket"] = &types.AttributeValueMemberS{Value: of[3]}
		}
		items = append(items, item)
	}
	spec := schemas["several"]
	expect.Golden(t, "several.md", expect.Value(tablemodel.Markdown(spec, items, nil))(t))
	expect.Golden(t, "several.mermaid", expect.Value(tablemodel.Mermaid(spec, items, nil))(t))
	if file := expect.Value(tablemodel.Workbench(spec, items))(t); strings.Contains(string(file), "IndexName") {
		t.Error("a model has an index that it cannot describe")
	}
}

// Numbers are in numeric order, binary values in the order of their bytes.
func TestNumbersAndBytesAreInKeyOrder(t *testing.T) {
	t.Parallel()
	var items []table.Item
	for _, at := range []string{"10", "9", "-1.5", "1E2", "9007199254740993", "9007199254740992"} {
		items = append(items, table.Item{
			"sensor": &types.AttributeValueMemberB{Value: []byte{0xff}},
			"at":     &types.AttributeValueMemberN{Value: at},
			"value":  &types.AttributeValueMemberN{Value: "7"},
		})
	}
	items = append(items, table.Item{
		"sensor": &types.AttributeValueMemberB{Value: []byte{0x0f}},
		"at":     &types.AttributeValueMemberN{Value: "1"},
		"value":  &types.AttributeValueMemberS{Value: "not a number, so not in the index"},
	})
	md := expect.Value(tablemodel.Markdown(schemas["numbers"], items, &tablemodel.Options{Items: -1}))(t)
	expect.Golden(t, "numbers.md", md)
	flow := expect.Value(tablemodel.Mermaid(schemas["numbers"], items, nil))(t)
	expect.Golden(t, "numbers.mermaid", flow)
	file := expect.Value(tablemodel.Workbench(schemas["numbers"], items))(t)
	expect.Golden(t, "numbers.workbench.json", string(file))
}

// No value ends a cell, a label or a line, or becomes a mention, a reference, a link
// or markup.
func TestHostileValuesAreEscaped(t *testing.T) {
	t.Parallel()
	var items []table.Item
	for _, v := range []string{
		`a|b`, `a\|b`, "`a`", "a\n| b", `"]; end`, "<script>", "#quot;", "%%{init: {}}%%", "\xff",
		"@octocat", "a@example.com", "#123", "repo#123", "GH-123", "!12", "~bug", "defaced", "1234567",
		"https://example.com", "WWW.example.com", "[x](y)", "![x](y)", "**x**", "_x_", ":tada:",
		"$$x$$", "fa:fa-car", "a\u202eb\u2066c", "a\u0085b\u2028c",
	} {
		items = append(items, table.Item{
			"pk": stringValue(v), "sk": stringValue(v), "entityType": stringValue(v), v: stringValue(v), "empty": stringValue(""),
		})
	}
	md := expect.Value(tablemodel.Markdown(schemas["small"], items, nil))(t)
	expect.Golden(t, "hostile.md", md)
	if active := active(md); active != "" {
		t.Errorf("%q outside of code in\n%s", active, md)
	}
	flow := expect.Value(tablemodel.Mermaid(schemas["small"], items, nil))(t)
	expect.Golden(t, "hostile.mermaid", flow)
	if strings.ContainsAny(strings.TrimPrefix(flow, "%%{init"), "@$~!`\u202e\u2066\u2028") || strings.Contains(flow, "://") ||
		strings.Contains(flow, "WWW.") || strings.Contains(flow, "fa:fa") {
		t.Errorf("markup in\n%s", flow)
	}
}

// active returns something in a Markdown text that GitHub or GitLab would make
// more of than text, or that changes the direction of text.
func active(md string) string {
	if bidi := regexp.MustCompile(`[\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`).FindString(md); bidi != "" {
		return bidi
	}
	code := regexp.MustCompile("(?s)``+ .*? ``+|`[^`]+`|<code>.*?</code>")
	return regexp.MustCompile(`(?i)[@<>$~!:\[&]|#\d|gh-\d|www\.|\b[0-9a-f]{7,}\b`).FindString(code.ReplaceAllString(md, ""))
}

// A table without sort keys has one item in a partition. Items that are given
// twice are shown twice, and do no harm.
func TestPicturesOfATableWithoutSortKeys(t *testing.T) {
	t.Parallel()
	var items []table.Item
	for _, id := range []string{"b", "a", "a", "a", "a"} {
		items = append(items, table.Item{"id": stringValue(id)})
	}
	md := expect.Value(tablemodel.Markdown(schemas["simple"], items, nil))(t)
	expect.Golden(t, "simple.md", md)
	flow := expect.Value(tablemodel.Mermaid(schemas["simple"], items, nil))(t)
	expect.Golden(t, "simple.mermaid", flow)
}

func TestPicturesOfAnEmptyTable(t *testing.T) {
	t.Parallel()
	md := expect.Value(tablemodel.Markdown(full, nil, nil))(t)
	expect.Golden(t, "empty.md", md)
	flow := expect.Value(tablemodel.Mermaid(full, nil, nil))(t)
	expect.Golden(t, "empty.mermaid", flow)
}

func TestInvalidInputIsAnError(t *testing.T) {
	t.Parallel()
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	bad := schema.Table{Name: "no spaces"}
	for name, tc := range map[string]struct {
		schema schema.Table
		items  []table.Item
		want   error
		says   string
	}{
		"schema":           {bad, nil, table.ErrInvalid, "characters"},
		"no sort key":      {full, []table.Item{{"PK": s("secret")}}, keys.ErrInvalid, `items[0]: attribute "SK"`},
		"empty key":        {full, []table.Item{{"PK": s("secret"), "SK": s("")}}, keys.ErrInvalid, `"SK"`},
		"other type":       {full, []table.Item{{"PK": &types.AttributeValueMemberN{Value: "1"}, "SK": s("secret")}}, keys.ErrInvalid, `"PK" is no key of type S`},
		"not a number":     {schemas["numbers"], []table.Item{{"sensor": &types.AttributeValueMemberB{Value: []byte{1}}, "at": &types.AttributeValueMemberN{Value: "secret"}}}, keys.ErrInvalid, `"at"`},
		"not finite":       {schemas["numbers"], []table.Item{{"sensor": &types.AttributeValueMemberB{Value: []byte{1}}, "at": &types.AttributeValueMemberN{Value: "1e9999999999"}}}, keys.ErrInvalid, `"at"`},
		"nil, not a value": {full, []table.Item{{"PK": nil, "SK": s("secret")}}, keys.ErrInvalid, `"PK"`},
	} {
		_, markdown := tablemodel.Markdown(tc.schema, tc.items, nil)
		_, mermaid := tablemodel.Mermaid(tc.schema, tc.items, nil)
		_, workbench := tablemodel.Workbench(tc.schema, tc.items)
		_, infer := tablemodel.Infer(tc.schema, tc.items)
		_, html := tablemodel.HTML(tc.schema, tc.items, nil)
		for op, err := range map[string]error{"Markdown": markdown, "Mermaid": mermaid, "Workbench": workbench, "Infer": infer, "HTML": html} {
			e, ok := errors.AsType[*table.Error](err)
			if !ok || e.Op != op || !errors.Is(err, tc.want) {
				t.Errorf("%s: %s: got error %v, want a *table.Error that is %v", name, op, err, tc.want)
				continue
			}
			if !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %s: the error says %q, want it to say %q and no value", name, op, err, tc.says)
			}
		}
	}
	for op, err := range map[string]error{
		"CloudFormation": expect.ErrOf(tablemodel.CloudFormation(bad)), "Terraform": expect.ErrOf(tablemodel.Terraform(bad)),
	} {
		if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != op || !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: got error %v, want a *table.Error that is %v", op, err, table.ErrInvalid)
		}
	}
}

func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	tbl, ops := stored(t)
	for max, want := range map[int]int{0: len(ops), 3: 3, len(ops): len(ops), 100: len(ops)} {
		items := expect.Value(tablemodel.Scan(t.Context(), tbl, max))(t)
		if len(items) != want {
			t.Errorf("Scan of %d gives %d items, want %d", max, len(items), want)
		}
	}
	if _, err := tablemodel.Scan(t.Context(), tbl, -1); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("Scan of -1 gives error %v, want %v", err, table.ErrInvalid)
	}
}

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// tableCells returns how many cells each row of a Markdown table has.
func tableCells(md string) []int {
	var rows []int
	for line := range strings.Lines(md) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"))
		}
	}
	return rows
}

// mermaidBoxes returns how many lines of a flowchart are boxes as they should be:
// a name, and a label in quotation marks that has none inside.
func mermaidBoxes(flow string) int {
	count := 0
	for line := range strings.Lines(flow) {
		name, rest, found := strings.Cut(strings.TrimSpace(line), `["<b>`)
		if found && !strings.ContainsAny(name, ` "`) && strings.Count(rest, `"`) == 1 && strings.HasSuffix(rest, `"]`) {
			count++
		}
	}
	return count
}
