package singletable_test

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/lease"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// sentinels are the errors of all packages, by name.
var sentinels = map[string]error{
	"idempotency.ErrInvalidRequest":  idempotency.ErrInvalidRequest,
	"idempotency.ErrPayloadMismatch": idempotency.ErrPayloadMismatch,
	"idempotency.ErrResultGone":      idempotency.ErrResultGone,
	"keys.ErrInvalid":                keys.ErrInvalid,
	"paginate.ErrInvalidCursor":      paginate.ErrInvalidCursor,
	"lease.ErrHeld":                  lease.ErrHeld,
	"lease.ErrLost":                  lease.ErrLost,
	"repo.ErrUpgrade":                repo.ErrUpgrade,
	"table.ErrNewerShape":            table.ErrNewerShape,
	"repo.ErrOrphan":                 repo.ErrOrphan,
	"stream.ErrTrimmed":              stream.ErrTrimmed,
	"table.ErrConditionFailed":       table.ErrConditionFailed,
	"table.ErrConflict":              table.ErrConflict,
	"table.ErrExists":                table.ErrExists,
	"table.ErrInvalid":               table.ErrInvalid,
	"table.ErrLimit":                 table.ErrLimit,
	"table.ErrNotFound":              table.ErrNotFound,
	"table.ErrOutcomeUnknown":        table.ErrOutcomeUnknown,
	"schema.ErrMismatch":             schema.ErrMismatch,
	"schema.ErrUnsupported":          schema.ErrUnsupported,
	"table.ErrStale":                 table.ErrStale,
	"table.ErrThrottled":             table.ErrThrottled,
	"table.ErrTooLarge":              table.ErrTooLarge,
	"table.ErrUncounted":             table.ErrUncounted,
	"table.ErrWrongType":             table.ErrWrongType,
}

// The page of errors has every sentinel, says of each what Classify says, and puts
// the special ones before the general ones that they match.
func TestThePageOfErrors(t *testing.T) {
	t.Parallel()
	api, err := os.ReadFile("internal/tools/api/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, m := range regexp.MustCompile(`(?m)^pkg (?:\w+/)*(\w+), var (Err\w+) error$`).FindAllStringSubmatch(string(api), -1) {
		if m[1] != "tabletest" {
			exported = append(exported, m[1]+"."+m[2])
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(exported)), slices.Sorted(maps.Keys(sentinels))); diff != "" {
		t.Fatalf("sentinels (-exported +tested):\n%s", diff)
	}
	page, err := os.ReadFile("docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		class := table.Unclassified
		switch again := cells[2]; {
		case strings.HasPrefix(again, "fails again"):
			class = table.Permanent
		case strings.HasPrefix(again, "can succeed"):
			class = table.Transient
		}
		for _, m := range regexp.MustCompile("`([a-z]+\\.Err\\w+)`").FindAllStringSubmatch(cells[0], -1) {
			order = append(order, m[1])
			if got := table.Classify(sentinels[m[1]]); got != class {
				t.Errorf("%s is %v, the page says: %s", m[1], got, cells[2])
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(sentinels)), slices.Sorted(slices.Values(order))); diff != "" {
		t.Errorf("sentinels (-exported +on the page):\n%s", diff)
	}
	for i, general := range order {
		for _, special := range order[i+1:] {
			if sentinels[general] != sentinels[special] && errors.Is(sentinels[special], sentinels[general]) { //nolint:errorlint // two names of one error
				t.Errorf("%s comes after %s, which it matches", special, general)
			}
		}
	}
}
