package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/measured"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// load.json has what each pattern consumes, with the reads of the stream's consumer.
func TestLoadIsMeasured(t *testing.T) {
	t.Parallel()
	s := open(t)
	quiet, router := t.Context(), routerOf(t, s)
	ana := store.User{ID: "4f8b2c1e-7a90-4d3b-9c55-0e6a1d2f3b47", Email: "ana@example.com", Name: "Ana Oliveira", CreatedAt: noon}
	check.OK(t, s.AddUser(quiet, ana))
	text := []byte(strings.Repeat("A text of some length. ", 180)) // 4 KB
	const posts = 25
	postOf := func(i int) store.Post {
		return store.Post{ID: fmt.Sprintf("k3x9q2m7w5p1-%04d", i), AuthorID: ana.ID, Title: "What we have learned in a year", CreatedAt: noon.AddDate(0, 0, i)}
	}
	for i := range posts {
		check.OK(t, s.AddPost(quiet, postOf(i), text), check.Err(s.Publish(quiet, postOf(i).ID, noon.AddDate(0, 0, i))))
	}
	post := postOf(0).ID
	commentOf := func(i int) store.Comment {
		c := commentOn(post, i)
		c.AuthorID, c.Text = ana.ID, "Thank you, this has helped us to do the same with less."
		return c
	}
	for i := range posts {
		check.OK(t, s.AddComment(quiet, commentOf(i)), s.Count(quiet, store.ViewsOf(post), fmt.Sprint(i), 1))
	}
	check.OK(t, s.OpenGroup(quiet, store.Group{ID: "cooks", Name: "Cooks of the town"}, ana.ID, noon))
	newcomer := func(id string) store.Membership {
		check.OK(t, s.AddUser(quiet, store.User{ID: id, Email: id + "@example.com", Name: "Eva"}))
		return store.Membership{GroupID: "cooks", UserID: id, Role: store.Member, JoinedAt: noon}
	}
	once := func(ctx context.Context, operation string, ops func(context.Context) ([]table.Op, error)) error {
		r := store.Request{Operation: operation, User: ana.ID, Key: "a1b2c3d4-e5f6"}
		_, _, err := store.Once(ctx, s, r, func(ctx context.Context) (string, []table.Op, error) {
			all, err := ops(ctx)
			return "an id and an address", all, err
		})
		return err
	}
	seePost := func(ctx context.Context) error { return check.Err(s.Posts.Consistent().Get(ctx, store.PostKey(post))) }
	measured.Load(t, "../load.json", measured.Patterns{
		"newest posts": func(ctx context.Context) error {
			q := store.PublishedQuery()
			q.Limit = 20
			return check.Err(s.Posts.Query(ctx, q))
		},
		"a post with 20 comments": func(ctx context.Context) error { return check.Err(s.PostWithComments(ctx, post, 20)) },
		"view a post": func(ctx context.Context) error {
			return once(ctx, "CountView", func(ctx context.Context) ([]table.Op, error) {
				return []table.Op{store.CountOp(store.ViewsOf(post), "a1b2c3d4-e5f6", 1)}, seePost(ctx)
			})
		},
		"views of a post": func(ctx context.Context) error {
			return errors.Join(seePost(ctx), check.Err(s.Total(ctx, store.ViewsOf(post))))
		},
		"comment": func(ctx context.Context) error {
			err := once(ctx, "CreateComment", func(ctx context.Context) ([]table.Op, error) {
				c := commentOf(posts)
				return s.CommentOps(ctx, &c)
			})
			another := commentOf(posts + 1)
			ops := check.Must(s.CommentOps(quiet, &another))(t)
			event := check.Must(streamtest.Transact(quiet, tabletest.Client(t), s.Table, ops...))(t)
			return errors.Join(err, measured.Handle(ctx, router, event))
		},
		"write and publish a post": func(ctx context.Context) error {
			p := postOf(posts)
			err := once(ctx, "CreatePost", func(ctx context.Context) ([]table.Op, error) { return s.PostOps(ctx, &p, text) })
			return errors.Join(err, check.Err(s.Publish(ctx, p.ID, noon)))
		},
		"join a group": func(ctx context.Context) error {
			err := s.Join(ctx, newcomer("b7d1e2f3-1c2d-4e5f-8a9b-0c1d2e3f4a5b"))
			another := newcomer("c8e2f3a4-1c2d-4e5f-8a9b-0c1d2e3f4a5b")
			another.GroupName, another.GroupVersion, another.UserName, another.UserVersion = "Cooks of the town", 1, "Eva", 1
			event := check.Must(streamtest.Transact(quiet, tabletest.Client(t), s.Table, s.Memberships.CreateOps(&another)...))(t)
			return errors.Join(err, measured.Handle(ctx, router, event))
		},
		"record a metric": func(ctx context.Context) error {
			return s.Record(ctx, store.Point{Source: ana.ID, Name: "latency", At: noon, Value: 12.5})
		},
	})
}
