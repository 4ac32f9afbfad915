package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// named, renaming and titled are an entity as three releases know it, by the guide for an
// attribute that gets another name.
type named struct {
	ID       string `dynamodbav:"id"`
	Name     string `dynamodbav:"name"`
	Revision string `dynamodbav:"revision"`
}

type renaming struct {
	ID       string `dynamodbav:"id"`
	Name     string `dynamodbav:"name"`
	Title    string `dynamodbav:"title"`
	Revision string `dynamodbav:"revision"`
}

type titled struct {
	ID       string `dynamodbav:"id"`
	Title    string `dynamodbav:"title"`
	Revision string `dynamodbav:"revision"`
}

func copiesName(compatible bool) repo.Upgrade {
	return repo.Upgrade{Writes: []string{"name", "title"}, Compatible: compatible, Change: func(item table.Item) error {
		if name, ok := item["name"]; ok {
			item["title"] = name
		}
		return nil
	}}
}

func dropsName() repo.Upgrade {
	u := repo.Drop("name")
	u.Compatible = true
	return u
}

func orderKey(id string) keys.Key { return keys.Key{PK: keys.PK("ORDER#" + id), SK: keys.Metadata} }

func copyKey(id string) keys.Key { return keys.Key{PK: keys.PK("COPY#" + id), SK: keys.Metadata} }

// releaseOf is the entity as a release knows it.
func releaseOf[T any](id func(T) string, upgrades ...repo.Upgrade) repo.Entity[T] {
	return repo.Entity[T]{
		Type: "ORDER", Version: "revision", Key: func(v T) keys.Key { return orderKey(id(v)) }, Upgrades: upgrades,
		Copies: []repo.Copy[T]{{Key: func(v T) keys.Key { return copyKey(id(v)) }}},
	}
}

var (
	namedEntity    = releaseOf(func(o named) string { return o.ID })
	renamingEntity = releaseOf(func(o renaming) string { return o.ID }, copiesName(true))
	titledEntity   = releaseOf(func(o titled) string { return o.ID }, copiesName(false), dropsName())
)

// operation is one of a run.
type operation func(context.Context, *dynamodb.Client, *tabletest.Run) error

// updating returns an operation that a release changes the entity with, under one of its
// keys.
func updating[T any](e repo.Entity[T], key func(id string) keys.Key, change func(*T)) operation {
	return func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error {
		orders, err := open(client, r, e)
		if err == nil {
			_, err = orders.Update(ctx, key(r.ID), func(v *T) error { change(v); return nil })
		}
		return err
	}
}

// appends are the updates of the three releases: each appends a letter.
var appends = map[string]operation{
	"a": updating(namedEntity, orderKey, func(o *named) { o.Name += "a" }),
	"b": updating(renamingEntity, copyKey, func(o *renaming) { o.Title += "b"; o.Name = o.Title }),
	"c": updating(titledEntity, orderKey, func(o *titled) { o.Title += "c" }),
	"": func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error { // a backfill
		orders, err := open(client, r, titledEntity)
		if err == nil {
			_, err = orders.Refresh(ctx, orderKey(r.ID))
		}
		return err
	},
}

// TestRenaming has releases change what another one derives, before and during one of their
// writes. What was acknowledged is in the main item and in the copy, once.
func TestRenaming(t *testing.T) {
	t.Parallel()
	for _, actors := range [][3]string{
		{"b", "a", "c"}, {"b", "a", ""}, {"a", "b", "c"}, {"b", "a", "b"}, {"c", "b", "c"}, {"c", "b", ""}, {"", "a", "b"},
	} {
		t.Run(strings.Join(actors[:], ","), func(t *testing.T) {
			t.Parallel()
			explore(t, tabletest.Case{
				Allow: func(err error) bool { return errors.Is(err, table.ErrNewerShape) },
				Setup: func(ctx context.Context, r *tabletest.Run) error { return setUpRenaming(ctx, r, actors) },
			})
		})
	}
}

// setUpRenaming stores an order, has the first actor write it, and lets the other two run.
func setUpRenaming(ctx context.Context, r *tabletest.Run, actors [3]string) error {
	for _, actor := range actors[1:] {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error { return appends[actor](ctx, client, r) })
	}
	last, err := open(r.Client, r, titledEntity)
	if err != nil {
		return err
	}
	r.Check(func(ctx context.Context, errs []error) error {
		o, err := last.Consistent().Get(ctx, orderKey(r.ID))
		if err != nil {
			return err
		}
		for i, actor := range actors {
			wrote, unsure := strings.Count(o.Title, actor), false
			if i > 0 {
				unsure = errors.Is(errs[i-1], table.ErrOutcomeUnknown)
			}
			acknowledged := i == 0 || errs[i-1] == nil
			want := strings.Count(strings.Join(actors[:], ""), actor)
			if actor != "" && acknowledged && !unsure && wrote < 1 || actor != "" && wrote > want {
				return fmt.Errorf("%d of %q in %q", wrote, actor, o.Title)
			}
		}
		return sameCopy(ctx, last, r.ID, o)
	})
	first, err := open(r.Client, r, namedEntity)
	if err != nil {
		return err
	}
	if err := first.Create(ctx, &named{ID: r.ID, Name: "-"}); err != nil {
		return err
	}
	return appends[actors[0]](ctx, r.Client, r)
}

// tally is an entity whose second release computes its title of its name. Both count.
type tally struct {
	ID       string `dynamodbav:"id"`
	Name     string `dynamodbav:"name"`
	Title    string `dynamodbav:"title,omitempty"`
	N        int    `dynamodbav:"n"`
	Revision string `dynamodbav:"revision"`
}

