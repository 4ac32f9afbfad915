package telemetry

import (
	"context"
	"slices"

	"github.com/singletable/singletable/table"
)

// Join returns an observer that gives each event to all of the observers, in
// their order. It leaves out those that are nil, and is nil if none is left.
func Join(observers ...func(context.Context, table.Event)) func(context.Context, table.Event) {
	all := slices.DeleteFunc(slices.Clone(observers), func(o func(context.Context, table.Event)) bool { return o == nil })
	if len(all) == 0 {
		return nil // a table that nobody observes asks DynamoDB for less
	}
	return func(ctx context.Context, e table.Event) {
		for _, observe := range all {
			observe(ctx, e)
		}
	}
}
