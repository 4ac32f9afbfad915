package failures

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

//go:generate go test . -run ^TestThePage -update

const page = "../../../docs/errors.md"

// sentinels are the errors of the page that a request can meet.
var sentinels = map[string]error{
	"idempotency.ErrInvalidRequest":  idempotency.ErrInvalidRequest,
	"idempotency.ErrPayloadMismatch": idempotency.ErrPayloadMismatch,
	"idempotency.ErrResultGone":      idempotency.ErrResultGone,
	"keys.ErrInvalid":                keys.ErrInvalid,
	"paginate.ErrInvalidCursor":      paginate.ErrInvalidCursor,
	"repo.ErrOrphan":                 repo.ErrOrphan,
	"repo.ErrUpgrade":                repo.ErrUpgrade,
	"table.ErrConditionFailed":       table.ErrConditionFailed,
	"table.ErrConflict":              table.ErrConflict,
	"table.ErrExists":                table.ErrExists,
	"table.ErrInvalid":               table.ErrInvalid,
	"table.ErrNewerShape":            table.ErrNewerShape,
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

// rows returns the statuses of the page's table, by error.
func rows(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(string(check.Must(os.ReadFile(page))(t))) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || !strings.HasPrefix(line, "| `") {
			continue
		}
		status := strings.Fields(cells[4])[0]
		for _, m := range regexp.MustCompile("`([a-z]+\\.Err\\w+)`").FindAllStringSubmatch(cells[0], -1) {
			if status != "–" {
				found[m[1]] = status
			}
		}
	}
	return found
}

func TestTheStatusesAreThePages(t *testing.T) {
	t.Parallel()
	of := rows(t)
	check.Equal(t, "errors", len(of), len(sentinels))
	for name, err := range sentinels {
		check.Equal(t, name, fmt.Sprint(Status(fmt.Errorf("wrapped: %w", err))), of[name])
	}
	check.Equal(t, "the end of the context", Status(context.DeadlineExceeded), http.StatusServiceUnavailable)
	check.Equal(t, "an id that cannot be in a key", Status(keys.Key{PK: keys.User.PK("")}.Validate()), http.StatusBadRequest)
	check.Equal(t, "an unknown error", Status(errors.New("no permission")), http.StatusInternalServerError)
}

func TestThePageQuotesTheCode(t *testing.T) {
	t.Parallel()
	check.Equal(t, "quotations", generated.Code(t, page, "."), 1)
}

var known = regexp.MustCompile(`\bOn\((\w+\.Err\w+), http\.(Status\w+)`)

// The examples have the statuses of the page, but for one, which the page names.
func TestTheExamplesHaveTheStatusesOfThePage(t *testing.T) {
	t.Parallel()
	of, numbers := rows(t), map[string]string{
		"StatusBadRequest": "400", "StatusNotFound": "404", "StatusConflict": "409", "StatusGone": "410",
		"StatusPreconditionFailed": "412", "StatusRequestEntityTooLarge": "413",
		"StatusUnprocessableEntity": "422", "StatusServiceUnavailable": "503",
	}
	compared := 0
	for example, files := range map[string]string{"internal/httpapi": "library.go", "blog": "api/*.go", "cqrs": "api/*.go", "shop": "api/*.go"} {
		for _, file := range check.Must(filepath.Glob("../../" + example + "/" + files))(t) {
			for _, m := range known.FindAllStringSubmatch(string(check.Must(os.ReadFile(file))(t)), -1) {
				want, ours := of[m[1]]
				if !ours {
					continue
				}
				compared++
				if example == "cqrs" && m[1] == "table.ErrStale" {
					want = "409"
				}
				check.Equal(t, file+": "+m[1], numbers[m[2]], want)
			}
		}
	}
	if compared < 8 {
		t.Errorf("%d statuses of examples, want 8", compared)
	}
}
