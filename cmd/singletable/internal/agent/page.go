package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/singletable/singletable/cmd/singletable/internal/escape"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// batch is how many items a request asks for at most.
const batch = 25

// page reads a query until it has as many items in the scope as are wanted, or the budget of
// the call is used up. The first request is for one item, and the others are for as many of
// the mean size as the budget has room for: they go over its units if items are larger.
func (s *server) page(ctx context.Context, of asked, q table.Query, a arguments) (result, error) {
	q.Descending, q.Limit = a["newest_first"] == "true", 1
	list := fmt.Sprintf("%q %q %q %q %t", of.entity, q.Index, q.PK, []keys.SK{q.Range.Prefix, q.Range.From, q.Range.To}, q.Descending)
	after, ok := s.cursors.get(a["cursor"], list)
	switch {
	case !ok:
		return result{}, errCursor
	case s.isPartitionOfTable(q.Index) && !s.scope.admitsPartition(q.PK):
		return s.nothing(), nil
	}
	r := pageReader{s: s, left: s.left.least(s.call), of: of, index: q.Index}
	if limit, err := strconv.Atoi(a["limit"]); err == nil {
		r.left.Items = min(r.left.Items, limit)
	}
	defer r.spend()
	for {
		p, err := table.QueryRows[table.Item](ctx, s.table, q, after)
		r.units += p.Stats.Capacity
		if err != nil {
			return result{}, err
		}
		r.read += p.Stats.Scanned
		if after, err = r.take(p, after); err != nil {
			return result{}, err
		}
		if after == nil || r.full() {
			r.out.Next, r.out.ReadUnits = s.cursors.add(position{list, after}), unitsOf(r.size)
			return r.out, nil
		}
		q.Limit = r.next()
	}
}

// isPartitionOfTable reports whether partitions of an index are those of the table.
func (s *server) isPartitionOfTable(index string) bool {
	return index == "" || slices.ContainsFunc(s.model.Indexes, func(x schema.Index) bool { return x.Name == index && x.PK == s.model.PK })
}

// pageReader is a result in the making.
type pageReader struct {
	s     *server
	left  Budget
	of    asked
	index string
	out   result
	units float64
	// read is how many items were read, bytes and size those of what is shown.
	read, bytes, size int
	stopped           bool
}

// next returns how many items the next request asks for.
func (r *pageReader) next() int {
	shown := len(r.out.StoredData)
	units := (r.left.Units - r.units) * float64(r.read) / math.Max(r.units, unitsOf(0))
	bytes := float64(r.left.Bytes-r.bytes) * float64(shown) / math.Max(float64(r.bytes), 1)
	if shown == 0 {
		bytes = batch
	}
	return max(1, min(batch, r.left.Items-shown, int(units), int(bytes)))
}

// take shows the rows of a request that are asked for, and returns where the list goes on: at
// the first row that does not fit. before is where the request began.
func (r *pageReader) take(p table.RowPage[table.Item], before table.Item) (after table.Item, err error) {
	for _, row := range p.Rows {
		if r.s.has(r.of, row.Value) && !r.show(row.Value) {
			r.stopped = true
			return before, nil
		}
		if before, err = r.positionOf(row); err != nil {
			return nil, err
		}
	}
	return p.Next, nil
}

// positionOf returns the position behind a row.
func (r *pageReader) positionOf(row table.Row[table.Item]) (table.Item, error) {
	at, err := r.s.table.IndexKey("", row.Key)
	if err != nil || r.index == "" {
		return at, err
	}
	in, err := r.s.table.IndexKey(r.index, row.IndexKey)
	maps.Copy(at, in)
	return at, err
}

// show adds an item to the result as it is shown, if it fits. The first one that does not is
// shown by its type and key: no page would have room for it.
func (r *pageReader) show(item table.Item) (fits bool) {
	visible := r.s.scope.visible(item)
	shown := plain(visible)
	bytes := sizeOf(shown)
	if r.bytes+bytes > r.left.Bytes {
		if len(r.out.StoredData) > 0 {
			return false
		}
		maps.DeleteFunc(shown, func(name string, _ any) bool {
			return !slices.Contains([]string{r.s.scope.typeName, r.s.model.PK, r.s.model.SK}, name)
		})
		r.out.Stopped, r.stopped = "the item is larger than the bytes that are left: it has only its type and key", true
		bytes = sizeOf(shown)
	}
	r.out.StoredData = append(r.out.StoredData, shown)
	r.bytes, r.size = r.bytes+bytes, r.size+visible.Size()
	return true
}

// sizeOf returns how many bytes an item has in a result.
func sizeOf(shown map[string]any) int {
	text, _ := json.Marshal(shown) // of an item, which has a form in JSON
	return len(escape.Text(string(text), ""))
}

// full reports whether the page has what is wanted, or the budget is used up.
func (r *pageReader) full() bool {
	if r.stopped || r.units >= r.left.Units || r.bytes >= r.left.Bytes {
		r.out.Stopped = cmp.Or(r.out.Stopped, "the budget of a call is used up; go on with next")
		return true
	}
	return len(r.out.StoredData) >= r.left.Items
}

func (r *pageReader) spend() { r.s.left = r.s.left.less(r.units, len(r.out.StoredData), r.bytes) }
