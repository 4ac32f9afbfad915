package backfill

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/table"
)

// Counts are what a job has done.
type Counts struct {
	// Scanned is how many items were read, Matched how many of them were for the job:
	// of one of its entities, or any if it has a Map.
	Scanned int64 `dynamodbav:"scanned"`
	Matched int64 `dynamodbav:"matched"`
	// Current is how many were as described, or have been deleted since; Changed how
	// many were written, or would be. After a kill, items of the last page are counted
	// once more, as current.
	Current int64 `dynamodbav:"current"`
	Changed int64 `dynamodbav:"changed"`
	// Newer is how many a newer program has written, which stay as they are: see
	// [table.ErrNewerShape].
	Newer int64 `dynamodbav:"newer"`
	// SetAside is how many could not be brought over: see [SetAside].
	SetAside int64 `dynamodbav:"setAside"`
	// ReadUnits and WriteUnits are what was consumed. Those of a request that failed
	// are not known. The items with the progress are not counted. After a DryRun,
	// WriteUnits are those that a Run would consume, without indexes.
	ReadUnits  float64 `dynamodbav:"readUnits"`
	WriteUnits float64 `dynamodbav:"writeUnits"`
}

func (c *Counts) add(other Counts) {
	c.Scanned += other.Scanned
	c.Matched += other.Matched
	c.Current += other.Current
	c.Changed += other.Changed
	c.Newer += other.Newer
	c.SetAside += other.SetAside
	c.ReadUnits += other.ReadUnits
	c.WriteUnits += other.WriteUnits
}

func (c *Counts) count(o outcome) {
	switch o {
	case current:
		c.Current++
	case changed:
		c.Changed++
	case newer:
		c.Newer++
	case another:
		c.Matched--
	}
}

// outcome is what came of an item.
type outcome int

const (
	current outcome = iota
	changed
	newer
	another // it has the type of an entity, and not its constants
	// changedMeanwhile means that the item has to be read again.
	changedMeanwhile
)

// Report is the sum of all segments.
type Report struct {
	Counts
	// Segments is in how many parts the table is walked, and SegmentsDone how many
	// are done.
	Segments, SegmentsDone int
}

// Complete reports whether a [Job.DryRun] has found nothing to do: no item to write
// and none that cannot be brought over. It proves that the job is complete only if
// no program of a former release has written since.
func (r Report) Complete() bool {
	return r.SegmentsDone == r.Segments && r.Changed == 0 && r.SetAside == 0
}

// String returns the report in one line.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d segments, %d items, %d changed", r.SegmentsDone, r.Segments, r.Scanned, r.Changed)
	if r.Newer > 0 {
		fmt.Fprintf(&b, ", %d newer", r.Newer)
	}
	if r.SetAside > 0 {
		fmt.Fprintf(&b, ", %d set aside", r.SetAside)
	}
	fmt.Fprintf(&b, ", %.0f read and %.0f write units", r.ReadUnits, r.WriteUnits)
	return b.String()
}

// Progress says how far a job is.
type Progress struct {
	// Report is of this process, and of what others had done in its segments before.
	Report
	// Segment is the one that has advanced.
	Segment int
	// Elapsed is the time since the call began, and Rate the number of items read per
	// second since then.
	Elapsed time.Duration
	Rate    float64
	// Left is an estimate of the remaining time, 0 while there is no estimate.
	Left time.Duration
}

// String returns the progress in one line, for a terminal or a log.
func (p Progress) String() string {
	text := fmt.Sprintf("%v, %.0f items/s", p.Report, p.Rate)
	if p.Left > 0 {
		text += fmt.Sprintf(", about %v left", p.Left.Round(time.Second))
	}
	return text
}

// progress reports the progress of a segment by so many items.
func (w *walk) progress(n int, at checkpoint, scanned int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkpoints[n] = at
	w.scanned += scanned
	if w.Progress == nil {
		return
	}
	p := Progress{Report: w.sum(), Segment: n, Elapsed: time.Since(w.begun)}
	p.Rate = float64(w.scanned) / p.Elapsed.Seconds()
	if p.SegmentsDone > 0 {
		p.Left = time.Duration(float64(p.Elapsed) * float64(p.Segments-p.SegmentsDone) / float64(p.SegmentsDone))
	}
	w.Progress(p)
}

// sum returns the report of the segments that this process has walked. The caller holds mu,
// or no segment is walked any more.
func (w *walk) sum() Report {
	r := Report{Segments: w.Segments}
	for _, at := range w.checkpoints {
		r.add(at)
	}
	return r
}

func (r *Report) add(at checkpoint) {
	r.Counts.add(at.Counts)
	if at.Done {
		r.SegmentsDone++
	}
}

// overall returns the report of all processes.
func (w *walk) overall(ctx context.Context) (Report, error) {
	r := Report{Segments: w.Segments}
	for n := range w.Segments {
		at, _, err := lease.Read[checkpoint](ctx, w.lease(n, ""))
		if err != nil {
			return w.sum(), err
		}
		r.add(at)
	}
	return r, nil
}

// estimate returns the write units of ops about an item, without indexes.
func estimate(item table.Item, ops []table.Op) float64 {
	const unit = 1024
	units := math.Ceil(float64(item.Size()) / unit)
	if len(ops) > 1 {
		units *= 2 // a transaction
	}
	return units * float64(len(ops))
}
