package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/singletable/singletable/table"
)

// Logs returns an observer that writes a line for each request to the logger, by
// default [slog.Default]:
//
//   - a success at level Debug;
//   - a response that the caller has to deal with, such as a failed condition,
//     and a request that the caller has cancelled, at level Info;
//   - what can go away by itself, such as throttling, at level Warn;
//   - everything else, such as a missing permission, at level Error.
//
// The duration, db.client.operation.duration, is in seconds. The logger's handler
// gets the context of the operation.
func Logs(logger *slog.Logger) func(context.Context, table.Event) {
	return func(ctx context.Context, e table.Event) {
		l := cmp.Or(logger, slog.Default())
		if lvl := level(e.Err); l.Enabled(ctx, lvl) {
			l.LogAttrs(ctx, lvl, "DynamoDB request", line(ctx, e)...)
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

// line returns the attributes of a log line.
func line(ctx context.Context, e table.Event) []slog.Attr {
	a := Describe(ctx, e)
	attrs := slices.Concat(a.Target, a.Failure, a.Details)
	attrs = append(attrs, slog.Float64("db.client.operation.duration", e.Duration.Seconds()))
	if a.ReadUnits > 0 {
		attrs = append(attrs, slog.Float64("singletable.consumed.read_units", a.ReadUnits))
	}
	if a.WriteUnits > 0 {
		attrs = append(attrs, slog.Float64("singletable.consumed.write_units", a.WriteUnits))
	}
	if e.VectorBytes > 0 {
		attrs = append(attrs, slog.Float64("singletable.consumed.vector_bytes", e.VectorBytes))
	}
	return attrs
}
