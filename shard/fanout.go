package shard

import (
	"context"
	"sync"

	"github.com/singletable/singletable/table"
)

// ask sends the requests of one round, several at a time, and returns the items
// of all. The first failure ends the others; all have ended when it returns.
func (m *merge[T]) ask(ctx context.Context, asks []ask) ([]table.Item, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	pages := make([]table.Page[table.Item], len(asks))
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
	var items []table.Item
	for i, page := range pages {
		s := asks[i].source
		s.next, s.done = page.Next, page.Next == ""
		s.saw(page.Items, m.r.sk)
		m.stats.Scanned += page.Stats.Scanned
		m.stats.Requests += page.Stats.Requests
		m.stats.Capacity += page.Stats.Capacity
		items = append(items, page.Items...)
	}
	return items, nil
}

// saw takes note of where the shard was read to.
func (s *source) saw(items []table.Item, sk string) {
	for _, item := range items {
		if at := text(item[sk]); !s.read || at != s.last {
			s.read, s.last, s.run = true, at, 0
		}
		s.run++
	}
}

func (m *merge[T]) page(ctx context.Context, a ask) (table.Page[table.Item], error) {
	if err := ctx.Err(); err != nil {
		return table.Page[table.Item]{}, err
	}
	return table.QueryPage[table.Item](ctx, m.r.table, table.Query{
		Index:   m.r.index.Index,
		PK:      m.r.index.pk(a.source.label),
		Range:   m.bounds,
		Reverse: !m.q.OldestFirst,
		Limit:   a.limit,
		After:   a.source.next,
	})
}
