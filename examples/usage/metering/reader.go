package metering

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Reader reads usage. It is safe for concurrent use. Get one from [NewReader].
type Reader struct {
	counters *table.Table
	options  Options
}

// NewReader returns a reader of a table of [Schema]. Options may be nil. The error is
// that of options out of bounds.
func NewReader(t *table.Table, options *Options) (*Reader, error) {
	o, err := options.resolve()
	if err != nil {
		return nil, err
	}
	return &Reader{counters: t.OfType(counterType), options: o}, nil
}

// Usage is the response to a question.
type Usage struct {
	Total int64
	// Parts are in the order of time, one for each query.
	Parts []PartUsage
}

// PartUsage is what one query found.
type PartUsage struct {
	Part
	Total int64
	// Periods are the hours or the days in which there was something to count,
	// in the order of time.
	Periods []Period
	Stats   table.Stats
}

// Period is what was counted in an hour or a day.
type Period struct {
	Start time.Time
	Count int64
}

// Usage returns the counts of a question, with one query for each [Part] of it,
// at most three, in parallel. The error of a question that is not valid is of
// type [Problems].
func (r *Reader) Usage(ctx context.Context, q Question) (Usage, error) {
	if err := q.validate(r.options, r.counters.Now()); err != nil {
		return Usage{}, err
	}
	return r.read(ctx, q.Meter, Split(q.From, q.end()))
}

// Hourly is like [Reader.Usage], but reads the counters of hours alone. It is
// there to measure what those of days save.
func (r *Reader) Hourly(ctx context.Context, q Question) (Usage, error) {
	if err := q.validate(r.options, r.counters.Now()); err != nil {
		return Usage{}, err
	}
	return r.read(ctx, q.Meter, []Part{{Hour, q.From.UTC(), q.end().UTC()}})
}

// read reads the parts in parallel. The first that fails ends the others.
func (r *Reader) read(ctx context.Context, m Meter, parts []Part) (Usage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u := Usage{Parts: make([]PartUsage, len(parts))}
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() {
			if u.Parts[i], errs[i] = r.part(ctx, m, p); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		// The others failed because they were ended.
		return Usage{}, context.Cause(ctx)
	}
	for _, p := range u.Parts {
		u.Total += p.Total
	}
	return u, nil
}

// part reads one part. The days of the longest time by default fit into one
// response, which has up to 1 MB. AWS: Query, Amazon DynamoDB API Reference.
func (r *Reader) part(ctx context.Context, m Meter, p Part) (PartUsage, error) {
	u := PartUsage{Part: p}
	q := table.Query{PK: m.PK(), Range: p.Range(), Limit: 2000}
	for {
		page, err := table.QueryPage[Counter](ctx, r.counters, q)
		if err != nil {
			return PartUsage{}, err
		}
		for _, c := range page.Items {
			at, err := c.start()
			if err != nil {
				return PartUsage{}, err
			}
			u.Periods = append(u.Periods, Period{at, c.Count})
			u.Total += c.Count
		}
		u.Stats = u.Stats.Add(page.Stats)
		if page.Next == "" {
			return u, nil
		}
		q.After = page.Next
	}
}

// start returns when the counter's hour or day begins.
func (c Counter) start() (time.Time, error) {
	parts, err := keys.Parse(c.SK)
	if err != nil {
		return time.Time{}, err
	}
	return parts.Time(1)
}
