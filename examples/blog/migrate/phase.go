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
	return [...]string{"unknown", "old", "dual", "switching", "new"}[p]
}

// ErrPhase means that it is too early for what was asked.
var ErrPhase = errors.New("the migration is not in the phase for this")

const phaseAttribute = "phase"

// fence is an item of an old table that holds the phase of its ids.
type fence struct {
	Phase Phase `dynamodbav:"phase"`
}

// fences says which fence an id belongs to.
var fences = shard.Index{Prefix: "FENCE", Shards: 4}

// fence returns the key of a fence.
func (k Kind[T]) fence(shard int) keys.Key {
	key := keys.Key{PK: fences.Prefix.PK(strconv.Itoa(shard))}
	if !k.Old.Schema().SimpleKey {
		key.SK = fences.Prefix.SK()
	}
	return key
}

// holds is the check that an entity is still in a phase.
func (k Kind[T]) holds(v T, p Phase) table.Op {
	condition := expression.Name(phaseAttribute).Equal(expression.Value(p))
	return table.Check(k.fence(fences.Shard(k.id(v))), condition).WithName("fence")
}

// read reads the phase of a fence.
func (k Kind[T]) read(ctx context.Context, shard int) (Phase, error) {
	stored, err := table.Get[fence](ctx, k.Old.Consistent(), k.fence(shard))
	if err != nil {
		return 0, fmt.Errorf("fence: %w", err)
	}
	return stored.Phase, nil
}

// Prepare makes the fences that are missing, before the first writer goes through the
// records.
func (k Kind[T]) Prepare(ctx context.Context) error { return k.Advance(ctx, Old) }

// Advance moves every fence on to a phase, except for those that are there or further.
// A missing one is made.
func (k Kind[T]) Advance(ctx context.Context, p Phase) error {
	phase := expression.Name(phaseAttribute)
	set := expression.Set(phase, expression.Value(p))
	behind := phase.AttributeNotExists().Or(phase.LessThan(expression.Value(p)))
	for i := range fences.Shards {
		err := k.Old.Do(ctx, table.Update(k.fence(i), set).If(behind))
		if err != nil && !errors.Is(err, table.ErrConditionFailed) {
			return err
		}
	}
	return nil
}

// Phase returns the phase that all entities of the kind have reached.
func (k Kind[T]) Phase(ctx context.Context) (Phase, error) {
	least := New
	for i := range fences.Shards {
		p, err := k.read(ctx, i)
		if err != nil {
			return 0, err
		}
		least = min(least, p)
	}
	return least, nil
}
