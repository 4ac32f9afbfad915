package similar_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/similar"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func TestTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"v":{"L":[{"N":"1"},{"N":"-0.5"}]},"tenant":{"S":"acme"}}`: "acme",
		`{"v":{"L":[{"N":"1"},{"N":"-0.5"}]},"tenant":{"N":"7"}}`:    "", // It is not in the index.
		`{"v":{"L":[{"N":"1"},{"N":"-0.5"}]}}`:                       "",
	} {
		item, err := dynamojson.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := similar.To(schema.VectorIndex{Name: "byText", Attribute: "v", Partition: schema.Attribute{Name: "tenant"}}, item)
		if err != nil || s.Index != "byText" || s.Partition != want || !slices.Equal(s.Near, []float32{1, -0.5}) {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	for _, text := range []string{`{}`, `{"v":{"NS":["1"]}}`, `{"v":{"L":[{"S":"1"}]}}`, `{"v":{"L":[{"N":"1e300"}]}}`} {
		item, err := dynamojson.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := similar.To(schema.VectorIndex{Attribute: "v"}, item); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	number := schema.VectorIndex{Attribute: "v", Partition: schema.Attribute{Name: "n", Type: "N"}}
	item, err := dynamojson.Decode(`{"v":{"L":[]},"n":{"N":"7"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := similar.To(number, item); err != nil || s.Partition != "7" {
		t.Errorf("%+v, %v", s, err)
	}
}
