package shard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// merge is one read of all shards. Its rows are those that were read and not
// yet taken, in order. It is used by one goroutine.
type merge[T any] struct {
	r      *Reader[T]
	q      Query
	bounds keys.Range
	shards []*source
	rows   []row[T]
	// after is where the walk has come to: the last row taken, or what the
	// token says. Rows up to it are not returned again.
	after *position
	// past are the identities of the values up to the token's position that have
	// its sort key; the others cannot come again.
	past  map[string]bool
	stats Stats
	// read counts the rows, and again those that Dedupe left out.
	read, again int
}

// source is one shard, as far as it was read.
type source struct {
	label string
	// next is the token to go on from.
	next string
	// last is the sort key that was read last; meaningless before any was. run
	// is how many items in a row had it.
	last string
	run  int
	read bool
	done bool
}

// position orders items: by sort key, and by table key among equal ones.
type position struct{ sk, tablePK, tableSK string }

// row is an item that was read.
type row[T any] struct {
	codec.Row[T]
	position
	// id is what Dedupe tells them apart by.
	id string
}

// compare orders two positions as the query wants them.
func (m *merge[T]) compare(a, b position) int {
	order := cmp.Or(cmp.Compare(a.sk, b.sk), cmp.Compare(a.tablePK, b.tablePK), cmp.Compare(a.tableSK, b.tableSK))
	if m.q.OldestFirst {
		return order
	}
	return -order
}

// beyond reports whether sort key a comes after b in the order of the query.
func (m *merge[T]) beyond(a, b string) bool {
	return m.compare(position{sk: a}, position{sk: b}) > 0
}

// fill reads until the first n rows are the first n of all that is left, or
// everything was read.
func (m *merge[T]) fill(ctx context.Context, n int) error {
	for first := true; ; first = false {
		asks := m.asks(n, first)
		if len(asks) == 0 {
			return nil
		}
		m.stats.Rounds++
		rows, err := m.ask(ctx, asks)
		if err != nil {
			return err
		}
		if err := m.add(rows); err != nil {
			return err
		}
	}
}

// ask is a request to one shard, for so many items.
type ask struct {
	source *source
	limit  int
}

// asks returns the shards that may hold one of the first n rows that is not
// read yet. Before anything was read that is each of them.
func (m *merge[T]) asks(n int, first bool) []ask {
	var asks []ask
	for _, s := range m.shards {
		if !s.done && !m.settled(s, n) {
			asks = append(asks, ask{s, m.limit(s, n, first)})
		}
	}
	return asks
}

// settled reports whether nothing that the shard still has can be among the
// first n rows.
func (m *merge[T]) settled(s *source, n int) bool {
	if !s.read || len(m.rows) < n {
		return false
	}
	nth := m.rows[n-1].sk
	return m.beyond(s.last, nth) || s.last == nth && !m.r.index.Ties
}

// limit is how many items to ask a shard for. In the first round these are as
// many as it has of the first n rows if ids are spread at random, with a margin
// of two standard deviations, so that few shards have to be asked again. After
// that they are as many as it can have of them, so that there is no third round.
func (m *merge[T]) limit(s *source, n int, first bool) int {
	want := n - m.upTo(s)
	if m.after != nil && !s.read {
		want++ // the item at the position comes again
	}
	if m.r.index.Ties {
		want++ // the last row is known to be complete when one behind it was read
	}
	copies := float64(m.r.copies.Load()) / 100
	most := int(math.Ceil(float64(want) * copies))
	if !first {
		// A run of ties of unknown length takes ever larger steps.
		return m.inBlocks(max(most, s.run, 1))
	}
	shards := float64(len(m.shards))
	mean := float64(want) / shards
	likely := (mean + 2*math.Sqrt(mean*(1-1/shards))) * copies
	return max(1, min(most, m.inBlocks(int(math.Ceil(likely)))))
}

