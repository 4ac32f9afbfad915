package metering

import (
	"cmp"
	"fmt"
	"time"

	"github.com/singletable/singletable/table"
)

const (
	defaultRetentionDays = 1830
	defaultRangeDays     = 1825
	maxRetentionDays     = 36_500
)

// Options says how long counters are kept and what can be asked. All programs of a
// table have the same.
type Options struct {
	// RetentionDays is how many days after its beginning an hour or a day is
	// kept, from 2 to 36,500. Zero means 1,830.
	RetentionDays int
	// RangeDays is how many days a question can be about, at least one, and fewer
	// than RetentionDays: of a longer time, the total would lack what has
	// expired. Zero means 1,825, or RetentionDays-1 if that is less.
	RangeDays int
}

// expired reports whether counters of the hour, or of its day, may have expired.
func (o Options) expired(hour, now time.Time) bool {
	kept := time.Duration(o.RetentionDays) * day
	return !midnight(hour).Add(kept).After(now.Truncate(time.Second))
}

// resolve returns the options with defaults, or an error that matches
// [table.ErrInvalid].
func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	r.RetentionDays = cmp.Or(r.RetentionDays, defaultRetentionDays)
	r.RangeDays = cmp.Or(r.RangeDays, min(defaultRangeDays, r.RetentionDays-1))
	switch {
	case r.RetentionDays < 2 || r.RetentionDays > maxRetentionDays:
		return r, fmt.Errorf("metering: %w: RetentionDays is not from 2 to %d", table.ErrInvalid, maxRetentionDays)
	case r.RangeDays < 1 || r.RangeDays >= r.RetentionDays:
		return r, fmt.Errorf("metering: %w: RangeDays is not from 1 to %d, less than RetentionDays", table.ErrInvalid, r.RetentionDays-1)
	}
	return r, nil
}
