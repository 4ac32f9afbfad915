package tablemodel_test

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// readPage returns the texts of a page. The page must be well-formed, have no other
// elements and attributes than a picture needs, and refer to nothing outside.
func readPage(t *testing.T, page string) string {
	t.Helper()
	elements := strings.Fields("html head meta title style body header h1 code dl dt dd nav ul li a main section h2 p br div table thead tbody tr th td details summary span")
	attributes := strings.Fields("lang charset name content http-equiv aria-label aria-labelledby id class role tabindex scope colspan open href")
	var text strings.Builder
	// What XML cannot hold, HTML can.
	d := xml.NewDecoder(strings.NewReader(strings.NewReplacer("\ufffe", "", "\uffff", "").Replace(page)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		expect.OK(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			if !slices.Contains(elements, token.Name.Local) {
				t.Errorf("element %s", token.Name.Local)
			}
			for _, a := range token.Attr {
				if !slices.Contains(attributes, a.Name.Local) {
					t.Errorf("attribute %s of %s", a.Name.Local, token.Name.Local)
				}
				if a.Name.Local == "href" && !regexp.MustCompile(`^#(entities|view-\d+)$`).MatchString(a.Value) {
					t.Errorf("a link to %s", a.Value)
				}
			}
			if token.Name.Local == "style" {
				var style string
				expect.OK(t, d.DecodeElement(&style, &token))
				if regexp.MustCompile(`(?i)url|import|//|expression|<`).MatchString(style) {
					t.Errorf("style %s", style)
				}
			}
		case xml.CharData:
			text.Write(token)
		}
	}
	return text.String()
}

func TestAPageIsSelfContained(t *testing.T) {
	t.Parallel()
	tbl, _ := stored(t)
	items := expect.Value(tablemodel.Scan(t.Context(), tbl, 0))(t)
	for name, options := range map[string]*tablemodel.Options{
		"by default": nil,
		"little":     {Attributes: []string{"amount"}, Partitions: 1, Items: 1, Length: 6},
		"all":        {Partitions: -1, Items: -1, Length: -1},
	} {
		text := readPage(t, expect.Value(tablemodel.HTML(full, items, options))(t))
		for says, in := range map[string][]string{
			"USER#dora":        {"all"},
			"… 1 more of USER": {"by default"},
			"… 3 more of USER": {"little"},
			"… 4 more TX":      {"little"},
			"USER#a…":          {"little"},
			"note":             {"by default", "all"},
			"Entities":         {"by default", "little", "all"},
			"by-amount":        {"by default", "little", "all"},
			"10 items of 2":    {"by default", "little", "all"},
		} {
			if got := strings.Contains(text, says); got != slices.Contains(in, name) {
				t.Errorf("%s: the page says %q: %v", name, says, got)
			}
		}
	}
}

func TestPagesOfOtherTables(t *testing.T) {
	t.Parallel()
	for name, spec := range schemas {
		text := readPage(t, expect.Value(tablemodel.HTML(spec, nil, nil))(t))
		if !strings.Contains(text, "No items.") || strings.Contains(text, "Entities") {
			t.Errorf("%s: a page of nothing:\n%s", name, text)
		}
	}
	for _, key := range []string{"a", "b"} {
		text := readPage(t, expect.Value(tablemodel.HTML(schemas["simple"], []table.Item{{"id": stringValue(key)}}, nil))(t))
		if strings.Count(text, key) < 1 || !strings.Contains(text, "1 item\n") {
			t.Errorf("a page of one key:\n%s", text)
		}
	}
	reading := table.Item{
		"sensor": &types.AttributeValueMemberB{Value: []byte{0xff}}, "kind": stringValue("READING"),
		"at": &types.AttributeValueMemberN{Value: "1"}, "value": &types.AttributeValueMemberN{Value: "7"},
	}
	text := readPage(t, expect.Value(tablemodel.HTML(schemas["numbers"], []table.Item{reading}, nil))(t))
	for _, says := range []string{"0xff", "{sensor}", "{at}", "{value}"} {
		if !strings.Contains(text, says) {
			t.Errorf("the page lacks %q:\n%s", says, text)
		}
	}
}

// More types than colours share them.
func TestAPageOfManyTypes(t *testing.T) {
	t.Parallel()
	var items []table.Item
	for c := 'A'; c <= 'Z'; c++ {
		items = append(items, sample(string(c)+"#1", "X", "entityType", string(c)))
	}
	page := expect.Value(tablemodel.HTML(schemas["small"], items, nil))(t)
	readPage(t, page)
	if n := strings.Count(page, "--hue: "); n != 12 || strings.Contains(page, "c12") {
		t.Errorf("%d colours", n)
	}
}

func TestHostileValuesAreTextOnAPage(t *testing.T) {
	t.Parallel()
	var items []table.Item
	hostile := []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</style><b>", "{{.Name}}", "javascript:alert(1)",
		"&lt;", "]]>", "<!--", "a\x00b", "\xff", "a\u202eb", "' onclick='x", "http://example.com", "</td></tr></table>",
	}
	for _, v := range hostile {
		items = append(items, table.Item{
			"pk": stringValue(v), "sk": stringValue(v), "entityType": stringValue(v), v: stringValue(v), "empty": stringValue(""),
		})
	}
	page := expect.Value(tablemodel.HTML(schemas["small"], items, &tablemodel.Options{Partitions: -1}))(t)
	text := readPage(t, page)
	for _, v := range hostile {
		v = strings.NewReplacer("\x00", " ", "\xff", "\ufffd", "\u202e", `\u202e`).Replace(v)
		if strings.Count(text, v) < 4 { // as key, sort key, type and attribute
			t.Errorf("the page lacks %q:\n%s", v, text)
		}
	}
	expect.Golden(t, "hostile.html", page)
}
