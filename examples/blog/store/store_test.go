package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
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
	return check.Must(store.New(tbl, nil))(t)
}

// all reads a query and returns what name makes of its items.
func all[T, N any](t *testing.T, r *repo.Repo[T], q table.Query, name func(T) N) []N {
	t.Helper()
	found := check.Must(table.Collect(r.All(t.Context(), q)))(t)
	var names []N
	for _, v := range found {
		names = append(names, name(v))
	}
	return names
}

func postID(p store.Post) string       { return p.ID }
func commentID(c store.Comment) string { return c.ID }

// writePosts stores posts p0 to p<n-1>, a day apart.
func writePosts(t *testing.T, s *store.Store, n int) {
	t.Helper()
	check.OK(t, s.Users.Create(t.Context(), &store.User{ID: "ana"}))
	for i := range n {
		check.OK(t, s.Posts.Create(t.Context(), new(store.Post{
			ID: fmt.Sprintf("p%d", i), AuthorID: "ana", Title: "A day", CreatedAt: noon.AddDate(0, 0, i),
		})))
	}
}

func TestOnlyPublishedPostsAreInTheIndex(t *testing.T) {
	t.Parallel()
	s := open(t)
	writePosts(t, s, 4)
	for i, id := range []string{"p3", "p0", "p2"} {
		check.Must(s.Publish(t.Context(), id, noon.AddDate(1, 0, i)))(t)
	}
	check.Equal(t, "published", all(t, s.Posts, store.PublishedQuery(), postID), []string{"p2", "p0", "p3"})

	check.Must(s.Unpublish(t.Context(), "p0"))(t)
	check.Equal(t, "published", all(t, s.Posts, store.PublishedQuery(), postID), []string{"p2", "p3"})
	stored := check.Must(table.Get[table.Item](t.Context(), s.Table, store.PostKey("p0")))(t)
	for _, attribute := range []string{"publishedPK", "publishedSK", "publishedAt"} {
		if _, left := stored[attribute]; left {
			t.Errorf("the draft still has %s", attribute)
		}
	}
	// Both copies of the post have changed.
	byAuthor := check.Must(s.Posts.Get(t.Context(), store.AuthorKey(store.Post{ID: "p0", AuthorID: "ana", CreatedAt: noon})))(t)
	check.Equal(t, "version by author", byAuthor.Version, int64(3))

	check.OK(t, s.Posts.Delete(t.Context(), store.PostKey("p2")))
	check.Equal(t, "published", all(t, s.Posts, store.PublishedQuery(), postID), []string{"p3"})
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
	check.OK(t, s.Record(t.Context(), points...), s.Record(t.Context(), points[:7]...))
	value := func(p store.Point) float64 { return p.Value }
	q := store.PointsQuery("a", "load", noon.Add(10*time.Minute), noon.Add(14*time.Minute))
	check.Equal(t, "values", all(t, s.Points, q, value), []float64{10, 11, 12, 13})

	page := check.Must(s.Points.Query(t.Context(), store.PointsQuery("a", "load", noon, noon)))(t)
	check.Equal(t, "points of no time", len(page.Items), 0)
}

func TestACounterCountsEveryEventOnce(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := openOn(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("Blog"), nil))
	var mu sync.Mutex
	// Some writes are executed, their response is lost, and the SDK retries
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
	check.Together(8, func(writer int) {
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
	total := check.Must(s.Total(t.Context(), "views"))(t)
	check.Equal(t, "total", total, int64(8*20*2))
	check.Equal(t, "shards", len(used), store.CounterShards)

	none := check.Must(s.Total(t.Context(), "unknown"))(t)
	check.Equal(t, "a counter that nothing was counted in", none, int64(0))
}
