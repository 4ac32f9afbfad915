package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// Phase is how far the migration of an entity has come. It only grows.
type Phase int

// The phases, in order. See the package documentation.
const (
	Old Phase = iota + 1
	Dual
	Switching
	New
)

// String returns the name of the phase.
func (p Phase) String() string {
	names := [...]string{"unknown", "old", "dual", "switching", "new"}
	if p < Old || p > New {
		p = 0
	}
	return names[p]
}

// ErrPhase means that it is too early for what was asked.
var ErrPhase = errors.New("the migration is not in the phase for this")

const fencePrefix keys.Prefix = "FENCE"

const (
	phaseAttribute = "phase"
	fenceCount     = 4
)

// fence is an item that holds the phase of its ids.
type fence struct {
	Phase Phase `dynamodbav:"phase"`
}

// fences are the items of one old table that hold its phase.
type fences struct{ old *table.Table }

var fenceOf = shard.Index{Prefix: fencePrefix, Shards: fenceCount}

func (f fences) key(shard int) keys.Key {
	k := keys.Key{PK: fencePrefix.PK(strconv.Itoa(shard))}
	if !f.old.Schema().SimpleKey {
		k.SK = fencePrefix.SK()
	}
	return k
}

// phase reads the phase of an id.
func (f fences) phase(ctx context.Context, id string) (Phase, error) {
	return f.read(ctx, f.key(fenceOf.Shard(id)))
}

func (f fences) read(ctx context.Context, key keys.Key) (Phase, error) {
	stored, err := table.Get[fence](ctx, f.old.Consistent(), key)
	if err != nil {
		return 0, fmt.Errorf("fence: %w", err)
	}
	return stored.Phase, nil
}

// holds is the check that an id is still in a phase.
func (f fences) holds(id string, p Phase) table.Op {
	condition := expression.Name(phaseAttribute).Equal(expression.Value(p))
	return table.Check(f.key(fenceOf.Shard(id)), condition).WithName("fence")
}

// prepare makes the fences that are missing.
func (f fences) prepare(ctx context.Context) error {
	for i := range fenceCount {
		err := f.old.Do(ctx, table.Create(f.key(i), fence{Old}))
		if err != nil && !errors.Is(err, table.ErrExists) {
			return err
		}
	}
	return nil
}

// advance moves every fence to a phase, except for those that are there or
// further.
func (f fences) advance(ctx context.Context, p Phase) error {
	set := expression.Set(expression.Name(phaseAttribute), expression.Value(p))
	behind := expression.Name(phaseAttribute).LessThan(expression.Value(p))
	for i := range fenceCount {
		err := f.old.Do(ctx, table.Update(f.key(i), set).If(behind))
		if err != nil && !errors.Is(err, table.ErrConditionFailed) {
			return err
		}
	}
	return nil
}

// least returns the phase that all fences have reached.
func (f fences) least(ctx context.Context) (Phase, error) {
	least := New
	for i := range fenceCount {
		p, err := f.read(ctx, f.key(i))
		if err != nil {
			return 0, err
		}
		least = min(least, p)
	}
	return least, nil
}

// notFence is the filter of scans, which meet the fences too.
func notFence() expression.ConditionBuilder {
	return expression.Name(phaseAttribute).AttributeNotExists()
}

// failed reports whether the condition of the op of that name did not hold.
func failed(err error, name string) bool {
	op, ok := table.FailedOp(err, name)
	return ok && errors.Is(op, table.ErrConditionFailed)
}
