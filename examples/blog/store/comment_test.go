package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// faultyStore returns the same store by a client that meets the faults and does not
// retry.
func faultyStore(t *testing.T, s *store.Store, faults *tabletest.Faults) *store.Store {
	t.Helper()
	noRetry := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
	return openOn(t, check.Must(table.New(tabletest.Client(t, faults.Install, noRetry), s.Table.Schema(), &table.Options{MaxAttempts: 1}))(t))
}

func routerOf(t *testing.T, s *store.Store) *stream.Router {
	t.Helper()
	if s.Objects == nil {
		s.Objects = directory(t)
	}
	return check.Must(s.Router())(t)
}

// writeComments creates a user Ana of that id, a post, and n comments of hers.
func writeComments(t *testing.T, s *store.Store, user string, n int) {
	t.Helper()
	bob := "bob-" + user
	check.OK(t, s.Users.Create(t.Context(), &store.User{ID: user, Name: "Ana"}), s.Users.Create(t.Context(), &store.User{ID: bob}))
	check.OK(t, s.Posts.Create(t.Context(), &store.Post{ID: "p-" + user, AuthorID: bob, Title: "A day", CreatedAt: noon, PublishedAt: &noon}))
	for i := range n {
		check.OK(t, s.AddComment(t.Context(), comment(user, i)))
	}
}

func comment(user string, i int) store.Comment {
	return store.Comment{
		ID: fmt.Sprintf("c%d", i), PostID: "p-" + user, AuthorID: user, Text: "Nice", CreatedAt: noon.Add(time.Duration(i) * time.Minute),
	}
}

// rename gives a user another name and returns the event of it.
func rename(t *testing.T, s *store.Store, user, name string) json.RawMessage {
	t.Helper()
	old := check.Must(s.Users.Consistent().Get(t.Context(), store.UserKey(user)))(t)
	renamed := old
	renamed.Name = name
	return check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Users.UpdateOps(old, &renamed)...))(t)
}

// names returns the names in all comments of a user, as the lists of the post and of
// the author have them. Both must be equal.
func names(t *testing.T, s *store.Store, user string) []string {
	t.Helper()
	name := func(c store.Comment) string { return c.AuthorName }
	ofPost := all(t, s.Comments.Consistent(), store.CommentsQuery("p-"+user), name)
	check.Equal(t, "names in the author's list", all(t, s.Comments.Consistent(), store.CommentsByAuthorQuery(user), name), ofPost)
	return ofPost
}

func times(n int, name string) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = name
	}
	return names
}

func TestACommentHasTheNameAndTheAvatarOfItsAuthor(t *testing.T) {
	t.Parallel()
	s := open(t)
	check.OK(t, s.Users.Create(t.Context(), &store.User{ID: "ana", Name: "Ana", Avatar: "https://example.com/ana.png"}))
	check.OK(t, s.Users.Create(t.Context(), &store.User{ID: "bob"}))
	check.OK(t, s.Posts.Create(t.Context(), &store.Post{ID: "p-ana", AuthorID: "bob", CreatedAt: noon, PublishedAt: &noon}))
	check.OK(t, s.AddComment(t.Context(), comment("ana", 0)))
	comments := func() []store.Comment {
		return check.Must(s.PostWithComments(t.Context(), "p-ana", 1))(t).Comments
	}
	want := comment("ana", 0)
	want.AuthorName, want.AuthorAvatar, want.AuthorVersion, want.Version = "Ana", "https://example.com/ana.png", 1, 1
	check.Equal(t, "the comment", comments(), []store.Comment{want})

	router := routerOf(t, s)
	user := check.Must(s.Users.Get(t.Context(), store.UserKey("ana")))(t)
	bald := user
	bald.Avatar = ""
	check.Deliver(t, router, check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Users.UpdateOps(user, &bald)...))(t))
	want.AuthorAvatar, want.AuthorVersion, want.Version = "", 2, 2
	check.Equal(t, "the comment without an avatar", comments(), []store.Comment{want})

	check.Is(t, s.AddComment(t.Context(), comment("nobody", 0)), table.ErrNotFound, "a comment of nobody")
}

// The comments are longer than a response of a query, which has 1 MB.
func TestARenameReachesAllCommentsOfTheAuthorAndNoOthers(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := openOn(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("Blog"), nil))
	writeComments(t, s, "ana", 0)
	writeComments(t, s, "eva", 2)
	const n = 80
	check.OK(t, errors.Join(check.Errors(8, func(writer int) error {
		for i := writer; i < n; i += 8 {
			c := comment("ana", i)
			c.Text = strings.Repeat("long ", 4_000)
			if err := s.AddComment(t.Context(), c); err != nil {
				return err
			}
		}
		return nil
	})...))
	event := rename(t, s, "ana", "Anna")
	before := len(faults.Requests("Query"))
	check.Equal(t, "deliveries", check.Deliver(t, routerOf(t, s), event), 1)
	if queries := len(faults.Requests("Query")) - before; queries < 2 {
		t.Errorf("%d queries: not more than a page", queries)
	}
	check.Equal(t, "names of Ana", names(t, s, "ana"), times(n, "Anna"))
	check.Equal(t, "names of Eva", names(t, s, "eva"), times(2, "Ana"))
}

func TestARepeatedRenameWritesNothing(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := open(t)
	faulty := faultyStore(t, s, &faults)
	writeComments(t, s, "ana", 3)
	event := rename(t, s, "ana", "Anna")
	router := routerOf(t, faulty)
	for range 3 {
		check.Deliver(t, router, event)
	}
	check.Equal(t, "names", names(t, s, "ana"), times(3, "Anna"))
	check.Equal(t, "writes", len(faults.Requests("TransactWriteItems")), 3)
	// For each delivery, the user twice, the comments and the memberships; and each
	// comment and its copy before its write.
	check.Equal(t, "requests", len(faults.Requests()), 3*4+3+3+3)
}

// A comment is created with a name that its writer has read before a rename. The
// rename does not find it, since it is not there yet.
func TestACommentWithAnOldNameIsRefreshed(t *testing.T) {
	t.Parallel()
	s := open(t)
	writeComments(t, s, "ana", 1)
	router := routerOf(t, s)
	check.Deliver(t, router, rename(t, s, "ana", "Anna"))
	c := comment("ana", 1)
	c.AuthorName, c.AuthorVersion = "Ana", 1
	event := check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Comments.CreateOps(&c)...))(t)
	check.Equal(t, "names before", names(t, s, "ana"), []string{"Ana", "Anna"})
	check.Deliver(t, router, event)
	check.Equal(t, "names", names(t, s, "ana"), times(2, "Anna"))
}

func TestADeletedCommentAndADeletedAuthorAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := open(t)
	writeComments(t, s, "ana", 2)
	event := rename(t, s, "ana", "Anna")
	// Deleted after the refresh has found it.
	faults.Next("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		check.OK(t, s.Comments.Delete(t.Context(), store.CommentKey(comment("ana", 1))))
		return response, err
	})
	check.Equal(t, "deliveries", check.Deliver(t, routerOf(t, faultyStore(t, s, &faults)), event), 1)
	check.Equal(t, "names", names(t, s, "ana"), times(1, "Anna"))

	event = rename(t, s, "ana", "Annie")
	ana := check.Must(s.Users.Get(t.Context(), store.UserKey("ana")))(t)
	gone := check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Users.DeleteOps(ana)...))(t)
	router := routerOf(t, s)
	check.Deliver(t, router, event)
	check.Deliver(t, router, gone)
	check.Equal(t, "names", names(t, s, "ana"), times(1, "Anna"))
}
