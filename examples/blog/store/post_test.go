package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
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

func TestPostsAndCommentsAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t)
	writePost(t, s, "p")
	for i := range 3 {
		check.OK(t, s.AddComment(t.Context(), commentOn("p", i)))
	}
	check.OK(t, s.DeleteComment(t.Context(), store.CommentByAuthorKey(commentOn("p", 0))))
	check.Is(t, s.DeleteComment(t.Context(), store.CommentKey(commentOn("p", 0))), table.ErrNotFound)
	check.Is(t, s.AddPost(t.Context(), store.Post{ID: "p", AuthorID: "p"}, nil), table.ErrExists, "the same post")
	check.Is(t, s.AddPost(t.Context(), store.Post{ID: "q", AuthorID: "nobody"}, nil), store.ErrNoUser, "a post of nobody")
	check.Is(t, s.DeletePost(t.Context(), "none"), table.ErrNotFound)
	check.Equal(t, "comments", check.Must(s.PostWithComments(t.Context(), "p", 1))(t).Post.Comments, 2)
	check.Equal(t, "posts", check.Must(s.User(t.Context(), "p"))(t).Posts, 1)
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
