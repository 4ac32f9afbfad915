package kinds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/kinds"
	"github.com/singletable/singletable/schema"
)

// The attributes are those that the libraries store.
func TestHint(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "T"}.WithDefaults()
	for name, c := range map[string]struct{ attributes, want string }{
		"electrodb":        {`"__edb_e__":{"S":"order"},"__edb_v__":{"S":"1"},"status":{"S":"open"}`, "__edb_e__"},
		"dynamodb-toolbox": {`"_et":{"S":"Order"},"_ct":{"S":"2026-01-02T03:04:05.%03dZ"},"_md":{"S":"2026-01-02T03:04:05.%03dZ"}`, "_et"},
		"onetable":         {`"_type":{"S":"Order"},"created":{"N":"17"},"status":{"S":"open"}`, "_type"},
		"one odd type":     {`"_type":{"S":"Order"},"status":{"S":"open"},"n":{"N":"%d"}`, "_type"},
		"a number":         {`"entityType":{"N":"5"}`, ""},
		"an empty text":    {`"entityType":{"S":""}`, ""},
		"typedorm":         {`"__en":{"S":"order"},"city":{"S":"Köln"}`, "__en"},
		"auth.js":          {`"type":{"S":"USER"},"expires":{"N":"1893456000.6"}`, "type"},
		"dynamode":         {`"dynamodeEntity":{"S":"Order"},"id":{"S":"x%d"}`, "dynamodeEntity"},
		"no type":          {`"id":{"S":"x%d"},"note":{"S":"a,b%d"},"status":{"S":"open"},"city":{"S":"Köln"}`, "NAME"},
		"one that repeats": {`"id":{"S":"x%d"},"group":{"S":"tenant"}`, "group"},
		"most items":       {`"id":{"S":"x%d"},"_et":{"S":"Order"}`, "_et"},
		"a hostile name":   {"\"type'\\u001b\":{\"S\":\"a\"}", `type\'\033'`},
	} {
		var f kinds.Finder
		if f.Hint(spec) != "" {
			t.Fatal("a hint without items")
		}
		for i := range 5 {
			text := fmt.Sprintf(`{"pk":{"S":"A"},"sk":{"S":"%d"},%s}`, i, strings.NewReplacer("%03d", fmt.Sprintf("%03d", i), "%d", fmt.Sprint(i)).Replace(c.attributes))
			if name == "one odd type" && i == 2 {
				text = strings.NewReplacer(`"Order"`, `"_Unique"`).Replace(text)
			}
			if name == "most items" && i == 0 {
				text = strings.Replace(text, `,"_et":{"S":"Order"}`, "", 1)
			}
			item, err := dynamojson.Decode(text)
			if err != nil {
				t.Fatal(name, err)
			}
			f.Add(spec, item)
		}
		if strings.Contains(c.attributes, "entityType") {
			if hint := f.Hint(spec); !strings.Contains(hint, "has the attribute entityType, but not as a text, or empty;") {
				t.Errorf("%s: %s", name, hint)
			}
			continue
		}
		hint := f.Hint(spec)
		if !strings.Contains(hint, "has the attribute entityType.") || !strings.Contains(hint, "-type="+c.want) {
			t.Errorf("%s: %s", name, hint)
		}
		if offered := strings.Contains(hint, "All of them have") || strings.Contains(hint, "4 of 5 have _et"); offered != (c.want != "NAME") {
			t.Errorf("%s: %s", name, hint)
		}
		item, err := dynamojson.Decode(`{"entityType":{"S":"USER"}}`)
		if err != nil {
			t.Fatal(err)
		}
		if f.Add(spec, item); f.Hint(spec) != "" {
			t.Errorf("%s: an item has a type", name)
		}
	}
}
