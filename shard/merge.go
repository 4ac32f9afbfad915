package shard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

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
	// after is where the walk stands: at the last row taken, or where the cursor
	// says. Rows up to it are not returned again.
	after *rank
	// last is the row at that position if it was seen, nil before. It serves to
	// notice other rows with its sort key.
	last  *rank
	stats Stats
	// read counts the rows, and again those that Dedupe left out.
	read, again int
}

// source is one shard, as far as it was read.
type source struct {
	index int
	pk    keys.PK
	// next is where to continue.
	next table.Item
	// last is the sort key that was read last; meaningless before any was. run
	// is how many items in a row had it.
	last keys.SK
	run  int
	read bool
	done bool
}

// rank is the place of an item in the order of the walk.
type rank struct {
	sk keys.SK
	// id is what Dedupe returns for the item; empty without it.
	id string
	// key is the item's key in the table.
	key keys.Key
}

// row is an item that was read, or the reason why it could not be decoded.
type row[T any] struct {
	rank
	shard int
	value T
	err   error
}

// ties says what orders items with the same sort key. Its value is the number of
// values that this adds to a cursor.
type ties int

const (
	// impossible is for sort keys that are unique: no two items are equal.
	impossible ties = iota
	// byIdentity is for Dedupe. All copies of a value have the same place, so it
	// makes no difference when they arrive or disappear.
	byIdentity
	byTableKey
)

// compare orders two positions as the query wants them, copies of one value by
// their table keys.
func (m *merge[T]) compare(a, b rank) int {
	return m.direct(cmp.Or(
		//mutants:guard items with equal sort keys are in the order of their table keys | TestDefaultEngine/^Shard$ ./suites/conformance | , cmp.Compare(a.key.PK, b.key.PK), cmp.Compare(a.key.SK, b.key.SK) =>
		cmp.Compare(a.sk, b.sk), cmp.Compare(a.id, b.id), cmp.Compare(a.key.PK, b.key.PK), cmp.Compare(a.key.SK, b.key.SK)))
}

// direct turns the order of ascending sort keys into that of the query.
func (m *merge[T]) direct(order int) int {
	if !m.q.Descending {
		return order
	}
	return -order
}

// beyond reports whether sort key a comes after b in the order of the query.
func (m *merge[T]) beyond(a, b keys.SK) bool { return m.direct(cmp.Compare(a, b)) > 0 }

// fill reads until the first n rows are the first n of all that is left, or
// everything was read.
func (m *merge[T]) fill(ctx context.Context, n int) error {
	for round := 1; ; round++ {
		asks := m.due(n, round)
		if len(asks) == 0 {
			return nil
		}
		m.stats.Rounds++
		pages, err := m.sendRound(ctx, asks)
		if err != nil {
			return err
		}
		if err := m.add(asks, pages); err != nil {
			return err
		}
	}
}

// ask is a request to one shard, for so many items.
type ask struct {
	source *source
	limit  int
}

// due returns the shards that may hold one of the first n rows that is not
// read yet. Before anything was read that is each of them.
func (m *merge[T]) due(n, round int) []ask {
	var asks []ask
	have := counts(m.rows, len(m.shards))
	for _, s := range m.shards {
		if !s.done && !m.final(s, n) {
			asks = append(asks, ask{s, m.limit(s, n, round, have[s.index])})
		}
	}
	return asks
}

// counts returns how many of the rows each shard has.
func counts[T any](rows []row[T], shards int) []int {
	have := make([]int, shards)
	for i := range rows {
		have[rows[i].shard]++
	}
	return have
}

// final reports whether the shard was read beyond the n-th row. Up to it, it may
// have another item with the same sort key: one that comes before that row, or
// shows that sort keys are not unique.
func (m *merge[T]) final(s *source, n int) bool {
	return s.read && len(m.rows) >= n && m.beyond(s.last, m.rows[n-1].sk)
}

// manyShards is where a round costs less than half a read unit for each shard.
const manyShards = 8

// mostWanted is more than a page can have. It keeps numbers from overflowing.
const mostWanted = 1 << 30

