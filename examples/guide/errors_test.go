package guide_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/guide/ours"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const errorsPage = "../../docs/errors.md"

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
	for line := range strings.Lines(string(check.Must(os.ReadFile(errorsPage))(t))) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		status := strings.Fields(cells[3])[0]
		for _, m := range regexp.MustCompile("`([a-z]+\\.Err\\w+)`").FindAllStringSubmatch(cells[0], -1) {
			if status != "–" {
				found[m[1]] = status
			}
		}
	}
	return found
}

func TestTheStatusesAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	of := rows(t)
	check.Equal(t, "errors", len(of), len(sentinels))
	for name, err := range sentinels {
		check.Equal(t, name, fmt.Sprint(rest.FailureOf(fmt.Errorf("wrapped: %w", err)).Status), of[name])
	}
	for name, tt := range map[string]struct {
		err  error
		want int
	}{
		"the end of the context":        {context.DeadlineExceeded, http.StatusServiceUnavailable},
		"an id that cannot be in a key": {keys.Key{PK: keys.User.PK("")}.Validate(), http.StatusBadRequest},
		"an unknown error":              {errors.New("no permission"), http.StatusInternalServerError},
		"an update that is overtaken":   {overtaken(t), http.StatusServiceUnavailable},
	} {
		w := httptest.NewRecorder()
		rest.Fail(w, tt.err)
		check.Equal(t, name, w.Code, tt.want)
		check.Equal(t, name+": Retry-After", w.Header().Get("Retry-After") != "", tt.want == http.StatusServiceUnavailable)
	}
}

// overtaken returns the error of an update that other writers overtake until it ends. It matches
// [table.ErrStale], and the same update can succeed later.
func overtaken(t *testing.T) error {
	t.Helper()
	tbl := tabletest.New(t, ours.Schema, &table.Options{MaxAttempts: 2})
	key := keys.Key{PK: keys.User.PK("ana"), SK: keys.Profile}
	users := check.Must(repo.New(tbl, repo.Entity[user]{Type: "USER", Key: func(user) keys.Key { return key }, Version: "revision"}))(t)
	check.OK(t, users.Create(t.Context(), &user{}))
	updates := 0
	_, err := users.Update(t.Context(), key, func(u *user) error {
		updates++
		u.Name = "ours"
		return check.Err(users.Patch(t.Context(), key, repo.Patch{Set: map[string]any{"name": fmt.Sprint(updates)}}))
	})
	check.Is(t, err, table.ErrStale)
	return err
}

type user struct {
	Name     string `dynamodbav:"name"`
	Revision string `dynamodbav:"revision"`
}

var known = regexp.MustCompile(`\bOn\(((?:idempotency|keys|paginate|repo|schema|table)\.Err\w+), http\.(Status\w+)`)

// The examples have the statuses of the page, but for those that it names.
func TestTheExamplesHaveTheStatusesOfThePage(t *testing.T) {
	t.Parallel()
	var others []string
	for _, file := range check.Must(filepath.Glob("../*/api/*.go"))(t) {
		for _, m := range known.FindAllStringSubmatch(string(check.Must(os.ReadFile(file))(t)), -1) {
			others = append(others, fmt.Sprintf("%s: %s is %s", file, m[1], m[2]))
		}
	}
	check.Equal(t, "statuses of their own", others, []string{"../cqrs/api/errors.go: table.ErrStale is StatusConflict"})
}
