package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheHandlerNamesTheFunction(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, metering.Schema("any"), nil)
	for handler, want := range map[string]string{"count": `{"batchItemFailures":[]}`, "query": "VALIDATION_ERROR", "": "", "other": ""} {
		f, err := open(t.Context(), client, configuration{table: tbl.Schema().Name, handler: handler}, slog.New(slog.DiscardHandler))
		if want == "" {
			if f != nil || err == nil {
				t.Errorf("%q: %T %v", handler, f, err)
			}
			continue
		}
		check.OK(t, err)
		answer := check.Must(f.Invoke(t.Context(), []byte(`{"Records":[]}`)))(t)
		if !strings.Contains(string(answer), want) {
			t.Errorf("%q: %s", handler, answer)
		}
	}
}

func TestAFunctionWithoutItsTableDoesNotStart(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	other := tabletest.NewWith(t, client, table.Schema{Name: "any", PK: "PK", SK: "SK", TTL: "expiresAt"}, nil)
	_, err := open(t.Context(), client, configuration{table: other.Schema().Name, handler: "count"}, slog.New(slog.DiscardHandler))
	if !errors.Is(err, table.ErrSchemaMismatch) {
		t.Error(err)
	}
}

func TestTheEnvironmentIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environment map[string]string
		want        configuration
	}{
		{map[string]string{"TABLE_NAME": "t", "_HANDLER": "count"}, configuration{table: "t", handler: "count"}},
		{
			map[string]string{"TABLE_NAME": "t", "LOG_LEVEL": "warn", "TTL_DAYS": "90", "MAX_DATE_RANGE_DAYS": "30"},
			configuration{table: "t", level: slog.LevelWarn, metering: metering.Options{RetentionDays: 90, RangeDays: 30}},
		},
	} {
		got, err := configure(func(name string) string { return tt.environment[name] })
		if err != nil || got != tt.want {
			t.Errorf("%+v: %+v %v", tt.environment, got, err)
		}
	}
}

func TestAWrongEnvironmentDoesNotStart(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{"LOG_LEVEL": "loud", "TTL_DAYS": "0", "MAX_DATE_RANGE_DAYS": "a year"}
	var level slog.LevelVar
	_, err := load(t.Context(), func(name string) string { return wrong[name] }, &level, slog.New(slog.DiscardHandler))
	for _, name := range []string{"TABLE_NAME", "LOG_LEVEL", "TTL_DAYS", "MAX_DATE_RANGE_DAYS"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("it does not name %s: %v", name, err)
		}
	}
	// Counters that expire before the end of the time that can be asked for would
	// be missing from totals.
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, metering.Schema("any"), nil)
	for _, handler := range []string{"count", "query"} {
		_, err := open(t.Context(), client, configuration{
			table: tbl.Schema().Name, handler: handler, metering: metering.Options{RetentionDays: 90, RangeDays: 90},
		}, slog.New(slog.DiscardHandler))
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "MAX_DATE_RANGE_DAYS") {
			t.Errorf("%s: %v", handler, err)
		}
	}
}
