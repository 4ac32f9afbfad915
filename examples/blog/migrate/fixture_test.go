package migrate_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

// fixture is a blog in old tables and an empty single table.
type fixture struct {
	*migrate.Blog
	store *store.Store
	// old and single break requests to the tables of that name.
	old, single tabletest.Faults
	// service is the same blog in another process, of which lossy breaks the
	// requests to the single table.
	service *migrate.Blog
	lossy   tabletest.Faults
}

func setUp(t *testing.T) *fixture {
	t.Helper()
	var f fixture
	oldClient, singleClient := tabletest.Client(t, f.old.Install), tabletest.Client(t, f.single.Install)
	single := tabletest.NewWith(t, singleClient, store.Schema("Blog"), nil)
	users, posts, comments := migrate.OldSchemas("Blog")
	var old [3]*table.Table
	for i, spec := range []schema.Table{users, posts, comments} {
		old[i] = tabletest.NewWith(t, oldClient, spec, nil)
	}
	elsewhere := check.Must(table.New(tabletest.Client(t, f.lossy.Install), single.Schema(), nil))(t)
	f.service = check.Must(migrate.NewBlog(elsewhere, old[0], old[1], old[2]))(t)
	f.Blog = check.Must(migrate.NewBlog(single, old[0], old[1], old[2]))(t)
	f.advance(t, migrate.Old)
	f.store = check.Must(store.New(single.Consistent(), nil))(t)
	return &f
}

// legacy puts n posts into the old table as they were before the migration:
// old-0 and so on, without a version.
func (f *fixture) legacy(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		p := post(fmt.Sprintf("old-%d", i))
		item := map[string]any{
			"postId": p.ID, "authorId": p.AuthorID, "title": p.Title, "createdAt": p.CreatedAt,
		}
		check.OK(t, f.Posts.Old.Do(t.Context(), table.Put(f.Posts.OldKey(p), item)))
	}
}

func (f *fixture) advance(t *testing.T, p migrate.Phase) {
	t.Helper()
	check.OK(t, f.Users.Advance(t.Context(), p), f.Posts.Advance(t.Context(), p), f.Comments.Advance(t.Context(), p))
}

// title returns the title of a post in the single table, "" if it is not there.
// All of its items must agree.
func (f *fixture) title(t *testing.T, id string) string {
	t.Helper()
	p, err := f.store.Posts.Get(t.Context(), store.PostKey(id))
	q, errCopy := f.store.Posts.Get(t.Context(), store.AuthorKey(post(id)))
	if errors.Is(err, table.ErrNotFound) && errors.Is(errCopy, table.ErrNotFound) {
		return ""
	}
	check.OK(t, err, errCopy)
	check.Equal(t, "the copy by author", q, p)
	return p.Title
}

func (f *fixture) retitle(t *testing.T, id, title string) error {
	t.Helper()
	_, err := f.Posts.Update(t.Context(), post(id), func(p *store.Post) error {
		p.Title = title
		return nil
	})
	return err
}

func post(id string) store.Post {
	return store.Post{ID: id, AuthorID: "ana", Title: "first", CreatedAt: noon}
}

// inside returns a fault that runs do either before the request is sent, or after
// it was executed and before its response is returned.
func inside(before bool, do func()) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if before {
			do()
			return next.RoundTrip(r)
		}
		response, err := next.RoundTrip(r)
		do()
		return response, err
	}
}

// silent is a reporter that lets everything pass.
type silent struct{}

func (silent) Page(string, backfill.Progress) error    { return nil }
func (silent) Verified(migrate.Phase, backfill.Report) {}
func pass(string, backfill.Progress) error             { return nil }

// clean verifies the posts, of which none must be missing in the single table.
func (f *fixture) clean(t *testing.T, posts int64) {
	t.Helper()
	const fences = 4
	v := check.Must(f.Posts.Verify(t.Context()))(t)
	check.Equal(t, "verified and copied", []int64{v.Matched, v.Changed}, []int64{posts + fences, 0})
}
