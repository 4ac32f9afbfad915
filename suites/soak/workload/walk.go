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
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// turn reads one page under faults. A page that fails is asked for again with
// the same token, which must do.
func turn[P any](ctx context.Context, w *worker, name string, read func(context.Context) (P, error)) (page P, err error) {
	for _, line := range [][]nemesis.Fault{w.faults(), nil} {
		var met []nemesis.Fault
		met, err = w.try(ctx, name, line, func(ctx context.Context) (err error) {
			page, err = read(ctx)
			return err
		})
		if ctx.Err() != nil {
			return page, ctx.Err()
		}
		if w.down.Load() && err != nil {
			return page, errDown
		}
		w.checkResponse(operation{name: name}, met, err)
		if err == nil {
			return page, nil
		}
	}
	return page, fmt.Errorf("%s: %w", w.where(), err)
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
	var have []doc
	var between []keys.Key
	for {
		page, err := turn(ctx, w, "QueryPage", func(ctx context.Context) (table.Page[doc], error) {
			return table.QueryPage[doc](ctx, w.table, q.Query)
		})
		if err != nil {
			return err
		}
		have = append(have, page.Items...)
		if n := len(page.Items); q.Limit > 0 && (n > q.Limit || n < q.Limit && page.Next != "" && page.Stats.Requests < maxRounds) {
			w.check(report.Walk, fmt.Errorf("QueryPage: a page of %d, limit %d, after %d requests", n, q.Limit, page.Stats.Requests))
		}
		if page.Next == "" {
			break
		}
		if w.r.IntN(3) == 0 {
			w.misuse(ctx, q.Query, page.Next)
		}
		if w.r.IntN(3) == 0 {
			key, err := w.meddle(ctx, page.Items)
			if err != nil {
				return err
			}
			between = append(between, key)
		}
		q.After = page.Next
	}
	w.checkAll(append(q.about, report.Walk), wrap("QueryPage", checker.Equal(without(have, between), without(q.want, between))))
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
