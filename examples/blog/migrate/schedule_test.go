package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A post is written while a step of the migration runs. What its writer was told is
// in the single table then, and still when the migration is over.
func TestScheduleMigration(t *testing.T) {
	t.Parallel()
	backfill := func(ctx context.Context, posts *migrate.Records[store.Post], _ string) error {
		_, err := posts.Backfill(ctx, pass)
		return err
	}
	cutOver := func(ctx context.Context, posts *migrate.Records[store.Post], _ string) error {
		return posts.Advance(ctx, migrate.Switching)
	}
	update := func(mark string) operation {
		return func(ctx context.Context, posts *migrate.Records[store.Post], id string) error {
			_, err := posts.Update(ctx, post(id), func(p *store.Post) error { p.Title += mark; return nil })
			return err
		}
	}
	cutOverAndUpdate := func(ctx context.Context, posts *migrate.Records[store.Post], id string) error {
		if err := cutOver(ctx, posts, id); err != nil {
			return err
		}
		return update("+after")(ctx, posts, id)
	}
	remove := func(ctx context.Context, posts *migrate.Records[store.Post], id string) error {
		return posts.Delete(ctx, post(id))
	}
	for name, m := range map[string]migration{
		"a backfill and an update":          {[2]operation{backfill, update("+write")}, [2]string{"", "+write"}},
		"a backfill and a deletion":         {[2]operation{backfill, remove}, [2]string{"", deleted}},
		"the cut-over and a deletion":       {[2]operation{cutOver, remove}, [2]string{"", deleted}},
		"updates before and after cut-over": {[2]operation{cutOverAndUpdate, update("+before")}, [2]string{"+after", "+before"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{Schema: store.Schema("Blog"), Limit: *check.Limit, Setup: m.setUp})
		})
	}
}

// operation is a step of a migration, or a write of a post.
type operation func(ctx context.Context, posts *migrate.Records[store.Post], id string) error

// deleted is what an operation leaves that deletes the post.
const deleted = "deleted"

// migration is two operations, and what each of them adds to the post's title.
type migration struct {
	operations [2]operation
	adds       [2]string
}

// postsOf returns the posts of a run on their way from a table of its own.
func postsOf(client *dynamodb.Client, r *tabletest.Run) (*migrate.Records[store.Post], error) {
	_, spec, _ := migrate.OldSchemas(r.Schema.Name + r.ID)
	old, err := table.New(client, spec, nil)
	if err != nil {
		return nil, err
	}
	blog, err := migrate.NewBlog(r.Table(client), old, old, old)
	if err != nil {
		return nil, err
	}
	kind := *blog.Posts
	kind.Name += r.ID
	kind.Segments = 1 // or most of the schedules would be of leases
	return migrate.NewRecords(r.Table(client), kind)
}

func (m migration) setUp(ctx context.Context, r *tabletest.Run) error {
	posts, err := postsOf(r.Client, r)
	if err != nil {
		return err
	}
	if err := posts.Old.Schema().Ensure(ctx, r.Client); err != nil {
		return err
	}
	id := "p-" + r.ID
	err = errors.Join(
		posts.Advance(ctx, migrate.Old),
		posts.Old.Do(ctx, table.Put(posts.OldKey(post(id)), post(id))),
		posts.Advance(ctx, migrate.Dual),
	)
	for _, operation := range m.operations {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			posts, err := postsOf(client, r)
			if err != nil {
				return err
			}
			return operation(ctx, posts, id)
		})
	}
	r.Check(func(ctx context.Context, errs []error) error { return m.check(ctx, posts, r, id, errs) })
	return err
}

// check compares the single table with what the operations have returned, before
// and after the rest of the migration.
func (m migration) check(ctx context.Context, posts *migrate.Records[store.Post], r *tabletest.Run, id string, errs []error) error {
	tbl := r.Table(r.Client)
	s, err := store.New(tbl.Consistent(), nil)
	if err != nil {
		return err
	}
	for _, when := range []string{"after the write", "after the migration"} {
		if when == "after the migration" {
			if err := posts.Run(ctx, silent{}); err != nil {
				return err
			}
		}
		p, err := s.Posts.Get(ctx, store.PostKey(id))
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		for i, adds := range m.adds {
			if has := adds == deleted && p.ID == "" || strings.Contains(p.Title, adds); errs[i] == nil && !has {
				return fmt.Errorf("%s: the post is %+v, want %q", when, p, adds)
			}
		}
	}
	return nil
}
