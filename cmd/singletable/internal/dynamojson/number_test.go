package dynamojson_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Number returns what the engine returns of a number, and leaves what it refuses.
func TestNumbersAreAsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "Numbers"}, nil)
	many := strings.Repeat("9", 38)
	for _, text := range []string{
		"0", "-0", "1.0", "1e2", "0.10", "00012", ".5", "5.", "-12.50", "1.5E-3", "1E-130", "1e125", many, many + "0", "0." + many, "-" + many[1:] + ".50",
	} {
		item := table.Item{"n": &types.AttributeValueMemberN{Value: text}}
		if err := tbl.Do(t.Context(), table.Put(keys.Key{PK: "A", SK: "B"}, item)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		stored, err := table.Get[table.Item](t.Context(), tbl, keys.Key{PK: "A", SK: "B"})
		if err != nil {
			t.Fatal(err)
		}
		want := stored["n"].(*types.AttributeValueMemberN).Value
		if got := dynamojson.Number(text); got != want || dynamojson.Number(got) != got {
			t.Errorf("%s: %s, and it is stored as %s", text, got, want)
		}
		decoded, err := dynamojson.Decode(`{"n":{"N":"` + text + `"},"s":{"NS":["` + text + `"]}}`)
		if err != nil || decoded["n"].(*types.AttributeValueMemberN).Value != want || decoded["s"].(*types.AttributeValueMemberNS).Value[0] != want {
			t.Errorf("%s: decoded %v, %v", text, decoded, err)
		}
	}
	if got := dynamojson.Number("+5"); got != "5" {
		t.Errorf("+5: %s", got)
	}
	for _, text := range []string{"", " 5", "5 ", "0x10", "1_000", "NaN", "1/2", "1e9999", "--1", "1,5", strings.Repeat("1", 2000)} {
		if got := dynamojson.Number(text); got != text {
			t.Errorf("%q: %s", text, got)
		}
	}
}
