package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Entity is what a job or a transfer brings to its present description. It is a
// [repo.Repo].
type Entity interface {
	// Types are the types of its items: of the entity, and of its claims.
	Types() []string
	// RefreshOps returns the ops that bring an item to the present description; none
	// if it is as described.
	RefreshOps(ctx context.Context, item table.Item) ([]table.Op, error)
	// RefreshItems returns the items that store the entity of a main item by the
	// present description; none for other items of the entity.
	RefreshItems(item table.Item) ([]table.Item, error)
}

// Job walks a table once. It is a plain value; its methods may be called by several
// processes at once.
type Job struct {
	// Name tells the job from others in the same table. A job that was finished does
	// nothing when it is run again under its name, unless it is forgotten: see
	// [Forget].
	Name string
	// Table is the table that the job writes to, and stores its progress in. Its keys
	// are strings. Here, in Source, [SetAside] and [Forget], what a view of the table leaves
	// out does not count: see [table.Table.Project] and OfType.
	Table *table.Table
	// Entities are brought to their present description. Items of other types are
	// passed over.
	Entities []Entity

	// Source is the table to walk, Table by default. With another Source, Map is
	// required, and Entities must be empty. An index is not walked, and the progress of
	// jobs is passed over.
	Source *table.Table
	// Map returns the ops that bring an item of Source over; none to pass over it. The
	// ops must do no harm when they are run twice, or after a program has written the
	// same entity: give them conditions. If a condition of [table.Op.If] fails, or the
	// condition of the first op, such as that of a Create, the target has the entity:
	// the item counts as current. The failure of another op sets it aside, as when a
	// unique value is taken. So does an error or a panic of Map, without its text; an
	// error that [table.Classify] calls transient is retried.
	Map func(ctx context.Context, item table.Item) ([]table.Op, error)

	// Segments is in how many parts the table is walked, 64 by default. All processes
	// must use the same number. A part is walked by one goroutine.
	Segments int
	// Concurrency is how many segments this process walks at once, 16 by default.
	Concurrency int
	// ReadUnits and WriteUnits bound what this process consumes per second, on
	// average. Zero means no bound.
	ReadUnits, WriteUnits float64
	// Progress is called after each page of a segment, by one goroutine at a time. The
	// job waits for it.
	Progress func(Progress)
}

const (
	defaultSegments    = 64
	defaultConcurrency = 16
	// pageSize is how many items are read between two checkpoints, at most.
	pageSize = 500
	// leaseLife is how long a killed process keeps its segments from others.
	leaseLife = time.Minute
)

// itemType is the type attribute of the items that jobs store: progress, and what
// was set aside.
const itemType = lease.JobType

const prefix keys.Prefix = itemType

// withDefaults returns a valid job, and its entities by their types.
func (j Job) withDefaults() (Job, map[string]Entity, error) {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if j.Name == "" || len(j.Name) > maxName || !utf8.ValidString(j.Name) {
		bad("Name: is not 1 to %d bytes of UTF-8", maxName)
	}
	if j.Table == nil {
		bad("Table: is nil")
	} else if spec := j.Table.Schema(); spec.SimpleKey || spec.PKType != types.ScalarAttributeTypeS || spec.SKType != types.ScalarAttributeTypeS {
		bad("Table: %s has not two keys that are strings", spec.Name)
	} else if err := lease.Check(j.Table, segmentKey("-", 0), true); err != nil {
		bad("Table: %w", err)
	}
	switch mapped := j.Map != nil; {
	case mapped && len(j.Entities) > 0:
		bad("Map: goes without Entities")
	case !mapped && len(j.Entities) == 0:
		bad("Entities: there are none")
	case !mapped && j.Source != nil:
		bad("Source: goes with Map")
	}
	entities := byType(j.Entities, j.Table, bad)
	if j.Segments < 0 || j.Segments > maxSegments {
		bad("Segments: %d is not 0 to %d", j.Segments, maxSegments)
	}
	if j.Concurrency < 0 || j.ReadUnits < 0 || j.WriteUnits < 0 {
		bad("Concurrency, ReadUnits, WriteUnits: one is negative")
	}
	if len(problems) > 0 {
		return j, nil, fmt.Errorf("%w backfill: %w", table.ErrInvalid, errors.Join(problems...))
	}
	j.Source = cmp.Or(j.Source, j.Table).Reading(item.Reading{Whole: true})
	j.Segments = cmp.Or(j.Segments, defaultSegments)
	j.Concurrency = min(cmp.Or(j.Concurrency, defaultConcurrency), j.Segments)
	return j, entities, nil
}