var (
	oldTally = repo.Entity[tally]{Type: "TALLY", Version: "revision", Key: func(v tally) keys.Key { return orderKey(v.ID) }}
	newTally = repo.Entity[tally]{
		Type: oldTally.Type, Version: oldTally.Version, Key: oldTally.Key,
		Upgrades: []repo.Upgrade{{Writes: []string{"name", "title"}, Compatible: true, Change: func(item table.Item) error {
			item["title"] = item["name"]
			return nil
		}}},
	}
)

// TestUpsertOfWhatAnOlderReleaseWrites has the second release count by Upsert while the
// first one renames. What Upsert returns is of one moment, nothing is lost, and nothing is
// left to be derived unless the first release was the last to write.
func TestUpsertOfWhatAnOlderReleaseWrites(t *testing.T) {
	t.Parallel()
	rename := func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error {
		return updating(oldTally, orderKey, func(v *tally) { v.Name += "a" })(ctx, client, r)
	}
	count := func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error {
		tallies, err := open(client, r, newTally)
		if err != nil {
			return err
		}
		v, err := tallies.Upsert(ctx, tally{ID: r.ID}, repo.Patch{Add: map[string]any{"n": 1}})
		if err == nil && v.Title != v.Name {
			return fmt.Errorf("Upsert returns %+v", v)
		}
		return err
	}
	for name, other := range map[string]operation{"Update by the first release": rename, "Upsert": count} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			explore(t, tabletest.Case{Setup: func(ctx context.Context, r *tabletest.Run) error {
				return setUpTally(ctx, r, rename, count, other)
			}})
		})
	}
}

// setUpTally has the first operation run before the two others, which are concurrent.
func setUpTally(ctx context.Context, r *tabletest.Run, before operation, actors ...operation) error {
	for _, actor := range actors {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error { return actor(ctx, client, r) })
	}
	tallies, err := open(r.Client, r, newTally)
	if err != nil {
		return err
	}
	r.Check(func(ctx context.Context, errs []error) error {
		v, err := tallies.Consistent().Get(ctx, orderKey(r.ID))
		if err != nil {
			return err
		}
		sure := 0
		for _, err := range errs {
			if err == nil {
				sure++
			}
		}
		if v.Title != v.Name || v.N+len(v.Name)-1 < sure {
			return fmt.Errorf("%d operations have made it %+v", sure, v)
		}
		if v, err = tallies.Upsert(ctx, tally{ID: r.ID}, repo.Patch{Add: map[string]any{"n": 1}}); err != nil {
			return err
		}
		if changed, err := tallies.Refresh(ctx, orderKey(r.ID)); changed || err != nil {
			return fmt.Errorf("refreshed: %t, %w", changed, err)
		}
		if is, err := tallies.Consistent().Get(ctx, orderKey(r.ID)); is != v || err != nil {
			return fmt.Errorf("Upsert returned %+v, and it is %+v: %w", v, is, err)
		}
		return nil
	})
	if err := tallies.Create(ctx, &tally{ID: r.ID, Name: "", Title: ""}); err != nil {
		return err
	}
	return before(ctx, r.Client, r)
}

// TestReleases has two releases update one entity, of which the second one adds a title:
// each keeps the change of the other, in the main item and in the copy.
func TestReleases(t *testing.T) {
	t.Parallel()
	for _, copied := range []bool{false, true} {
		t.Run(fmt.Sprintf("copied=%t", copied), func(t *testing.T) {
			t.Parallel()
			old, next := namedEntity, releaseOf(func(o renaming) string { return o.ID })
			if !copied {
				old.Copies, next.Copies = nil, nil
			}
			explore(t, tabletest.Case{Setup: func(ctx context.Context, r *tabletest.Run) error {
				return setUpReleases(ctx, r, old, next)
			}})
		})
	}
}

func setUpReleases(ctx context.Context, r *tabletest.Run, old repo.Entity[named], next repo.Entity[renaming]) error {
	r.Go(func(ctx context.Context, client *dynamodb.Client) error {
		return updating(old, orderKey, func(o *named) { o.Name = "shipped" })(ctx, client, r)
	})
	r.Go(func(ctx context.Context, client *dynamodb.Client) error {
		second, err := open(client, r, next)
		if err != nil {
			return err
		}
		o, err := second.Consistent().Get(ctx, orderKey(r.ID))
		if err != nil {
			return err
		}
		o.Title = "seven"
		if err = second.Save(ctx, &o); errors.Is(err, table.ErrStale) {
			_, err = second.Update(ctx, orderKey(r.ID), func(o *renaming) error { o.Title = "seven"; return nil })
		}
		return err
	})
	second, err := open(r.Client, r, next)
	if err != nil {
		return err
	}
	r.Check(func(ctx context.Context, errs []error) error {
		o, err := second.Consistent().Get(ctx, orderKey(r.ID))
		if err != nil {
			return err
		}
		if errs[0] == nil && o.Name != "shipped" || errs[1] == nil && o.Title != "seven" {
			return fmt.Errorf("a change is lost: %+v", o)
		}
		if len(next.Copies) > 0 {
			return sameCopy(ctx, second, r.ID, o)
		}
		return nil
	})
	return second.Create(ctx, &renaming{ID: r.ID, Name: "new"})
}

// sameCopy reports whether the copy of an entity differs from it.
func sameCopy[T comparable](ctx context.Context, r *repo.Repo[T], id string, main T) error {
	if c, err := r.Consistent().Get(ctx, copyKey(id)); err != nil || c != main {
		return fmt.Errorf("the copy of %+v is %+v: %w", main, c, err)
	}
	return nil
}
