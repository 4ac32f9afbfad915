package edit_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/table"
)

// TestBracketsInNames has an attribute with the name of an element of a list. A guard that
// compares the element does not notice a change of the attribute.
func TestBracketsInNames(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{
		`{"a":{"L":[{"S":"x"}]},"a[0]":{"S":"x"},"rev":{"N":"1"}}`,
		`{"tags[]":{"S":"x"},"rev":{"N":"1"}}`, `{"[":{"S":"x"},"rev":{"N":"1"}}`,
	} {
		f := setUp(t, "", stored)
		if _, err := f.Delete(t.Context(), at); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: delete: %v", stored, err)
		}
		if _, err := f.Put(t.Context(), item(t, keyed+`"b":{"S":"new"}}`)); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: put: %v", stored, err)
		}
		f = setUp(t, "rev", stored)
		plan, err := f.Delete(t.Context(), at)
		if err == nil {
			err = f.Apply(t.Context(), plan)
		}
		if got := f.stored(t); err != nil || got != "missing" {
			t.Errorf("%s: delete by version: %v, %s", stored, err, got)
		}
	}
}