// limit is how many items to ask a shard for that has so many of the rows. In the
// first round it is the likely number that the shard has of the first n rows, by
// its share of recent reads. In the second round the share is that of the rows
// that are there. Both add one standard deviation. After that it is the greatest
// number that the shard can have, so there is no fourth round.
func (m *merge[T]) limit(s *source, n, round, have int) int {
	before := m.upTo(s)
	want := min(n, mostWanted) - before + 1 // one behind the n-th row, for final
	if m.after != nil && !s.read && m.r.ties != impossible {
		want++ // the item at the position comes again
	}
	copies := float64(m.r.copies.Load()) / 100
	most := max(int(math.Ceil(float64(want)*copies)), 1)
	share := m.r.fractions.of(s.index)
	if round > 1 && before > 0 {
		share = float64(have) / float64(before)
	}
	mean := float64(want) * min(share, 1)
	likely := (mean + math.Sqrt(mean)) * copies
	switch block := m.block(); round {
	case 1:
		// A block more of each shard often saves a round. Of many shards it costs
		// more than it saves, so there it is the nearest number of blocks.
		blocks := likely / float64(block)
		if len(m.shards) > manyShards {
			blocks = math.Round(blocks)
		}
		return min(block*max(int(math.Ceil(blocks)), 1), roundUp(most, block))
	case 2:
		return roundUp(max(min(int(math.Ceil(likely)), most), s.run, 1), block)
	default:
		return roundUp(max(most, s.run), block) // a run of ties of unknown length takes ever larger steps
	}
}

// upTo is how many rows come before everything that the shard still has.
func (m *merge[T]) upTo(s *source) int {
	if !s.read {
		return 0
	}
	return sort.Search(len(m.rows), func(i int) bool { return m.beyond(m.rows[i].sk, s.last) })
}

// block is how many items fit into the 4 KB that reads are charged by. AWS:
// "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func (m *merge[T]) block() int { return int(max(1, 4096/max(1, m.r.size.Load()))) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// add sorts rows in that were just read, without those that are not wanted.
func (m *merge[T]) add(asks []ask, pages []table.RowPage[T]) error {
	r := m.r
	var bytes, items int64
	known := len(m.rows)
	for i, page := range pages {
		s := asks[i].source
		s.next, s.done = page.Next, page.Next == nil
		m.stats.Stats = m.stats.Stats.Add(page.Stats)
		for _, read := range page.Rows {
			items++
			bytes += int64(read.Size)
			row := row[T]{rank{sk: read.IndexKey.SK, key: read.Key}, s.index, read.Value, read.Err}
			s.saw(row.sk)
			if r.o.Dedupe != nil && row.err == nil {
				row.id, row.err = r.identity(row)
			}
			wanted, err := m.wants(row)
			if err != nil {
				return err
			}
			if wanted {
				m.rows = append(m.rows, row)
			}
		}
	}
	m.read += len(m.rows) - known
	if items > 0 {
		// A moving mean, so that a reader follows when items grow.
		r.size.Store((r.size.Load() + bytes/items) / 2)
	}
	slices.SortStableFunc(m.rows, func(a, b row[T]) int { return m.compare(a.rank, b.rank) })
	if err := m.compact(); err != nil {
		return err
	}
	if kept := m.read - m.again; r.o.Dedupe != nil && kept > 0 {
		r.copies.Store((r.copies.Load() + 100*int64(m.read)/int64(kept)) / 2)
	}
	return nil
}

// noIdentity begins the identity of an item that has none: its table key, with which
// cursors tell it from others of its sort key.
const noIdentity = "\x00"

// maxIdentity is the greatest size of an identity, which has room in a cursor.
const maxIdentity = 4096

// identity returns what Dedupe makes of a row.
func (r *Reader[T]) identity(row row[T]) (string, error) {
	id := r.o.Dedupe(row.value)
	if len(id) > maxIdentity {
		return "", r.invalid("Dedupe", fmt.Sprintf("an identity has %d bytes, %d are the most", len(id), maxIdentity))
	}
	return cmp.Or(id, noIdentity+string(row.key.PK)+noIdentity+string(row.key.SK)), nil
}

// saw records where the shard was read to.
func (s *source) saw(sk keys.SK) {
	if !s.read || sk != s.last {
		s.read, s.last, s.run = true, sk, 0
	}
	s.run++
}

// wants reports whether a row belongs to what is left of the walk. At the
// position, another row than the one returned there is an error unless sort keys
// may be equal.
func (m *merge[T]) wants(row row[T]) (bool, error) {
	switch after := m.after; {
	case !strings.HasPrefix(string(row.sk), string(m.q.Range.Prefix)):
		return false, nil // see remaining
	case after == nil || row.sk != after.sk:
		return after == nil || m.beyond(row.sk, after.sk), nil
	case m.r.o.Dedupe != nil && row.err != nil:
		return true, nil // its identity is unknown; its error is the walk's
	case m.r.ties == byIdentity:
		return m.direct(cmp.Compare(row.id, after.id)) > 0, nil
	case m.r.ties == byTableKey:
		//mutants:guard a page begins at the cursor among equal sort keys | TestDefaultEngine/^Shard$ ./suites/conformance | > 0 => >= 0
		return m.compare(row.rank, *after) > 0, nil
	case m.last == nil:
		at := row.rank
		m.last = &at
	case !m.same(*m.last, row.rank):
		return false, m.r.tied()
	}
	return false, nil
}

