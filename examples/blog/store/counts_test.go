package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// writePost creates a user of that id and a post of theirs with that id.
func writePost(t *testing.T, s *store.Store, id string) {
	t.Helper()
	check.OK(t,
		s.AddUser(t.Context(), store.User{ID: id, Email: id + "@example.com", Name: "Ana"}),
		s.AddPost(t.Context(), store.Post{ID: id, AuthorID: id, Title: "A day", CreatedAt: noon}, nil))
}

func commentOn(post string, i int) store.Comment {
	return store.Comment{ID: fmt.Sprint("c", i), PostID: post, AuthorID: post, Text: "Nice", CreatedAt: noon.Add(time.Duration(i) * time.Second)}
}

// counted fails the test unless the post has that many comments, by its count and by its
// list.
func counted(t *testing.T, s *store.Store, post string, want int) {
	t.Helper()
	page := check.Must(s.PostWithComments(t.Context(), post, 1000))(t)
	check.Equal(t, "count of comments", page.CommentCount, int64(want))
	check.Equal(t, "comments", len(page.Comments), want)
}

func TestCommentsAreCountedByManyWriters(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := openOn(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("Blog"), nil))
	writePost(t, s, "p")
	const writers, each = 64, 4
	before := len(faults.Requests())
	check.OK(t, check.Errors(writers, func(w int) error {
		for i := range each {
			if err := persist(func() error { return s.AddComment(t.Context(), commentOn("p", w*each+i)) }); err != nil {
				return err
			}
		}
		return nil
	})...)
	counted(t, s, "p", writers*each)
	t.Logf("%.2f requests for each of %d comments by %d writers", float64(len(faults.Requests())-before)/(writers*each), writers*each, writers)
	// Half of them are deleted, each by two writers at the same time.
	check.OK(t, check.Errors(writers, func(w int) error {
		for i := range each {
			err := persist(func() error { return s.DeleteComment(t.Context(), store.CommentKey(commentOn("p", w/2*each+i))) })
			if err != nil && !errors.Is(err, table.ErrNotFound) {
				return err
			}
		}
		return nil
	})...)
	counted(t, s, "p", writers*each/2)
}

func TestPostsAreCountedByManyWriters(t *testing.T) {
	t.Parallel()
	s := open(t)
	check.OK(t, s.AddUser(t.Context(), store.User{ID: "ana", Email: "ana@example.com"}))
	const writers = 64
	post := func(i int) store.Post {
		return store.Post{ID: fmt.Sprint("p", i), AuthorID: "ana", CreatedAt: noon}
	}
	check.OK(t, check.Errors(writers, func(i int) error {
		return persist(func() error { return s.AddPost(t.Context(), post(i), nil) })
	})...)
	check.OK(t, check.Errors(writers/2, func(i int) error {
		return persist(func() error { return s.DeletePost(t.Context(), post(i).ID) })
	})...)
	check.Equal(t, "posts", check.Must(s.PostCount(t.Context(), "ana"))(t), writers/2)
	check.Equal(t, "list", len(all(t, s.Posts, store.PostsQuery("ana"), postID)), writers/2)

	check.Is(t, s.AddPost(t.Context(), post(writers-1), nil), table.ErrExists, "the same post")
	check.Is(t, s.AddPost(t.Context(), store.Post{ID: "p", AuthorID: "nobody"}, nil), table.ErrNotFound, "a post of nobody")
	check.Is(t, s.DeletePost(t.Context(), "none"), table.ErrNotFound)
	check.Equal(t, "posts", check.Must(s.PostCount(t.Context(), "ana"))(t), writers/2)
}

func TestADeletedPostTakesItsCommentsAndCountsAlong(t *testing.T) {
	t.Parallel()
	s := open(t)
	writePost(t, s, "p")
	for i := range 5 {
		check.OK(t, s.AddComment(t.Context(), commentOn("p", i)))
	}
	p := check.Must(s.Posts.Get(t.Context(), store.PostKey("p")))(t)
	check.OK(t, s.DeletePost(t.Context(), "p"))
	check.Is(t, s.AddComment(t.Context(), commentOn("p", 5)), table.ErrNotFound, "a comment on a deleted post")
	check.OK(t, s.DeleteComment(t.Context(), store.CommentByAuthorKey(commentOn("p", 4))))

	// The change of a deletion, made on a post that is there for the event only.
	check.OK(t, s.Posts.Create(t.Context(), &p))
	gone := check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Posts.DeleteOps(p)...))(t)
	check.Deliver(t, routerOf(t, s), gone)
	check.Deliver(t, routerOf(t, s), gone)
	check.Equal(t, "items of the post", len(check.Must(table.Collect(table.All[table.Item](t.Context(), s.Table.Consistent(), table.Query{PK: store.PostPrefix.PK("p")})))(t)), 0)
	check.Equal(t, "comments of the author", all(t, s.Comments, store.CommentsByAuthorQuery("p"), commentID), []string(nil))
}

// Comments that were not counted, as a migration leaves them, are counted.
func TestARecountHeals(t *testing.T) {
	t.Parallel()
	s := open(t)
	writePost(t, s, "p")
	for i := range 30 {
		c := commentOn("p", i)
		check.OK(t, s.Comments.Create(t.Context(), &c))
	}
	check.OK(t, s.RecountPost(t.Context(), "p"))
	counted(t, s, "p", 30)

	wrong := table.Update(keys.Key{PK: keys.User.PK("p"), SK: "COUNTS"}, expression.Set(expression.Name("postCount"), expression.Value(7)))
	check.OK(t, s.Table.Do(t.Context(), wrong), s.RecountUser(t.Context(), "p"))
	check.Equal(t, "posts", check.Must(s.PostCount(t.Context(), "p"))(t), 1)
}

func TestAnEmailAddressHasOneUser(t *testing.T) {
	t.Parallel()
	s := open(t)
	errs := check.Errors(16, func(i int) error {
		return persist(func() error {
			return s.AddUser(t.Context(), store.User{ID: fmt.Sprint("u", i), Email: strings.ToUpper("ana@example.com"), Name: "Ana"})
		})
	})
	added := 0
	for _, err := range errs {
		if err == nil {
			added++
		} else {
			check.Is(t, err, store.ErrEmailTaken)
		}
	}
	check.Equal(t, "users with the address", added, 1)
	u := check.Must(s.Users.GetByClaim(t.Context(), store.EmailKey("ana@example.com")))(t)
	setEmail := func(email string) func(*store.User) { return func(u *store.User) { u.Email = email } }
	check.OK(t, check.Err(s.ChangeUser(t.Context(), u.ID, setEmail(" Anna@example.com"))))
	check.OK(t, s.AddUser(t.Context(), store.User{ID: "eva", Email: "ana@example.com"}))
	check.Is(t, check.Err(s.ChangeUser(t.Context(), "eva", setEmail("anna@example.com"))), store.ErrEmailTaken)
	check.Is(t, s.AddUser(t.Context(), store.User{ID: "eva", Email: "eva@example.com"}), table.ErrExists)
	check.OK(t, s.AddUser(t.Context(), store.User{ID: "rene", Email: "ren\u00e9@example.com"}))
	check.Is(t, s.AddUser(t.Context(), store.User{ID: "x", Email: "rene\u0301@example.com"}), store.ErrEmailTaken)
	for _, email := range []string{"", "ana", "ana@", "Ana <ana@example.com>"} {
		check.Is(t, s.AddUser(t.Context(), store.User{ID: "x", Email: email}), store.ErrInvalidEmail, email)
	}
}
