package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// UniqueFault is a unique value whose item and entities do not agree.
type UniqueFault struct {
	// Key is that of the value's item, and Stored whether an item is there.
	Key    keys.Key
	Stored bool
	// Live and Expired are the keys of the entities that have the value.
	Live, Expired []keys.Key
}

// String says what is wrong and what to do, without the keys.
func (f UniqueFault) String() string {
	switch {
	case len(f.Live) > 1:
		return fmt.Sprintf("%d entities have the value: change it in all but one", len(f.Live))
	case len(f.Live) == 1:
		return "the value has no item, so another entity can take it: create the item"
	case len(f.Expired) > 0:
		return "only expired entities have the value: delete the item to free it"
	}
	return "no entity has the value: delete the item to free it"
}

// UniqueReport is what [Job.CheckUnique] has found.
type UniqueReport struct {
	// Counts are those of the last read of the table, but ReadUnits those of all. SetAside is
	// how many entities could not be read, such as those that do not decode.
	Counts
	// Faults are in the order of their keys.
	Faults []UniqueFault
	// More means that there are further faults: repair these, and run it again.
	More bool
}

// uniqueEntity is a [repo.Repo].
type uniqueEntity interface {
	UniqueKeys(table.Item) ([]keys.Key, error)
}

// CheckUnique compares the items of repo.Shared.Unique with the Entities, and writes nothing. of
// reports which keys are those of values of the Entities, such as all that begin with
// _unique#User#.
//
// It finds a value of several entities, one without its item, and one whose item is left: no
// entity has it, or only expired ones. The String of a [UniqueFault] says what to do, and the
// Example how to delete or create an item.
//
// It reads the whole table once. Where something does not agree, it reads it twice more, and
// reports what both reads have found, so that a write in between makes no fault. A value that is
// freed and taken again during each of them, as by a test account, can be reported: a read is not
// of one moment. Look at such a value before you repair it, and run the check again after repairs.
//
// It keeps sums of hashes, and up to 100,000 values, for a table of any size. If an entity could
// not be read, values without a live entity are left out: they can be its own.
//
// Map and Source must be nil. WriteUnits is not used, and Progress is called in each of the reads.
//
// Errors, all in a [*table.Error]:
//   - [table.ErrInvalid], before any request, also for an entity without Unique.
//   - Any error that stays after retries, and the context's.
func (j Job) CheckUnique(ctx context.Context, of func(keys.Key) bool) (UniqueReport, error) {
	return j.checkUnique(ctx, of, maxValues)
}

func (j Job) checkUnique(ctx context.Context, of func(keys.Key) bool, most int) (UniqueReport, error) {
	c, err := newUniqueCheck(j, of)
	if err == nil {
		err = c.run(ctx, most)
	}
	if err != nil {
		err = fail("CheckUnique", j.Name, j.Table, err)
	}
	return c.report, err
}

// maxValues is how many values are held, of those that may have faults.
const maxValues = 100_000

// tally is of all values whose hashes begin alike. An entity adds the hash that the item of the
// value subtracts, so that sum is zero where all agree. n is how often one was met.
type tally struct {
	sum uint64
	n   int
}

// A tally is chosen by the first 20 bits of a hash.
const (
	tallies    = 1 << 20
	tallyShift = 64 - 20
)

// uniqueCheck is one call of CheckUnique.
type uniqueCheck struct {
	job      Job
	entities map[string]Entity
	of       func(keys.Key) bool
	report   UniqueReport

	seed maphash.Seed
	mu   sync.Mutex
	// The first read makes tallies, and the others the values that are wanted.
	tallies []tally
	wanted  func(keys.Key) bool
	values  map[keys.Key]*UniqueFault
}

func newUniqueCheck(j Job, of func(keys.Key) bool) (*uniqueCheck, error) {
	c := &uniqueCheck{of: of, seed: maphash.MakeSeed()}
	if of == nil || j.Map != nil || j.Source != nil {
		return c, fmt.Errorf("%w backfill: CheckUnique takes a function of keys, and neither Map nor Source", table.ErrInvalid)
	}
	var err error
	if _, c.entities, err = j.withDefaults(); err != nil {
		return c, err
	}
	for i, e := range j.Entities {
		u, ok := e.(uniqueEntity)
		if ok {
			_, err = u.UniqueKeys(nil)
		}
		if !ok || errors.Is(err, table.ErrInvalid) {
			return c, fmt.Errorf("%w backfill: Entities[%d]: is no repo.Repo of an entity with Shared.Unique", table.ErrInvalid, i)
		}
	}
	c.job, c.tallies = j, make([]tally, tallies)
	c.job.Entities = nil
	c.job.Map = func(_ context.Context, read table.Item) ([]table.Op, error) { return nil, c.meet(read) }
	return c, nil
}