// upTo is how many rows come before everything that the shard still has.
func (m *merge[T]) upTo(s *source) int {
	if !s.read {
		return 0
	}
	n, _ := slices.BinarySearchFunc(m.rows, s.last, func(r row[T], last string) int {
		if m.beyond(r.sk, last) {
			return 1
		}
		return -1
	})
	return n
}

// inBlocks rounds a number of items up to what fits into the blocks of 4 KB
// that reads are charged by.
func (m *merge[T]) inBlocks(n int) int {
	const block = 4096
	each := int(max(1, block/max(1, m.r.size.Load())))
	return (n + each - 1) / each * each
}

// add sorts rows that were read just now in, and drops those that came before.
func (m *merge[T]) add(rows []row[T]) error {
	r := m.r
	bytes, known := int64(0), len(m.rows)
	for _, row := range rows {
		bytes += int64(row.Size)
		if r.o.Dedupe != nil {
			v, err := m.value(row)
			if err != nil {
				return err
			}
			row.id = r.o.Dedupe(v)
		}
		if m.q.Range.Prefix != "" && !strings.HasPrefix(row.sk, string(m.q.Range.Prefix)) {
			continue // see bounds
		}
		if m.after != nil && m.isPast(row.position) {
			if row.sk == m.after.sk && r.o.Dedupe != nil {
				m.past[row.id] = true
			}
			continue
		}
		m.rows = append(m.rows, row)
	}
	m.read += len(m.rows) - known
	if n := int64(len(rows)); n > 0 {
		// A moving mean, so that a reader follows when items grow.
		r.size.Store((r.size.Load() + bytes/n) / 2)
	}
	slices.SortStableFunc(m.rows, func(a, b row[T]) int { return m.compare(a.position, b.position) })
	if err := m.compact(); err != nil {
		return err
	}
	if kept := m.read - m.again; r.o.Dedupe != nil && kept > 0 {
		r.copies.Store((r.copies.Load() + 100*int64(m.read)/int64(kept)) / 2)
	}
	return nil
}

// isPast reports whether a row was returned before, by this walk or the page
// before it.
func (m *merge[T]) isPast(p position) bool {
	if m.r.index.Ties {
		return m.compare(p, *m.after) <= 0
	}
	return !m.beyond(p.sk, m.after.sk)
}

// compact drops rows that are there twice.
func (m *merge[T]) compact() error {
	dedupe := m.r.o.Dedupe != nil
	seen := map[string]bool{}
	kept := m.rows[:0]
	for _, row := range m.rows {
		if dedupe {
			if seen[row.id] || m.past[row.id] {
				m.again++
				continue
			}
			seen[row.id] = true
		}
		if last := len(kept) - 1; last >= 0 {
			switch {
			case kept[last].position == row.position:
				continue // it was moved from one shard to another just now
			case !m.r.index.Ties && kept[last].sk == row.sk:
				return m.r.invalid("Ties", fmt.Sprintf("two items of index %s have the same sort key, and Ties is not set", m.r.index.Index))
			}
		}
		kept = append(kept, row)
	}
	clear(m.rows[len(kept):])
	m.rows = kept
	return nil
}

// take removes the first n rows.
func (m *merge[T]) take(n int) []row[T] {
	taken := m.rows[:min(n, len(m.rows))]
	m.rows = m.rows[len(taken):]
	if len(taken) == 0 {
		return nil
	}
	last := taken[len(taken)-1].position
	m.after = &last
	return taken
}

// ended reports whether there is nothing more.
func (m *merge[T]) ended() bool {
	return len(m.rows) == 0 && !slices.ContainsFunc(m.shards, func(s *source) bool { return !s.done })
}

// value returns the value of a row, or why there is none.
func (m *merge[T]) value(row row[T]) (T, error) {
	if row.Refusal == nil {
		return row.Value, nil
	}
	schema := m.r.table.Schema()
	key := keys.Key{PK: keys.PK(row.tablePK), SK: keys.SK(row.tableSK)}
	return *new(T), &table.Error{Op: "Page", Table: schema.Name, Index: m.r.index.Index, Key: key, Err: row.Refusal}
}
