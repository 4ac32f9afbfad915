package migrate_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/blog/migrate"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var errKilled = errors.New("killed")

func TestABackfillGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 60)
	_, err := f.Posts.Backfill(t.Context(), pass)
	check.Is(t, err, migrate.ErrPhase) // writers do not write twice yet

	f.advance(t, migrate.Dual)
	f.old.Always("Scan", ofSegment0)
	p, err := f.Posts.Backfill(t.Context(), func(kind string, _ backfill.Progress) error {
		check.Equal(t, "kind", kind, "posts")
		return errKilled
	})
	f.old.Always("Scan", nil)
	check.Is(t, err, errKilled)
	if p.SegmentsDone < 1 || p.SegmentsDone == p.Segments {
		t.Errorf("when it was interrupted: %v", p)
	}
	done := p.Changed

	// Then the permission to write is gone.
	f.single.Always("TransactWriteItems", tabletest.Status(400, "AccessDeniedException", "Injected."))
	if _, err = f.Posts.Backfill(t.Context(), pass); err == nil {
		t.Fatal("the backfill was not interrupted")
	}
	f.single.Always("TransactWriteItems", nil)

	p = check.Must(f.Posts.Backfill(t.Context(), pass))(t)
	if p.Changed < 60-done || p.Changed > 60 || p.SetAside != 0 || p.SegmentsDone != p.Segments {
		t.Errorf("at the end: %v", p)
	}
	requests := len(f.old.Requests("Scan"))
	again := check.Must(f.Posts.Backfill(t.Context(), pass))(t)
	check.Equal(t, "again", again, p)
	check.Equal(t, "scans of one that is done", len(f.old.Requests("Scan")), requests)
	f.clean(t, 60)
}

// ofSegment0 lets the scan of one segment come to its end, and those of the others wait until
// they are given up.
func ofSegment0(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"Segment":0`)) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return next.RoundTrip(r)
}

func TestTheSingleTableIsNeverScanned(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 3)
	check.OK(t, f.Run(t.Context(), silent{}))
	check.Equal(t, "scans of the single table", len(f.single.Requests("Scan")), 0)
}

// An item that is no post stops the migration. Nothing is passed over.
func TestAnItemThatCannotBeCopiedStopsTheMigration(t *testing.T) {
	t.Parallel()
	f := setUp(t)
	f.legacy(t, 1)
	bad := map[string]any{"postId": "bad", "authorId": "ana", "createdAt": "yesterday"}
	check.OK(t, f.Posts.Old.Do(t.Context(), table.Put(f.Posts.OldKey(post("bad")), bad)))
	if err := f.Posts.Run(t.Context(), silent{}); err == nil {
		t.Error("the migration went on")
	}
	check.Equal(t, "phase", check.Must(f.Posts.Phase(t.Context()))(t), migrate.Dual)

	bad["createdAt"] = noon
	check.OK(t, f.Posts.Old.Do(t.Context(), table.Put(f.Posts.OldKey(post("bad")), bad)), f.Posts.Run(t.Context(), silent{}))
	check.Equal(t, "version", check.Must(f.store.Posts.Get(t.Context(), store.PostKey("bad")))(t).AuthorID, "ana")
}
