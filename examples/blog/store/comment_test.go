package store_test

import (
	"context"
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
	"github.com/singletable/singletable/examples/internal/program/programtest"
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
	return check.Must(s.Router())(t)
}

// writeComments creates a user Ana of that id, a post, and n comments of hers.
func writeComments(t *testing.T, s *store.Store, user string, n int) {
	t.Helper()
	check.OK(t, s.Users.Create(t.Context(), &store.User{ID: user, Name: "Ana"}))
	check.OK(t, s.Posts.Create(t.Context(), &store.Post{ID: "p-" + user, AuthorID: "bob", Title: "A day", CreatedAt: noon, PublishedAt: &noon}))
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
	// comment before its write.
	check.Equal(t, "requests", len(faults.Requests()), 3*4+3+3)
}

// The consumer is killed before and after each of its requests, and its event is
// delivered again.
func TestARenameSurvivesAKillAtEachRequest(t *testing.T) {
	t.Parallel()
	s := open(t)
	again := routerOf(t, s)
	const n = 3
	for name, kill := range map[string]tabletest.Fault{"before": tabletest.DropRequest(), "after": tabletest.DropResponse()} {
		for passed := 0; ; passed++ {
			user := fmt.Sprintf("ana-%s-%d", name, passed)
			writeComments(t, s, user, n)
			event := rename(t, s, user, "Anna")
			var faults tabletest.Faults
			faults.Next("", append(make([]tabletest.Fault, passed), kill)...)
			faults.Always("", tabletest.DropRequest())
			response := check.Must(routerOf(t, faultyStore(t, s, &faults)).Handle(t.Context(), event))(t)
			handled := len(response.BatchItemFailures) == 0
			check.Deliver(t, again, event)
			check.Equal(t, "names", names(t, s, user), times(n, "Anna"))
			if handled {
				if passed < 2+2*n {
					t.Errorf("%s: handled after %d requests", name, passed)
				}
				break
			}
		}
	}
}

func TestTwoRenamesEndWithTheLastName(t *testing.T) {
	t.Parallel()
	s := open(t)
	router := routerOf(t, s)
	for name, order := range map[string][]int{"in order": {0, 1}, "reversed": {1, 0}, "repeated": {0, 1, 0}} {
		user := "ana-" + strings.ReplaceAll(name, " ", "-")
		writeComments(t, s, user, 2)
		events := []json.RawMessage{rename(t, s, user, "Anna"), rename(t, s, user, "Annie")}
		for _, i := range order {
			check.Deliver(t, router, events[i])
		}
		check.Equal(t, "names "+name, names(t, s, user), times(2, "Annie"))
	}
}

// A refresh has read the name between two renames and writes after the second one. The
// last name is the first one again, so that the comments already have it.
func TestALateRefreshDoesNotOverwriteALaterName(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := open(t)
	writeComments(t, s, "ana", 2)
	event := rename(t, s, "ana", "Anna")
	router := routerOf(t, s)
	faults.Next("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		check.Deliver(t, router, rename(t, s, "ana", "Ana"))
		return response, err
	})
	check.Deliver(t, routerOf(t, faultyStore(t, s, &faults)), event)
	check.Equal(t, "names", names(t, s, "ana"), times(2, "Ana"))
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

// Users rename themselves and comment, while two processes read the stream. The one that
// has the shard ends in the middle, and the other one takes over.
func TestTwoReadersOfWhichOneEndsRefreshAllComments(t *testing.T) {
	t.Parallel()
	const users, rounds = 3, 6
	s := open(t)
	for i := range users {
		writeComments(t, s, fmt.Sprint("u", i), 1)
	}
	reader := stream.Reader{Name: "names", Router: routerOf(t, s), Client: streamtest.Client(tabletest.Client(t)), Interval: 10 * time.Millisecond}

	last := fmt.Sprint("name ", rounds)
	programtest.Takeover(t, 20, 2*users, func(writer int, ended <-chan struct{}) error {
		user := fmt.Sprint("u", writer/2)
		for round := range rounds {
			if round == rounds-1 {
				<-ended
			}
			var err error
			if writer%2 == 0 {
				_, err = s.Rename(t.Context(), user, fmt.Sprint("name ", round+1))
			} else {
				err = s.AddComment(t.Context(), comment(user, round+1))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context) (bool, error) { return haveName(ctx, s, users, last) }, reader)
	for i := range users {
		check.Equal(t, "names", names(t, s, fmt.Sprint("u", i)), times(1+rounds, last))
	}
}

// haveName reports whether all comments of the users u0, u1 and so on have a name.
func haveName(ctx context.Context, s *store.Store, users int, name string) (bool, error) {
	for i := range users {
		for c, err := range s.Comments.Consistent().All(ctx, store.CommentsByAuthorQuery(fmt.Sprint("u", i))) {
			if err != nil || c.AuthorName != name {
				return false, err
			}
		}
	}
	return true, nil
}
