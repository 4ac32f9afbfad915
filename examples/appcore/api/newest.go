package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

const (
	// newestFor is how old a first page of the newest transactions may become,
	// here and at the client together.
	newestFor = 2 * time.Second
	// newestTimeout limits a read of it, which no single client can cancel.
	newestTimeout = 5 * time.Second
)

// newestTransactions lists the transactions of all users. The first page is the
// same for all roles that may read the list, and they all ask for it. So it is kept
// for [newestFor]. The role is checked before.
func (a *API) newestTransactions(w http.ResponseWriter, r *http.Request, user string) error {
	asked, err := httpapi.PageOf(r, core.DefaultNewest)
	if err != nil {
		return err
	}
	read := func(ctx context.Context) ([]byte, error) {
		service, err := a.lists(ctx)
		if err != nil {
			return nil, err
		}
		p, err := service.Newest(ctx, core.List{User: user, Limit: asked.Limit, After: asked.After})
		if err != nil {
			return nil, err
		}
		return httpapi.Encode(listOf(p, transactionOf))
	}
	if asked.After != "" {
		body, err := read(r.Context())
		if err != nil {
			return err
		}
		httpapi.Write(w, http.StatusOK, body)
		return nil
	}
	page, err := a.newest.get(r.Context(), asked.Limit, read)
	if err != nil {
		return err
	}
	// What is left of its time, rounded down. A browser must not show the page to
	// whoever signs in next.
	left := max(0, newestFor-a.newest.age(page))
	w.Header().Set("Cache-Control", fmt.Sprintf("private, max-age=%d", left/time.Second))
	w.Header().Set("Vary", "Authorization")
	httpapi.Write(w, http.StatusOK, page.body)
	return nil
}

// firstPages keeps the first pages of a list, one for each limit that is valid. It
// is safe for concurrent use.
type firstPages struct {
	now     func() time.Time
	flights singleflight.Group
	mu      sync.Mutex
	pages   map[int]firstPage
}

// firstPage is a page that was read no earlier than at a time.
type firstPage struct {
	body []byte
	read time.Time
}

func newFirstPages(now func() time.Time) *firstPages {
	// The monotonic clock stops while a Lambda function is frozen.
	return &firstPages{now: func() time.Time { return now().Round(0) }, pages: map[int]firstPage{}}
}

func (f *firstPages) age(p firstPage) time.Duration { return f.now().Sub(p.read) }

// get returns the page that is kept, or reads it. Callers at the same time share
// one read, which goes on if the first of them goes away. An error is for them all
// and is not kept.
func (f *firstPages) get(
	ctx context.Context, limit int, read func(context.Context) ([]byte, error),
) (firstPage, error) {
	if p, found := f.fresh(limit); found {
		return p, nil
	}
	flight := f.flights.DoChan(strconv.Itoa(limit), func() (any, error) {
		if p, found := f.fresh(limit); found { // the flight before has just ended
			return p, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), newestTimeout)
		defer cancel()
		return f.load(ctx, limit, read)
	})
	select {
	case result := <-flight:
		p, _ := result.Val.(firstPage)
		return p, result.Err
	case <-ctx.Done():
		return firstPage{}, fmt.Errorf("%w: %w", core.ErrUnavailable, context.Cause(ctx))
	}
}

func (f *firstPages) fresh(limit int) (firstPage, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, found := f.pages[limit]
	age := f.age(p) // negative if the clock was set back
	return p, found && age >= 0 && age < newestFor
}

// load reads a page and keeps it. A panic would end the process, since it is not
// in a goroutine of the server.
func (f *firstPages) load(
	ctx context.Context, limit int, read func(context.Context) ([]byte, error),
) (p firstPage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %.1000s\n%s", fmt.Sprint(v), debug.Stack())
		}
	}()
	p.read = f.now()
	if p.body, err = read(ctx); err != nil {
		return firstPage{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages[limit] = p
	return p, nil
}
