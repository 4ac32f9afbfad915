package shard

import (
	"context"
	"strconv"
	"sync"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/table"
)

// sendRound sends the requests of one round, several at a time, and returns the rows of
// each. The first failure ends the others; all have ended when it returns.
func (m *merge[T]) sendRound(ctx context.Context, asks []ask) ([]table.RowPage[T], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		all   group.Group
		mu    sync.Mutex
		first error
	)
	pages := make([]table.RowPage[T], len(asks))
	slots := make(chan struct{}, m.r.o.Concurrency)
	for i, a := range asks {
		slots <- struct{}{}
		if all.Unwound() {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			page, err := m.readShard(ctx, a)
			pages[i] = page
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = m.r.failed(a.source.index, err)
			}
			cancel()
		})
	}
	all.Wait()
	return pages, first
}

// failed names the shard in the error of its request.
func (r *Reader[T]) failed(number int, err error) error {
	e, ok := err.(*table.Error) //nolint:errorlint // that of the request
	if !ok {
		e = &table.Error{Op: "QueryRows", Table: r.table.Schema().Name, Index: r.index.Index, Err: err}
	}
	e.Name = "shard " + strconv.Itoa(number)
	return e
}

func (m *merge[T]) readShard(ctx context.Context, a ask) (table.RowPage[T], error) {
	if err := ctx.Err(); err != nil {
		return table.RowPage[T]{}, err
	}
	return table.QueryRows[T](ctx, m.r.table, table.Query{
		Index:      m.r.index.Index,
		PK:         a.source.pk,
		Range:      m.bounds,
		Descending: m.q.Descending,
		Limit:      a.limit,
	}, a.source.next)
}
