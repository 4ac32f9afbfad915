package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// counter is a sequence, and an entity without copies.
type counter struct {
	ID       string `dynamodbav:"id"`
	N        int    `dynamodbav:"n"`
	Revision string `dynamodbav:"revision,omitempty"`
}

func counterKey(id string) keys.Key { return keys.Key{PK: keys.PK("COUNTER#" + id), SK: keys.Metadata} }

var (
	counterEntity = repo.Entity[counter]{Type: "COUNTER", Key: func(c counter) keys.Key { return counterKey(c.ID) }, Version: "revision"}
	addOne        = expression.Add(expression.Name("n"), expression.Value(1))
)

// counting is a case of operations that count once each. They draw numbers, unless they
// are blind, and count in a second item as well if both is set.
type counting struct {
	count               func(ctx context.Context, tbl *table.Table, id string) (counter, error)
	stored, blind, both bool
	options             table.Options
}

func totalKey(id string) keys.Key { return counterKey(id + "total") }

func (c counting) setup(ctx context.Context, r *tabletest.Run) error {
	tbl, err := openTable(r.Client, r, table.Options{})
	if err != nil {
		return err
	}
	counters, err := repo.New(tbl, counterEntity)
	if err != nil {
		return err
	}
	if c.stored {
		if err := counters.Create(ctx, &counter{ID: r.ID}); err != nil {
			return err
		}
	}
	var numbers [2]int
	for i := range numbers {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			tbl, err := openTable(client, r, c.options)
			if err != nil {
				return err
			}
			drawn, err := c.count(ctx, tbl, r.ID)
			numbers[i] = drawn.N
			return err
		})
	}
	r.Check(func(ctx context.Context, errs []error) error {
		return c.check(ctx, tbl.Consistent(), r.ID, errs, numbers[:])
	})
	return nil
}

// check reports numbers that were drawn twice, and items that do not count the
// operations, or differ.
func (c counting) check(ctx context.Context, tbl *table.Table, id string, errs []error, numbers []int) error {
	sure, unknown := 0, 0
	for i, err := range errs {
		switch {
		case err == nil:
			sure++
			if !c.blind && (numbers[i] == 0 || slices.Contains(numbers[:i], numbers[i])) {
				return fmt.Errorf("the numbers drawn are %v", numbers)
			}
		case errors.Is(err, table.ErrOutcomeUnknown):
			unknown++
		}
	}
	var counted [2]int
	for i, key := range []keys.Key{counterKey(id), totalKey(id)} {
		v, err := table.Get[counter](ctx, tbl, key)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		counted[i] = v.N
	}
	if n := counted[0]; n < sure || n > sure+unknown || c.both && n != counted[1] {
		return fmt.Errorf("%d operations and %d that are unknown have counted %v", sure, unknown, counted)
	}
	return nil
}

// TestSequence draws numbers concurrently: no two get the same, and there is a gap
// only where an outcome is unknown.
func TestSequence(t *testing.T) {
	t.Parallel()
	for name, draw := range map[string]func(context.Context, *table.Table, string) (counter, error){
		"DoReturning": func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
			return table.DoReturning[counter](ctx, tbl, table.Update(counterKey(id), addOne))
		},
		"Upsert": func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
			r, err := repo.New(tbl, counterEntity)
			if err != nil {
				return counter{}, err
			}
			return r.Upsert(ctx, counter{ID: id}, repo.Patch{Add: map[string]any{"n": 1}})
		},
		"Patch": func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
			r, err := repo.New(tbl, counterEntity)
			if err != nil {
				return counter{}, err
			}
			return r.Patch(ctx, counterKey(id), repo.Patch{Add: map[string]any{"n": 1}})
		},
		"Update": func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
			r, err := repo.New(tbl, counterEntity)
			if err != nil {
				return counter{}, err
			}
			return r.Update(ctx, counterKey(id), func(c *counter) error { c.N++; return nil })
		},
	} {
		for _, stored := range []bool{true, false} {
			if !stored && (name == "Update" || name == "Patch") {
				continue
			}
			t.Run(fmt.Sprintf("%s/stored=%t", name, stored), func(t *testing.T) {
				t.Parallel()
				explore(t, tabletest.Case{Setup: counting{count: draw, stored: stored}.setup})
			})
		}
	}
}

// TestTransact counts in two items in one transaction, which takes effect once
// although nothing guards it but its token.
func TestTransact(t *testing.T) {
	t.Parallel()
	transact := func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
		return counter{}, tbl.Transact(ctx, table.Update(counterKey(id), addOne), table.Update(totalKey(id), addOne))
	}
	explore(t, tabletest.Case{Setup: counting{count: transact, blind: true, both: true}.setup})
}

// TestUpdateWith changes an entity and counts each change in another item, in one
// transaction.
func TestUpdateWith(t *testing.T) {
	t.Parallel()
	count := func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
		r, err := repo.New(tbl, counterEntity)
		if err != nil {
			return counter{}, err
		}
		return r.UpdateWith(ctx, counterKey(id), func(c *counter) ([]table.Op, error) {
			c.N++
			return []table.Op{table.Update(totalKey(id), addOne)}, nil
		})
	}
	for _, attempts := range []int{0, 1} {
		t.Run(fmt.Sprintf("attempts=%d", attempts), func(t *testing.T) {
			t.Parallel()
			c := counting{count: count, stored: true, both: true, options: table.Options{MaxAttempts: attempts}}
			explore(t, tabletest.Case{Setup: c.setup})
		})
	}
}
