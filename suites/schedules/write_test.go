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

// sequences draw a number each.
var sequences = map[string]func(ctx context.Context, tbl *table.Table, id string) (counter, error){
	"UpdateReturning": func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
		return table.UpdateReturning[counter](ctx, tbl, table.Update(counterKey(id), addOne))
	},
	"Upsert": func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
		r, err := repo.New(tbl, counterEntity)
		if err != nil {
			return counter{}, err
		}
		return r.Upsert(ctx, counter{ID: id}, addOne)
	},
	"Update": func(ctx context.Context, tbl *table.Table, id string) (counter, error) {
		r, err := repo.New(tbl, counterEntity)
		if err != nil {
			return counter{}, err
		}
		return r.Update(ctx, counterKey(id), func(c *counter) error { c.N++; return nil })
	},
}

// TestSequence draws numbers concurrently: no two get the same, and there is a gap
// only where an outcome is unknown.
func TestSequence(t *testing.T) {
	t.Parallel()
	for name, draw := range sequences {
		for _, stored := range []bool{true, false} {
			if !stored && name == "Update" {
				continue
			}
			t.Run(fmt.Sprintf("%s/stored=%t", name, stored), func(t *testing.T) {
				t.Parallel()
				tabletest.Explore(t, tabletest.Case{Schema: spec, Limit: *limit, Setup: func(ctx context.Context, r *tabletest.Run) error {
					return setUpSequence(ctx, r, draw, stored)
				}})
			})
		}
	}
}

func setUpSequence(ctx context.Context, r *tabletest.Run, draw func(context.Context, *table.Table, string) (counter, error), stored bool) error {
	tbl, err := table.New(r.Client, r.Schema, nil)
	if err != nil {
		return err
	}
	people, err := repo.New(tbl, counterEntity)
	if err != nil {
		return err
	}
	if stored {
		if err := people.Create(ctx, &counter{ID: r.ID}); err != nil {
			return err
		}
	}
	const operations = 2
	var numbers [operations]int
	for i := range operations {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			tbl, err := table.New(client, r.Schema, nil)
			if err != nil {
				return err
			}
			drawn, err := draw(ctx, tbl, r.ID)
			numbers[i] = drawn.N
			return err
		})
	}
	r.Check(func(ctx context.Context, errs []error) error {
		sure, unknown := 0, 0
		for i, err := range errs {
			switch {
			case err == nil:
				sure++
				if numbers[i] == 0 || slices.Contains(numbers[:i], numbers[i]) {
					return fmt.Errorf("the numbers drawn are %v", numbers)
				}
			case errors.Is(err, table.ErrOutcomeUnknown):
				unknown++
			}
		}
		c, err := table.Get[counter](ctx, tbl.Consistent(), counterKey(r.ID))
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		if c.N < sure || c.N > sure+unknown {
			return fmt.Errorf("the counter is %d after %d updates and %d that are unknown", c.N, sure, unknown)
		}
		return nil
	})
	return nil
}

// TestTransact counts in two items in one transaction, which takes effect once
// although nothing guards it but its token.
func TestTransact(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{Schema: spec, Limit: *limit, Setup: func(_ context.Context, r *tabletest.Run) error {
		x, y := counterKey(r.ID+"x"), counterKey(r.ID+"y")
		for range 2 {
			r.Go(func(ctx context.Context, client *dynamodb.Client) error {
				tbl, err := table.New(client, r.Schema, nil)
				if err != nil {
					return err
				}
				return tbl.Transact(ctx, table.Update(x, addOne), table.Update(y, addOne))
			})
		}
		r.Check(func(ctx context.Context, errs []error) error { return checkCounts(ctx, r, errs, x, y) })
		return nil
	}})
}

// checkCounts reports whether the counters differ, or do not count the operations.
func checkCounts(ctx context.Context, r *tabletest.Run, errs []error, x, y keys.Key) error {
	tbl, err := table.New(r.Client, r.Schema, nil)
	if err != nil {
		return err
	}
	a, err := table.Get[counter](ctx, tbl.Consistent(), x)
	b, err2 := table.Get[counter](ctx, tbl.Consistent(), y)
	for _, err := range []error{err, err2} {
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	sure, unknown := 0, 0
	for _, err := range errs {
		if err == nil {
			sure++
		} else if errors.Is(err, table.ErrOutcomeUnknown) {
			unknown++
		}
	}
	if a.N != b.N || a.N < sure || a.N > sure+unknown {
		return fmt.Errorf("%d changes and %d that are unknown have counted %d and %d", sure, unknown, a.N, b.N)
	}
	return nil
}

// order and order2 are an entity as two releases know it. The second one has a
// total, and stores orders under their customer as well.
type order struct {
	ID       string `dynamodbav:"id"`
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

type order2 struct {
	ID       string `dynamodbav:"id"`
	Status   string `dynamodbav:"status"`
	Total    int    `dynamodbav:"total,omitempty"`
	Revision string `dynamodbav:"revision"`
}

func orderKey(id string) keys.Key { return keys.Key{PK: keys.PK("ORDER#" + id), SK: keys.Metadata} }

func copyKey(id string) keys.Key { return keys.Key{PK: keys.PK("COPY#" + id), SK: keys.Metadata} }

// TestReleases has two releases update one entity: each keeps the change of the
// other, in the main item and in the copy.
func TestReleases(t *testing.T) {
	t.Parallel()
	for _, copied := range []bool{false, true} {
		t.Run(fmt.Sprintf("copied=%t", copied), func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{Schema: spec, Limit: *limit, Setup: func(ctx context.Context, r *tabletest.Run) error {
				return setUpReleases(ctx, r, copied)
			}})
		})
	}
}

