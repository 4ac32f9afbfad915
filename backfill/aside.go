package backfill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Aside says which item a job could not bring over, and why. The item stays as it
// is.
type Aside struct {
	// Key is the item's key in the job's Source, and Type its type.
	Key  keys.Key
	Type string
	// Reason is the error. It quotes no values.
	Reason string
	At     time.Time
}

// SetAside reads what a job has set aside, in no useful order. When the cause is
// gone, [Forget] the job and run it again. The error is yielded once, last, and must
// be looked at.
func SetAside(ctx context.Context, t *table.Table, job string) iter.Seq2[Aside, error] {
	return func(yield func(Aside, error) bool) {
		if t == nil {
			yield(Aside{}, errNoTable)
			return
		}
		for a, err := range lease.Asides(ctx, t, itemType, prefix.PK(job)) {
			if !yield(Aside{Key: a.Key(), Type: a.Type, Reason: a.Reason, At: a.At()}, err) {
				return
			}
		}
	}
}

// Forget deletes the progress of a job and what it has set aside, so that it can be
// run again. No process may run it at the same time.
func Forget(ctx context.Context, t *table.Table, job string) error {
	if t == nil {
		return errNoTable
	}
	return lease.Forget(ctx, t, itemType, prefix.PK(job))
}

var errNoTable = fmt.Errorf("%w backfill: the table is nil", table.ErrInvalid)

func (w *walk) setAside(ctx context.Context, attributes table.Item, reason error) error {
	key := w.Source.KeyOf("", attributes)
	digest := sha256.Sum256([]byte(string(key.PK) + "\x00" + string(key.SK)))
	a := lease.Aside{Type: w.Source.Schema().TypeOf(attributes), Reason: reason.Error()}
	return lease.SetAside(ctx, w.Table, itemType, prefix.PK(w.Name), key, a, keys.Str(hex.EncodeToString(digest[:])))
}
