package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"

	"github.com/singletable/singletable/table"
)

// Logs returns an observer that writes a line for each request to the logger, by
// default [slog.Default]:
//
//   - a success at level Debug;
//   - an answer that the caller has to deal with, such as a failed condition, and
//     a request that the caller has cancelled, at level Info;
//   - what can go away by itself, such as throttling, at level Warn;
//   - everything else, such as a missing permission, at level Error.
//
// The duration, db.client.operation.duration, is in seconds. The logger's handler
// gets the context of the operation.
func Logs(logger *slog.Logger) table.Observer {
	return func(ctx context.Context, e table.Event) {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		if lvl := level(e.Err); l.Enabled(ctx, lvl) {
			l.LogAttrs(ctx, lvl, "DynamoDB request", logAttributes(ctx, e)...)
		}
	}
}

func level(err error) slog.Level {
	class := table.Classify(err)
	switch {
	case err == nil:
		return slog.LevelDebug
	case class == table.Permanent, errors.Is(err, context.Canceled):
		return slog.LevelInfo
	case class == table.Transient:
		return slog.LevelWarn
	}
	return slog.LevelError
}

func logAttributes(ctx context.Context, e table.Event) []slog.Attr {
	all := slices.Concat(target(ctx, e), failure(e.Err), details(e))
	all = append(all, attribute.Float64(dbconv.ClientOperationDuration{}.Name(), e.Duration.Seconds()))
	read, write := units(e)
	if read > 0 {
		all = append(all, readUnitsKey.Float64(read))
	}
	if write > 0 {
		all = append(all, writeUnitsKey.Float64(write))
	}
	attrs := make([]slog.Attr, len(all))
	for i, a := range all {
		attrs[i] = slog.Any(string(a.Key), a.Value.AsInterface())
	}
	return attrs
}
