package telemetry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	expect.Equal(t, "none", telemetry.Pattern(ctx), "")
	ctx = telemetry.WithPattern(ctx, "outer")
	expect.Equal(t, "inner", telemetry.Pattern(telemetry.WithPattern(ctx, "inner")), "inner")
	expect.Equal(t, "outer", telemetry.Pattern(ctx), "outer")
	expect.Equal(t, "taken away", telemetry.Pattern(telemetry.WithPattern(ctx, "")), "")
}

func TestJoin(t *testing.T) {
	t.Parallel()
	if telemetry.Join() != nil || telemetry.Join(nil, nil) != nil {
		t.Error("an observer without anybody who observes")
	}
	var mu sync.Mutex
	var seen []string
	observer := func(name string) func(context.Context, table.Event) {
		return func(ctx context.Context, e table.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(name, " ", telemetry.Pattern(ctx), " ", e.Operation))
		}
	}
	observers := []func(context.Context, table.Event){nil, observer("first"), nil, observer("second")}
	f := open(t, telemetry.Join(observers...), 1)
	observers[1] = nil // it is too late for this
	expect.OK(t, f.Get(telemetry.WithPattern(t.Context(), "profile")))
	expect.Equal(t, "seen", seen, []string{"first profile GetItem", "second profile GetItem"})
}
