package address_test

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/address"
)

func TestSpellingsOfAnAddressAreOne(t *testing.T) {
	t.Parallel()
	for _, email := range []string{"ren\u00e9@example.com", "rene\u0301@example.com", "REN\u00c9@Example.com", " RENE\u0301@example.com "} {
		if got, ok := address.Normal(email); !ok || got != "ren\u00e9@example.com" {
			t.Errorf("%q: %q, %t", email, got, ok)
		}
	}
}

func TestWhatIsNoAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, email := range []string{
		"", "ana", "@example.com", "ana@", "a@b@c", "Ana <ana@example.com>", `"ana"@example.com`, "a na@example.com",
		"ana\x00@example.com", "a\u200bna@example.com", "a\ufffdna@example.com", "ana\xff@example.com",
		strings.Repeat("x", address.MaxLen) + "@example.com",
	} {
		if got, ok := address.Normal(email); ok {
			t.Errorf("%q is %q", email, got)
		}
	}
}
