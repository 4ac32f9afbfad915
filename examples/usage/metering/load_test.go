package metering_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/measured"
	"github.com/singletable/singletable/examples/usage/metering"
)

// load.json has what each pattern consumes.
func TestLoadIsMeasured(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// A month in which there is something to count in every hour.
	for i := range 31 * 24 {
		m := message
		m.Hour = ten.Add(-time.Duration(i) * time.Hour)
		check.Equal(t, "status", f.Count(t.Context(), delivery(t, fmt.Sprint(i), m)).Status, metering.Counted)
	}
	count := func(user string) func(context.Context) error {
		return func(ctx context.Context) error {
			m := message
			m.UserID = user
			o := f.Count(ctx, delivery(t, "5d2f1c9e-"+user, m))
			check.Equal(t, "status", o.Status, metering.Counted)
			return o.Err
		}
	}
	ask := func(m metering.Meter, from time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			return check.Err(f.Usage(ctx, metering.Question{Meter: m, From: ten.Add(-from), To: ten}))
		}
	}
	measured.Load(t, "../load.json", measured.Patterns{
		"count a message of a user":             count("ana"),
		"count a message without a user":        count(""),
		"usage of a workspace, 30 days":         ask(workspace, 30*day),
		"usage of a user in a workspace, a day": ask(user, 10*time.Hour),
		"usage of a user in all, 30 days":       ask(userAll, 30*day),
	})
}