// same reports whether two rows with the same sort key are one item or copies of
// one value.
func (m *merge[T]) same(a, b rank) bool {
	if m.r.o.Dedupe != nil {
		return a.id == b.id
	}
	return a.key == b.key
}

// tied is the error of equal sort keys where they must be unique.
func (r *Reader[T]) tied() error {
	return r.invalid("NonUniqueSortKeys", fmt.Sprintf("two items of index %s have the same sort key", r.index.Index))
}

// compact drops rows that are there twice.
func (m *merge[T]) compact() error {
	dedupe := m.r.o.Dedupe != nil
	kept := m.rows[:0]
	for _, row := range m.rows {
		if last := len(kept) - 1; last >= 0 && kept[last].sk == row.sk {
			before := &kept[last]
			decoded := before.err == nil && row.err == nil
			switch {
			case before.key == row.key:
				continue // it was moved from one shard to another just now
			case dedupe && decoded && before.id == row.id:
				m.again++
				continue
			//mutants:guard equal sort keys that an index does not declare are an error | TestUndeclaredTies$
			case m.r.ties == impossible && (decoded || !dedupe):
				return m.r.tied()
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
	last := taken[len(taken)-1].rank
	m.after, m.last = &last, &last
	m.r.fractions.learn(counts(taken, len(m.shards)), len(taken))
	return taken
}

// ended reports whether there is nothing more.
func (m *merge[T]) ended() bool {
	return len(m.rows) == 0 && !slices.ContainsFunc(m.shards, func(s *source) bool { return !s.done })
}

// fractions are the parts that the shards have of the rows of recent reads, in
// millionths. Writers of hot ids make them unequal.
type fractions []atomic.Int64

// remembered is the number of rows after which a share has changed by two thirds
// of what is new.
const remembered = 1000

func newFractions(n int) fractions {
	s := make(fractions, n)
	for i := range s {
		s[i].Store(int64(1e6 / n))
	}
	return s
}

func (s fractions) of(shard int) float64 { return float64(s[shard].Load()) / 1e6 }

// learn takes in what the shards had of some rows. Concurrent reads may overwrite
// what another has learned, which costs a few read units at most.
func (s fractions) learn(have []int, rows int) {
	for i, n := range have {
		now := 1e6 * float64(n) / float64(rows)
		old := float64(s[i].Load())
		s[i].Store(int64(old + (now-old)*float64(rows)/float64(rows+remembered)))
	}
}

// mergeFrom returns a read of all shards from a position on, or from the start of the
// query. It has sent nothing yet. There are no shards to read if nothing of the range is
// left.
func (r *Reader[T]) mergeFrom(q Query, after *rank) *merge[T] {
	m := &merge[T]{r: r, q: q, after: after}
	if m.bounds = remaining(q, m.after); m.bounds.Empty() {
		return m
	}
	for i, pk := range r.shards {
		m.shards = append(m.shards, &source{index: i, pk: pk})
	}
	return m
}

// remaining returns the sort keys of the query's range from a position on. The
// range may have moved since the cursor was sealed: a walk whose position is
// before the range continues at its start.
//
// The result includes the position, since DynamoDB has no range that excludes
// one end and includes the other. Rows up to it are dropped when they arrive, and
// so is the one key after a prefix that the result may include.
//
// AWS: Query, Amazon DynamoDB API Reference.
func remaining(q Query, after *rank) keys.Range {
	r := q.Range
	if after == nil {
		return r
	}
	if r.Prefix != "" {
		r = keys.Range{From: r.Prefix, To: following(r.Prefix)}
	}
	if !q.Descending {
		r.From = max(r.From, after.sk)
	} else if r.To == "" || after.sk < r.To {
		r.To = after.sk
	}
	return r
}

// page reads n rows and makes a page without cursors of the first limit of them. An
// item behind these that cannot be decoded is an error of another page.
func (m *merge[T]) page(ctx context.Context, n, limit int) (rows []row[T], page Page[T], err error) {
	if err := m.fill(ctx, n); err != nil {
		return nil, page, err
	}
	rows, page.Items = m.take(n), []T{}
	for _, row := range rows[:min(limit, len(rows))] {
		if row.err != nil {
			return nil, page, row.err
		}
		page.Items = append(page.Items, row.value)
	}
	page.Stats = m.stats
	page.Stats.Items = len(page.Items)
	return rows, page, nil
}