// releases returns the repositories of both releases.
func releases(client *dynamodb.Client, r *tabletest.Run, copied bool) (*repo.Repo[order], *repo.Repo[order2], error) {
	tbl, err := table.New(client, r.Schema, nil)
	if err != nil {
		return nil, nil, err
	}
	e := repo.Entity[order]{Type: "ORDER", Key: func(o order) keys.Key { return orderKey(o.ID) }, Version: "revision"}
	e2 := repo.Entity[order2]{Type: "ORDER", Key: func(o order2) keys.Key { return orderKey(o.ID) }, Version: "revision"}
	if copied {
		e.Copies = []repo.Copy[order]{{Key: func(o order) keys.Key { return copyKey(o.ID) }}}
		e2.Copies = []repo.Copy[order2]{{Key: func(o order2) keys.Key { return copyKey(o.ID) }}}
	}
	first, err := repo.New(tbl, e)
	second, err2 := repo.New(tbl, e2)
	return first, second, errors.Join(err, err2)
}

func setUpReleases(ctx context.Context, r *tabletest.Run, copied bool) error {
	r.Go(func(ctx context.Context, client *dynamodb.Client) error {
		first, _, err := releases(client, r, copied)
		if err != nil {
			return err
		}
		_, err = first.Update(ctx, orderKey(r.ID), func(o *order) error { o.Status = "shipped"; return nil })
		return err
	})
	r.Go(func(ctx context.Context, client *dynamodb.Client) error {
		_, second, err := releases(client, r, copied)
		if err != nil {
			return err
		}
		o, err := second.Consistent().Get(ctx, orderKey(r.ID))
		if err != nil {
			return err
		}
		o.Total = 7
		if err = second.Put(ctx, &o); errors.Is(err, table.ErrStale) {
			_, err = second.Update(ctx, orderKey(r.ID), func(o *order2) error { o.Total = 7; return nil })
		}
		return err
	})
	_, second, err := releases(r.Client, r, copied)
	if err != nil {
		return err
	}
	r.Check(func(ctx context.Context, errs []error) error {
		o, err := second.Consistent().Get(ctx, orderKey(r.ID))
		if err != nil {
			return err
		}
		if errs[0] == nil && o.Status != "shipped" || errs[1] == nil && o.Total != 7 {
			return fmt.Errorf("a change is lost: %+v", o)
		}
		if copied {
			if c, err := second.Consistent().Get(ctx, copyKey(r.ID)); err != nil || c != o {
				return fmt.Errorf("the copy of %+v is %+v: %w", o, c, err)
			}
		}
		return nil
	})
	return second.Create(ctx, &order2{ID: r.ID, Status: "new"})
}

// TestUpdateWith changes an entity and counts each change in another item, in one
// transaction.
func TestUpdateWith(t *testing.T) {
	t.Parallel()
	for _, attempts := range []int{0, 1} {
		t.Run(fmt.Sprintf("attempts=%d", attempts), func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{Schema: spec, Limit: *limit, Setup: func(ctx context.Context, r *tabletest.Run) error {
				return setUpUpdateWith(ctx, r, table.Options{MaxAttempts: attempts})
			}})
		})
	}
}

func setUpUpdateWith(ctx context.Context, r *tabletest.Run, options table.Options) error {
	total := counterKey(r.ID + "total")
	for range 2 {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			tbl, err := table.New(client, r.Schema, &options)
			if err != nil {
				return err
			}
			counters, err := repo.New(tbl, counterEntity)
			if err != nil {
				return err
			}
			_, err = counters.UpdateWith(ctx, counterKey(r.ID), func(c *counter) ([]table.Op, error) {
				c.N++
				return []table.Op{table.Update(total, addOne)}, nil
			})
			return err
		})
	}
	tbl, err := table.New(r.Client, r.Schema, nil)
	if err != nil {
		return err
	}
	counters, err := repo.New(tbl, counterEntity)
	if err != nil {
		return err
	}
	r.Check(func(ctx context.Context, errs []error) error {
		return checkCounts(ctx, r, errs, counterKey(r.ID), total)
	})
	return counters.Create(ctx, &counter{ID: r.ID})
}
