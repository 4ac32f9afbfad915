package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

const (
	oldPosts = 50
	writers  = 2
)

// migration moves a blog from three tables into the single one while writers
// write, and is interrupted once.
func migration(ctx context.Context, client *dynamodb.Client, s *store.Store, out report.Report) error {
	out.Title("13. A migration from three tables into the single one")
	blog, err := oldBlog(ctx, client, s)
	if err != nil {
		return err
	}
	if phase, err := blog.Comments.Phase(ctx); err != nil || phase == migrate.New {
		out.Line("  was done by an earlier run")
		return err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	acknowledged := make([][]store.Post, writers)
	failures := make([]error, writers)
	for i := range writers {
		wg.Go(func() { acknowledged[i], failures[i] = write(ctx, writing.Done(), blog, i) })
	}
	steps := &steps{Report: out, interruptAfter: 6}
	err = blog.Run(ctx, steps)
	if errors.Is(err, errInterrupted) {
		out.Line("  … interrupted; started again, it goes on from the stored position")
		err = blog.Run(ctx, steps)
	}
	stop()
	wg.Wait()
	if err := errors.Join(append(failures, err)...); err != nil {
		return err
	}
	if err := count(ctx, s, out, acknowledged); err != nil {
		return err
	}
	return audit(ctx, s, out, acknowledged)
}

// count counts what the migration has copied, now that only the store writes.
func count(ctx context.Context, s *store.Store, out report.Report, acknowledged [][]store.Post) error {
	job := backfill.Job{Name: "count", Table: s.Table, Entities: []backfill.Entity{s.Posts, s.Comments, s.Memberships}, Segments: 4}
	if _, err := job.Run(ctx); err != nil {
		return err
	}
	posts := map[string]bool{}
	for i := range oldPosts {
		posts[fmt.Sprintf("old-%d", i)] = true
	}
	for _, p := range slices.Concat(acknowledged...) {
		posts[p.ID] = true
	}
	u, err := s.User(ctx, "old-1")
	if err == nil && u.Posts != int64(len(posts)) {
		err = fmt.Errorf("%d posts are counted, and %d were written", u.Posts, len(posts))
	}
	out.Line("  comments and posts are counted by a backfill")
	return err
}

// oldBlog makes the old tables with a blog in them, as an application without
// this library would have written it: no types, no versions.
func oldBlog(ctx context.Context, client *dynamodb.Client, s *store.Store) (*migrate.Blog, error) {
	users, posts, comments := migrate.OldSchemas(s.Table.Schema().Name)
	var old [3]*table.Table
	for i, spec := range []schema.Table{users, posts, comments} {
		if err := spec.Ensure(ctx, client); err != nil {
			return nil, err
		}
		var err error
		if old[i], err = table.New(client, spec, nil); err != nil {
			return nil, err
		}
	}
	blog, err := migrate.NewBlog(s.Table, old[0], old[1], old[2])
	if err != nil {
		return nil, err
	}
	err = errors.Join(blog.Users.Advance(ctx, migrate.Old), blog.Posts.Advance(ctx, migrate.Old), blog.Comments.Advance(ctx, migrate.Old))
	if err != nil {
		return nil, err
	}
	if phase, err := blog.Users.Phase(ctx); err != nil || phase > migrate.Old {
		return blog, err
	}
	user := store.User{ID: "old-1", Name: "Olga"}
	if err := old[0].Do(ctx, table.Put(blog.Users.OldKey(user), user)); err != nil {
		return nil, err
	}
	for i := range oldPosts {
		at := start.AddDate(-1, 0, i)
		p := store.Post{ID: fmt.Sprintf("old-%d", i), AuthorID: "old-1", Title: "Before", CreatedAt: at}
		c := store.Comment{ID: fmt.Sprintf("old-%d", i), PostID: p.ID, AuthorID: "ana", Text: "Old", CreatedAt: at.Add(time.Hour)}
		err := errors.Join(
			old[1].Do(ctx, table.Put(blog.Posts.OldKey(p), p)),
			old[2].Do(ctx, table.Put(blog.Comments.OldKey(c), c)))
		if err != nil {
			return nil, err
		}
	}
	return blog, nil
}

// write creates posts and changes old ones until it is told to stop. It returns
// what was acknowledged, as it was stored.
func write(ctx context.Context, stop <-chan struct{}, blog *migrate.Blog, writer int) ([]store.Post, error) {
	var done []store.Post
	for n := 0; ; n++ {
		select {
		case <-stop:
			return done, nil
		default:
		}
		p := store.Post{
			ID: fmt.Sprintf("new-%d-%d", writer, n), AuthorID: "old-1", Title: "Meanwhile",
			CreatedAt: start.Add(time.Duration(n) * time.Second),
		}
		if err := unlessThere(blog.Posts.Create(ctx, p)); err != nil {
			return done, err
		}
		p.Version = 1
		at := store.Post{ID: fmt.Sprintf("old-%d", (n*writers+writer)%oldPosts)}
		changed, err := blog.Posts.Update(ctx, at, func(p *store.Post) error {
			p.Title = fmt.Sprintf("Changed by %d, round %d", writer, n)
			return nil
		})
		if err != nil {
			return done, err
		}
		done = append(done, p, changed)
	}
}

// audit looks every acknowledged write up in the single table.
func audit(ctx context.Context, s *store.Store, out report.Report, acknowledged [][]store.Post) error {
	out.Meter.Take()
	writes, lost := 0, 0
	for _, posts := range acknowledged {
		ks := make([]keys.Key, len(posts))
		for i, p := range posts {
			ks[i] = store.PostKey(p.ID)
		}
		found, err := s.Posts.BatchGet(ctx, ks)
		if err != nil {
			return err
		}
		writes += len(posts)
		for i, p := range posts {
			if have, there := found[ks[i]]; !there || have.Version < p.Version {
				lost++
			}
		}
	}
	requests, units := out.Meter.Take()
	out.Line("  %d writers wrote all the while; of their writes %d are missing in the single table (requests %d, read units %g)",
		writers, lost, requests, units)
	if lost > 0 {
		return fmt.Errorf("%d of %d writes were lost", lost, writes)
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// steps prints how the migration goes on, and interrupts it once.
type steps struct {
	report.Report
	interruptAfter int // pages
}

// Page implements [migrate.Reporter].
func (s *steps) Page(kind string, p backfill.Progress) error {
	s.Line("  %s: %d of %d segments, %d items copied", kind, p.SegmentsDone, p.Segments, p.Changed)
	if s.interruptAfter--; s.interruptAfter == 0 {
		return errInterrupted
	}
	return nil
}

// Verified implements [migrate.Reporter].
func (s *steps) Verified(phase migrate.Phase, r backfill.Report) {
	s.Line("  verified in phase %v: %d read, %d copied", phase, r.Scanned, r.Changed)
}
