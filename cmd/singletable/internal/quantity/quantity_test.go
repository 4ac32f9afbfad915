package quantity_test

import (
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for noun, want := range map[string][2]string{
		"item": {"1 item", "1,234 items"}, "index entry": {"1 index entry", "1,234 index entries"}, "key": {"1 key", "1,234 keys"}, "copy": {"1 copy", "1,234 copies"},
	} {
		if got := [2]string{quantity.Of(1, noun), quantity.Of(1234, noun)}; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := quantity.Of(0.5, "unit"); got != "0.5 units" {
		t.Error(got)
	}
}
