package backfill

import (
	"context"

	"github.com/singletable/singletable/keys"
)

// CheckUniqueOf is [Job.CheckUnique] that holds most values.
func (j Job) CheckUniqueOf(ctx context.Context, of func(keys.Key) bool, most int) (UniqueReport, error) {
	return j.checkUnique(ctx, of, most)
}
