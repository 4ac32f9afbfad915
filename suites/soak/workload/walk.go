package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// turn does one request of a walk under faults. One that fails is repeated, with the same
// cursor if it has one, which must do.
func (w *worker) turn(ctx context.Context, name string, run func(context.Context) error) (err error) {
	for _, line := range [][]nemesis.Fault{w.faults(), nil} {
		var met []nemesis.Fault
		met, err = w.try(ctx, name, line, run)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.down.Load() && err != nil {
			return errDown
		}
		w.checkResponse(operation{name: name}, met, err)
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", w.where(), err)
}

// pages reads the page after a cursor, and returns the cursor of the next one.
type pages func(ctx context.Context, after string) (items []doc, next string, err error)

func (w *worker) queryPages(q table.Query) pages {
	return func(ctx context.Context, after string) ([]doc, string, error) {
		q.After = after
		page, err := table.QueryPage[doc](ctx, w.table, q)
		return page.Items, page.Next, err
	}
}

func shardPages(r *shard.Reader[doc], q shard.Query) pages {
	return func(ctx context.Context, after string) ([]doc, string, error) {
		q.After = after
		page, err := r.Page(ctx, q)
		return page.Items, page.Next, err
	}
}

// all reads all pages.
func (read pages) all(ctx context.Context) ([]doc, error) {
	return read.each(ctx, func([]doc, string) error { return nil })
}

// each reads all pages and calls see after each of them.
func (read pages) each(ctx context.Context, see func(items []doc, next string) error) (all []doc, err error) {
	for after := ""; ; {
		items, next, err := read(ctx, after)
		if err == nil {
			err = see(items, next)
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, items...); next == "" {
			return all, nil
		}
		after = next
	}
}

// turns has each page read under faults of its own.
func (w *worker) turns(name string, read pages) pages {
	return func(ctx context.Context, after string) (items []doc, next string, err error) {
		err = w.turn(ctx, name, func(ctx context.Context) (err error) {
			items, next, err = read(ctx, after)
			return err
		})
		return items, next, err
	}
}

// maxRounds is the default of [table.Options].
const maxRounds = 10

// walk reads a query page by page.
func (w *worker) walk(ctx context.Context) error {
	q := w.anyQuery()
	q.Limit = 1 + w.r.IntN(7)
	if w.r.IntN(10) == 0 {
		q.Limit = 0
	}
	requests := 0
	read := w.turns("QueryPage", func(ctx context.Context, after string) ([]doc, string, error) {
		q.After = after
		page, err := table.QueryPage[doc](ctx, w.table, q.Query)
		requests = page.Stats.Requests
		return page.Items, page.Next, err
	})
	return w.meddled(ctx, "QueryPage", read, q.want, q.about, func(items []doc, next string) {
		if n := len(items); q.Limit > 0 && (n > q.Limit || n < q.Limit && next != "" && requests < maxRounds) {
			w.check(report.Walk, fmt.Errorf("QueryPage: a page of %d, limit %d, after %d requests", n, q.Limit, requests))
		}
		if next != "" && w.r.IntN(3) == 0 {
			w.misuse(ctx, q.Query, next)
		}
	})
}

// meddled reads all pages while items are written between them. What nobody wrote must
// come, in order.
func (w *worker) meddled(ctx context.Context, name string, read pages, want []doc, about []report.Promise, see func(items []doc, next string)) error {
	var between []keys.Key
	have, err := read.each(ctx, func(items []doc, next string) error {
		see(items, next)
		if next == "" || w.r.IntN(3) > 0 {
			return nil
		}
		key, err := w.meddle(ctx, items)
		between = append(between, key)
		return err
	})
	if err != nil {
		return err
	}
	w.checkAll(append(about, report.Walk), wrap(name, checker.Equal(without(have, between), without(want, between))))
	return nil
}

// meddle writes between two pages: it deletes the last item of a page, or puts
// an item anywhere. It returns the key.
func (w *worker) meddle(ctx context.Context, page []doc) (keys.Key, error) {
	key := w.anyKey()
	d := w.doc(key)
	op, item := table.Put(key, d), encode(d)
	if n := len(page); n > 0 && w.r.IntN(2) == 0 {
		key = page[n-1].key()
		op, item = table.Delete(key), nil
	}
	return key, w.do(ctx, operation{
		name: "Do", after: state{key: item},
		run: func(ctx context.Context) error { return w.table.Do(ctx, op) },
	})
}

// without returns items without those under some keys.
func without(docs []doc, ks []keys.Key) []doc {
	return slices.DeleteFunc(slices.Clone(docs), func(d doc) bool { return slices.Contains(ks, d.key()) })
}

// misuse offers a token where it does not belong. It must be refused without a
// request.
func (w *worker) misuse(ctx context.Context, q table.Query, token string) {
	q.After = token
	name := "another scope"
	switch w.r.IntN(7) {
	case 0:
		name, q.PK = "another partition", ownPrefix.PK("other")
	case 1:
		name, q.Range = "another prefix", keys.Prefix("NONE").All()
	case 2:
		name, q.Descending = "another direction", !q.Descending
	case 3:
		name, q.Index = "another index", map[bool]string{true: shardIndex, false: listIndex}[q.Index == listIndex]
	case 4:
		i := w.r.IntN(len(token))
		name, q.After = "one character changed", token[:i]+string(changed(token[i]))+token[i+1:]
	case 5:
		const lifetime = 72 * time.Hour
		name = "too old"
		w.jump(lifetime + time.Second)
		defer w.jump(-lifetime - time.Second)
	default:
		q.Scope += "x"
	}
	page, err := table.QueryPage[doc](w.script.Begin(ctx, nil), w.table, q)
	_, sent := w.script.End()
	var complaint error
	if !errors.Is(err, paginate.ErrInvalidCursor) || sent.Requests > 0 {
		complaint = fmt.Errorf("a token with %s: %d items, error %w, %d requests", name, len(page.Items), orNone(err), sent.Requests)
	}
	w.check(report.Token, complaint)
}

// changed returns another character of a token's alphabet.
func changed(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[(strings.IndexByte(alphabet, c)+7)%len(alphabet)]
}

// jump sets the worker's clock forth or back.
func (w *worker) jump(d time.Duration) {
	w.clock.jump(d)
	w.report.Fault(string(nemesis.ClockJump))
}
