package telemetry

import "context"

type patternKey struct{}

// WithPattern returns a context whose requests belong to the access pattern of
// that name, such as "list transactions". The innermost name counts. An empty
// name means no pattern. Names become attributes of metrics, so there should be
// few of them: never put an id into one.
func WithPattern(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, patternKey{}, name)
}

// Pattern returns the name that [WithPattern] has given to the context, or the
// empty string.
func Pattern(ctx context.Context) string {
	name, _ := ctx.Value(patternKey{}).(string)
	return name
}
