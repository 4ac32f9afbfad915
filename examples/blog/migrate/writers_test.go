package migrate_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"testing"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

// interrupter kills the migration after each of its first pages, and lets the
// writers write between all of its steps.
type interrupter struct {
	pages, kills int
	writersWrite func()
	stopLosing   func()
}

func (i *interrupter) Page(string, backfill.Progress) error {
	i.writersWrite()
	if i.pages++; i.pages <= 2 {
		i.kills++
		return errKilled
	}
	return nil
}

func (i *interrupter) Verified(phase migrate.Phase, _ backfill.Report) {
	i.writersWrite()
	if phase == migrate.Dual {
		i.stopLosing()
	}
}

// writer writes posts through the records. It knows what it was told: the last
// acknowledged title of each post of its own, and the deleted ones.
type writer struct {
	blog              *migrate.Blog
	number            int
	titles            map[string]string
	rounds, notCopied int
	// tick gives the end of a round to whom it may concern.
	tick chan struct{}
}

// round creates a post, changes it and a legacy one, and deletes every fourth.
func (w *writer) round(t *testing.T, n int) {
	id, title := fmt.Sprintf("new-%d-%d", w.number, n), fmt.Sprintf("by %d in %d", w.number, n)
	w.done(t, id, "first", w.blog.Posts.Create(t.Context(), post(id)))
	w.done(t, id, title, w.retitle(t, id, title))
	// No other writer writes this one.
	old := fmt.Sprintf("old-%d", w.number+writers*(n%(legacyPosts/writers)))
	if w.titles[old] != "" || n < legacyPosts/writers {
		w.done(t, old, title, w.retitle(t, old, title))
	}
	switch n % 4 {
	case 1:
		w.done(t, id, "", w.blog.Posts.Delete(t.Context(), post(id)))
	case 3:
		w.done(t, old, "", w.blog.Posts.Delete(t.Context(), post(old)))
	}
	_, err := w.blog.Posts.Update(t.Context(), post("shared"), func(p *store.Post) error {
		p.Title += "."
		return nil
	})
	w.done(t, "", "", err)
	w.rounds++
}

func (w *writer) retitle(t *testing.T, id, title string) error {
	_, err := w.blog.Posts.Update(t.Context(), post(id), func(p *store.Post) error {
		p.Title = title
		return nil
	})
	return err
}

func (w *writer) done(t *testing.T, id, title string, err error) {
	if errors.Is(err, migrate.ErrNotCopied) {
		w.notCopied++
	} else if err != nil {
		t.Errorf("writer %d, %s: %v", w.number, id, err)
	}
	w.titles[id] = title
}

// run writes until it is stopped.
func (w *writer) run(t *testing.T, stop <-chan struct{}) {
	for n := 0; ; n++ {
		w.round(t, n)
		select {
		case <-stop:
			return
		case w.tick <- struct{}{}:
		default:
		}
	}
}

const (
	writers     = 4
	legacyPosts = 60
)

func TestNothingIsLostWhileWritersWrite(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, legacyPosts)
	shared := post("shared")
	shared.Title = ""
	check.OK(t, f.Posts.Create(t.Context(), shared))
	// Until the cut-over begins, some copies of the service are lost for good: it
	// is told, and goes on.
	lost := regexp.MustCompile(`"by \d in \d*[27]"`)
	f.lossy.Always("TransactWriteItems", tabletest.Match(func(r tabletest.Request) bool {
		return lost.Match(r.Body)
	}, tabletest.DropRequest()))

	stop := make(chan struct{})
	var wg sync.WaitGroup
	all := make([]*writer, writers)
	for i := range all {
		all[i] = &writer{blog: f.service, number: i, titles: map[string]string{}, tick: make(chan struct{})}
		wg.Go(func() { all[i].run(t, stop) })
	}
	to := &interrupter{
		// Every writer writes between the steps of the migration, and during them.
		writersWrite: func() {
			for _, w := range all {
				<-w.tick
			}
		},
		stopLosing: func() { f.lossy.Always("TransactWriteItems", nil) },
	}
	err := f.Posts.Run(t.Context(), to)
	for errors.Is(err, errKilled) {
		err = f.Posts.Run(t.Context(), to)
	}
	close(stop)
	wg.Wait()
	check.OK(t, err)
	check.Equal(t, "interruptions", to.kills, 2)
	phase := check.Must(f.Posts.Phase(t.Context()))(t)
	check.Equal(t, "phase", phase, migrate.New)
	checkWritten(t, f, all)
}

// checkWritten looks every acknowledged write up in the single table.
func checkWritten(t *testing.T, f *fixture, all []*writer) {
	t.Helper()
	want, rounds, notCopied := map[string]string{}, 0, 0
	for i := range legacyPosts {
		want[fmt.Sprintf("old-%d", i)] = "first"
	}
	for _, w := range all {
		rounds, notCopied = rounds+w.rounds, notCopied+w.notCopied
		maps.Copy(want, w.titles)
	}
	delete(want, "")
	got := map[string]string{}
	for id := range want {
		got[id] = f.title(t, id)
	}
	check.Equal(t, "titles", got, want)
	check.Equal(t, "updates of the shared post", len(f.title(t, "shared")), rounds)
	if notCopied == 0 {
		t.Error("no copy was lost")
	}
	t.Logf("%d rounds, %d posts, %d copies lost", rounds, len(want), notCopied)
}