func (c *uniqueCheck) run(ctx context.Context, most int) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	c.wanted = c.unequal(most)
	//mutants:guard what is written between two reads is no fault | TestCheckUniqueWhileProgramsWrite | range 2 => range 1
	for range 2 {
		if c.wanted == nil {
			return nil
		}
		c.values = map[keys.Key]*UniqueFault{}
		if err := c.read(ctx); err != nil {
			return err
		}
		maps.DeleteFunc(c.values, func(_ keys.Key, f *UniqueFault) bool { return !c.isFault(f) })
		suspects := c.values
		c.wanted = func(value keys.Key) bool { return suspects[value] != nil }
	}
	byKey := func(a, b keys.Key) int { return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.SK, b.SK)) }
	for _, f := range c.values {
		slices.SortFunc(f.Live, byKey)
		slices.SortFunc(f.Expired, byKey)
		c.report.Faults = append(c.report.Faults, *f)
	}
	slices.SortFunc(c.report.Faults, func(a, b UniqueFault) int { return byKey(a.Key, b.Key) })
	return nil
}

// read reads the table once.
func (c *uniqueCheck) read(ctx context.Context) error {
	w, err := newWalk(c.job, false)
	if err != nil {
		return err
	}
	w.Source = w.Source.IncludingExpired()
	err = w.dry(ctx)
	units := c.report.ReadUnits
	c.report.Counts = w.sum().Counts
	c.report.ReadUnits += units
	return err
}

// meet looks at an item.
func (c *uniqueCheck) meet(read table.Item) error {
	t := c.job.Table
	key, spec := t.KeyOf("", read), t.Schema()
	e, isEntity := c.entities[spec.TypeOf(read)]
	if !isEntity {
		c.note(key, func(f *UniqueFault) { f.Stored = true }, -1)
		return nil
	}
	values, err := e.(uniqueEntity).UniqueKeys(read)
	if errors.Is(err, table.ErrWrongType) && !errors.Is(err, repo.ErrOrphan) {
		return nil // It has other constants.
	}
	for _, value := range values {
		if t.Expired(read, t.Now()) {
			c.note(value, func(f *UniqueFault) { f.Expired = append(f.Expired, key) }, 0)
		} else {
			c.note(value, func(f *UniqueFault) { f.Live = append(f.Live, key) }, 1)
		}
	}
	return err
}

// note adds to what is known of a value. sign is what becomes of its hash.
func (c *uniqueCheck) note(value keys.Key, add func(*UniqueFault), sign int) {
	if !c.of(value) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.wanted == nil:
		h := maphash.Comparable(c.seed, value)
		t := &c.tallies[h>>tallyShift]
		t.sum, t.n = t.sum+uint64(sign)*h, t.n+1
	case c.wanted(value):
		if c.values[value] == nil {
			c.values[value] = &UniqueFault{Key: value}
		}
		add(c.values[value])
	}
}

// unequal returns which values to read again, nil for none: those of tallies that are not zero,
// but no more than most.
func (c *uniqueCheck) unequal(most int) func(keys.Key) bool {
	unequal, n := map[uint64]bool{}, 0
	for i, t := range c.tallies {
		switch {
		case t.sum == 0:
		case n > 0 && n+t.n > most:
			c.report.More = true
		default:
			unequal[uint64(i)], n = true, n+t.n
		}
	}
	if n == 0 {
		return nil
	}
	return func(value keys.Key) bool { return unequal[maphash.Comparable(c.seed, value)>>tallyShift] }
}

func (c *uniqueCheck) isFault(f *UniqueFault) bool {
	switch len(f.Live) {
	case 0:
		//mutants:guard what may be the value of an entity that was not read is not called free | TestCheckUnique | && c.report.SetAside == 0 =>
		return f.Stored && c.report.SetAside == 0
	case 1:
		return !f.Stored
	}
	return true
}
