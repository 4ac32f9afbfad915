package oteltable

import (
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
)

// keyValues returns attributes as those of OpenTelemetry.
func keyValues(attrs []slog.Attr) []attribute.KeyValue {
	all := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		key := attribute.Key(a.Key)
		switch v := a.Value.Any().(type) {
		case int64:
			all[i] = key.Int64(v)
		case []string:
			all[i] = key.StringSlice(v)
		default:
			all[i] = key.String(a.Value.String())
		}
	}
	return all
}