// maxName leaves room in a partition key.
const maxName = 1000

// sameTable reports whether an entity is of a table, where it tells.
func sameTable(e Entity, t *table.Table) bool {
	v, ok := e.(interface{ View() *table.Table })
	return !ok || t == nil || v.View().Schema().Name == t.Schema().Name
}

// byType returns entities by their types. It calls bad for what is wrong with a list of
// entities of a table, of any if it is nil.
func byType(entities []Entity, t *table.Table, bad func(format string, args ...any)) map[string]Entity {
	m := make(map[string]Entity, len(entities))
	for i, e := range entities {
		switch {
		case e == nil:
			bad("Entities[%d]: is nil", i)
		case len(e.Types()) == 0 || e.Types()[0] == "":
			bad("Entities[%d]: is nil, or has no type", i)
		case !sameTable(e, t):
			bad("Entities[%d]: is of another table", i)
		default:
			for _, name := range e.Types() {
				if m[name] != nil {
					bad("Entities[%d]: type %q is there twice", i, name)
				}
				m[name] = e
			}
		}
	}
	return m
}

// maxSegments keeps the names of segments in order.
const maxSegments = 10_000

// Run walks the table and brings its items over, from where an earlier run of the
// job has stopped. It waits for segments that other processes hold. It takes those of
// a dead process a minute after that process has ended. It returns what the job has done so
// far, by all processes, also after an error.
//
// Errors, all in a [*table.Error]:
//   - [table.ErrInvalid], before any request, also if the Table has one of the progress's
//     attributes for a key, its type or its expiry; or if the job was begun with another
//     number of segments.
//   - Any error that stays after retries, such as throttling that does not end. The
//     job continues there when it is run again.
//   - The context's.
func (j Job) Run(ctx context.Context) (Report, error) {
	w, err := newWalk(j, true)
	if err != nil {
		return Report{}, fail("Run", j.Name, j.Table, err)
	}
	err = w.segments(ctx, w.held)
	report, failed := w.overall(context.WithoutCancel(ctx))
	if err = cmp.Or(err, failed); err != nil {
		return report, fail("Run", j.Name, j.Table, err)
	}
	return report, nil
}

// DryRun walks the table as [Job.Run] does and writes nothing. Report.Changed is how
// many items Run would write, and Report.WriteUnits an estimate of what they cost
// without indexes. It does not continue an earlier one, and needs none. Run after Run,
// it verifies: see [Report.Complete]. With a Map, it counts each item for which Map
// has ops as changed, and cannot verify.
func (j Job) DryRun(ctx context.Context) (Report, error) {
	w, err := newWalk(j, false)
	if err != nil {
		return Report{}, fail("DryRun", j.Name, j.Table, err)
	}
	err = w.dry(ctx)
	report := w.sum()
	if err != nil {
		return report, fail("DryRun", j.Name, j.Table, err)
	}
	return report, nil
}

// dry walks all segments, and keeps no checkpoint.
func (w *walk) dry(ctx context.Context) error {
	return w.segments(ctx, func(ctx context.Context, n int) error {
		return w.segment(ctx, n, &checkpoint{}, func(context.Context) error { return nil })
	})
}

// fail returns the error of an operation. job is empty for a transfer.
func fail(op, job string, t *table.Table, err error) error {
	name := ""
	if t != nil {
		name = t.Schema().Name
	}
	return &table.Error{Op: "backfill " + op, Name: job, Table: name, Err: err}
}

// lease returns the lease of a segment.
func (j Job) lease(n int, owner string) lease.Lease {
	return lease.Lease{Table: j.Table, Key: segmentKey(j.Name, n), Type: itemType, Owner: owner, Life: leaseLife}
}

func segmentKey(job string, n int) keys.Key {
	return keys.Key{PK: prefix.PK(job), SK: keys.Prefix("SEGMENT").SK(keys.Str(fmt.Sprintf("%04d", n)))}
}

// errGone ends the other walkers if one panics or ends its goroutine.
var errGone = errors.New("a walker did not return")

// segments calls walk for each segment, for Concurrency at once, until one fails.
func (w *walk) segments(ctx context.Context, walk func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var walkers group.Group
	for range w.Concurrency {
		walkers.Go(func() {
			returned := false
			defer func() {
				if !returned {
					cancel(errGone)
				}
			}()
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= w.Segments {
					break
				}
				if err := walk(ctx, n); err != nil {
					cancel(fmt.Errorf("segment %d: %w", n, err))
				}
			}
			returned = true
		})
	}
	walkers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
