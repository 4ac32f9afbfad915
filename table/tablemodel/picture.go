package tablemodel

import (
	"fmt"
	"strings"

	"github.com/singletable/singletable/table"
)

// row is one line of a picture of a partition: an item, or how many were left
// out in its place.
type row struct {
	item    table.Item // nil for those left out
	leftOut string
}

// shown is a partition as a picture shows it, or, without rows, partitions that
// were left out.
type shown struct {
	rows    []row
	items   int // of the partition, shown or not
	leftOut string
}

// pick returns what a picture shows of a view.
func (l layout) pick(v view, o Options) []shown {
	count := func(n int, kind string) string {
		if kind == "" {
			return fmt.Sprintf("%d more of these partitions", n)
		}
		return fmt.Sprintf("%d more of %s…", n, kind)
	}
	var picked []shown
	firsts(v.partitions, v.kindOf, o.Partitions, count, func(p partition, leftOut string) {
		if p == nil {
			picked = append(picked, shown{leftOut: leftOut})
			return
		}
		picked = append(picked, shown{rows: l.rows(p, o), items: len(p)})
	})
	return picked
}

// rows returns what a picture shows of a partition.
func (l layout) rows(p partition, o Options) []row {
	count := func(n int, kind string) string { return strings.TrimSpace(fmt.Sprintf("%d more %s", n, kind)) }
	var rows []row
	firsts(p, l.typeOf, o.Items, count, func(item table.Item, leftOut string) { rows = append(rows, row{item, leftOut}) })
	return rows
}

// firsts gives show the first elements of each kind, and in place of others, which it
// gives as the zero value, how many of which kinds were left out. A negative limit
// leaves out nothing.
func firsts[E any](all []E, kindOf func(E) string, limit int, count func(n int, kind string) string, show func(e E, leftOut string)) {
	seen, hidden := map[string]int{}, map[string]int{}
	var order []string // the kinds among the hidden
	flush := func() {
		var counts []string
		for _, kind := range order {
			counts = append(counts, count(hidden[kind], kind))
		}
		if len(counts) > 0 {
			var none E
			show(none, "… "+strings.Join(counts, ", "))
		}
		clear(hidden)
		order = nil
	}
	for _, e := range all {
		kind := kindOf(e)
		if limit < 0 || seen[kind] < limit {
			flush()
			seen[kind]++
			show(e, "")
			continue
		}
		if hidden[kind] == 0 {
			order = append(order, kind)
		}
		hidden[kind]++
	}
	flush()
}
