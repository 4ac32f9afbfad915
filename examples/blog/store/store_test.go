package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) *store.Store {
	t.Helper()
	return openOn(t, tabletest.New(t, store.Schema("Blog"), nil))
}

func openOn(t *testing.T, tbl *table.Table) *store.Store {
	t.Helper()
	s, err := store.New(tbl)
	must(t, err)
	return s
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// all reads a query and returns what name makes of its items.
func all[T, N any](t *testing.T, r *repo.Repo[T], q table.Query, name func(T) N) []N {
	t.Helper()
	found, err := table.Collect(r.All(t.Context(), q))
	must(t, err)
	var names []N
	for _, v := range found {
		names = append(names, name(v))
	}
	return names
}

// together runs n functions at the same time.
func together(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func postID(p store.Post) string       { return p.ID }
func commentID(c store.Comment) string { return c.ID }

// writePosts stores posts p0 to p<n-1>, a day apart.
func writePosts(t *testing.T, s *store.Store, n int) {
	t.Helper()
	for i := range n {
		must(t, s.Posts.Create(t.Context(), new(store.Post{
			ID: fmt.Sprintf("p%d", i), AuthorID: "ana", Title: "A day", CreatedAt: noon.AddDate(0, 0, i),
		})))
	}
}

func TestPostsAndCommentsComeNewestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	writePosts(t, s, 3)
	for i := range 5 {
		must(t, s.AddComment(t.Context(), store.Comment{
			ID: fmt.Sprintf("c%d", i), PostID: "p0", AuthorID: "bob", CreatedAt: noon.Add(time.Duration(i) * time.Hour),
		}))
	}
	equal(t, "posts", all(t, s.Posts, store.PostsQuery("ana"), postID), []string{"p2", "p1", "p0"})

	q := store.CommentsQuery("p0")
	q.Limit = 2
	var pages [][]string
	for {
		page, err := s.Comments.Query(t.Context(), q)
		must(t, err)
		var ids []string
		for _, c := range page.Items {
			ids = append(ids, c.ID)
		}
		pages = append(pages, ids)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	equal(t, "pages of comments", pages, [][]string{{"c4", "c3"}, {"c2", "c1"}, {"c0"}})

	post, comments, err := s.PostWithComments(t.Context(), "p0", 2)
	must(t, err)
	equal(t, "post with comments", []string{post.ID, comments[0].ID, comments[1].ID}, []string{"p0", "c4", "c3"})
}

func TestACommentNeedsItsPost(t *testing.T) {
	t.Parallel()
	s := open(t)
	is(t, s.AddComment(t.Context(), store.Comment{ID: "c", PostID: "none", CreatedAt: noon}), table.ErrNotFound)
	equal(t, "comments", all(t, s.Comments, store.CommentsQuery("none"), commentID), []string(nil))
	_, _, err := s.PostWithComments(t.Context(), "none", 1)
	is(t, err, table.ErrNotFound)
}

func TestOnlyPublishedPostsAreInTheIndex(t *testing.T) {
	t.Parallel()
	s := open(t)
	writePosts(t, s, 4)
	for i, id := range []string{"p3", "p0", "p2"} {
		_, err := s.Publish(t.Context(), id, noon.AddDate(1, 0, i))
		must(t, err)
	}
	equal(t, "published", all(t, s.Posts, store.PublishedQuery(), postID), []string{"p2", "p0", "p3"})

	_, err := s.Unpublish(t.Context(), "p0")
	must(t, err)
	equal(t, "published", all(t, s.Posts, store.PublishedQuery(), postID), []string{"p2", "p3"})
	stored, err := table.Get[table.Item](t.Context(), s.Table, store.PostKey("p0"))
	must(t, err)
	for _, attribute := range []string{"publishedPK", "publishedSK", "publishedAt"} {
		if _, left := stored[attribute]; left {
			t.Errorf("the draft still has %s", attribute)
		}
	}
	// Both copies of the post have changed.
	byAuthor, err := s.Posts.Get(t.Context(), store.AuthorKey(store.Post{ID: "p0", AuthorID: "ana", CreatedAt: noon}))
	must(t, err)
	equal(t, "version by author", byAuthor.Version, int64(3))

	must(t, s.Posts.Delete(t.Context(), store.PostKey("p2")))
	equal(t, "published", all(t, s.Posts, store.PublishedQuery(), postID), []string{"p3"})
}

func TestMetricsAreReadBetweenTwoTimes(t *testing.T) {
	t.Parallel()
	s := open(t)
	var points []store.Point
	for i := range 30 {
		at := noon.Add(time.Duration(i) * time.Minute)
		points = append(points,
			store.Point{Source: "a", Name: "load", At: at, Value: float64(i)},
			store.Point{Source: "b", Name: "load", At: at, Value: -1})
	}
	must(t, s.Record(t.Context(), points...), s.Record(t.Context(), points[:7]...))
	value := func(p store.Point) float64 { return p.Value }
	q := store.PointsQuery("a", "load", noon.Add(10*time.Minute), noon.Add(14*time.Minute))
	equal(t, "values", all(t, s.Points, q, value), []float64{10, 11, 12, 13})

	page, err := s.Points.Query(t.Context(), store.PointsQuery("a", "load", noon, noon))
	must(t, err)
	equal(t, "points of no time", len(page.Items), 0)
}

func TestACounterCountsEveryEventOnce(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := openOn(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("Blog"), nil))
	var mu sync.Mutex
	// Some writes are carried out, their answer is lost, and the SDK repeats
	// them. Each is hit once at most, so that none runs out of attempts.
	sent := map[string]bool{}
	faults.Always("TransactWriteItems", tabletest.Match(func(r tabletest.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		again := sent[string(r.Body)]
		sent[string(r.Body)] = true
		return !again && len(sent)%4 == 0
	}, tabletest.DropResponse()))
	used := map[keys.Key]bool{}
	together(8, func(writer int) {
		for i := range 20 {
			event := fmt.Sprintf("visit-%d-%d", writer, i)
			if err := s.Count(t.Context(), "views", event, 2); err != nil {
				t.Error(err)
			}
			mu.Lock()
			used[store.CounterKey("views", event)] = true
			mu.Unlock()
		}
	})
	total, err := s.Total(t.Context(), "views")
	must(t, err)
	equal(t, "total", total, int64(8*20*2))
	equal(t, "shards", len(used), store.CounterShards)

	none, err := s.Total(t.Context(), "unknown")
	must(t, err)
	equal(t, "a counter that nothing was counted in", none, int64(0))
}
