package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
)

// TestBracketsInNames has attributes with the name of an element of a list. A guard that
// compares the element does not notice a change of the attribute.
func TestBracketsInNames(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{
		`{"a":{"L":[{"S":"x"}]},"a[0]":{"S":"x"},"rev":{"N":"1"}}`,
		`{"tags[]":{"S":"x"},"rev":{"N":"1"}}`, `{"[":{"S":"x"},"rev":{"N":"1"}}`, `{"a].b[0]":{"S":"x"},"rev":{"N":"1"}}`,
	} {
		changed := item(t, keyed+strings.TrimPrefix(strings.ReplaceAll(stored, `"S":"x"},"rev"`, `"S":"y"},"rev"`), "{"))
		for _, version := range []string{"", "rev"} {
			f := setUp(t, version, stored)
			remove, err := f.Delete(t.Context(), at)
			if err != nil {
				t.Fatalf("%s: delete: %v", stored, err)
			}
			plan, err := f.Put(t.Context(), changed)
			if err == nil {
				err = f.Apply(t.Context(), plan)
			}
			if got := f.stored(t); err != nil || !strings.Contains(got, `"y"`) {
				t.Errorf("%s: put: %v, %s", stored, err, got)
			}
			// The attribute is no longer as the plan has read it.
			if err := f.Apply(t.Context(), remove); !errors.Is(err, edit.ErrChanged) {
				t.Errorf("%s: delete after a change: %v", stored, err)
			}
			if remove, err = f.Delete(t.Context(), at); err == nil {
				err = f.Apply(t.Context(), remove)
			}
			if got := f.stored(t); err != nil || got != "missing" {
				t.Errorf("%s: delete: %v, %s", stored, err, got)
			}
		}
	}
}
