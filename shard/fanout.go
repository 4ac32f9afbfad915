package shard

import (
	"context"
	"sync"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/table"
)

// ask sends the requests of one round, several at a time, and returns the items
// of all. The first failure ends the others; all have ended when it returns.
func (m *merge[T]) ask(ctx context.Context, asks []ask) ([]row[T], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	pages := make([]page[T], len(asks))
	slots := make(chan struct{}, m.r.o.Concurrency)
	for i, a := range asks {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			page, err := m.page(ctx, a)
			pages[i] = page
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = &Error{Index: m.r.index.Index, Shard: a.source.label, Err: err}
			}
			cancel()
		})
	}
	group.Wait()
	if first != nil {
		return nil, first
	}
	var rows []row[T]
	for i, page := range pages {
		s := asks[i].source
		s.next, s.done = page.Next, page.Next == ""
		for _, item := range page.Items {
			row := row[T]{Row: item, position: position{item.Key(m.r.sk), item.Key(m.r.tablePK), item.Key(m.r.tableSK)}}
			s.saw(row.sk)
			rows = append(rows, row)
		}
		m.stats.Scanned += page.Stats.Scanned
		m.stats.Requests += page.Stats.Requests
		m.stats.Capacity += page.Stats.Capacity
	}
	return rows, nil
}

// saw takes note of where the shard was read to.
func (s *source) saw(sk string) {
	if !s.read || sk != s.last {
		s.read, s.last, s.run = true, sk, 0
	}
	s.run++
}

// page is what one request to a shard returns.
type page[T any] = table.Page[codec.Row[T]]

func (m *merge[T]) page(ctx context.Context, a ask) (page[T], error) {
	if err := ctx.Err(); err != nil {
		return page[T]{}, err
	}
	return table.QueryPage[codec.Row[T]](ctx, m.r.table, table.Query{
		Index:   m.r.index.Index,
		PK:      m.r.index.pk(a.source.label),
		Range:   m.bounds,
		Reverse: !m.q.OldestFirst,
		Limit:   a.limit,
		After:   a.source.next,
	})
}
