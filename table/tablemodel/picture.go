package tablemodel

import (
	"fmt"
	"strings"

	"github.com/singletable/singletable/table"
)

// picked is an element of a picture, or how many were left out in its place.
type picked[E any] struct {
	value   E
	leftOut string
}

// row is one line of a picture of a partition; its item is nil for those left out.
type row = picked[table.Item]

// shown is a partition as a picture shows it, or, without rows, partitions that
// were left out.
type shown struct {
	rows    []row
	items   int // of the partition, shown or not
	leftOut string
}

// pick returns what a picture shows of a view.
func (l layout) pick(v view, o Options) []shown {
	partitions := firsts(v.partitions, v.kindOf, o.Partitions, func(n int, kind string) string {
		if kind == "" {
			return fmt.Sprintf("%d more of these partitions", n)
		}
		return fmt.Sprintf("%d more of %s…", n, kind)
	})
	all := make([]shown, len(partitions))
	for i, p := range partitions {
		all[i] = shown{items: len(p.value), leftOut: p.leftOut}
		all[i].rows = firsts(p.value, l.typeOf, o.Items, func(n int, kind string) string {
			return strings.TrimSpace(fmt.Sprintf("%d more %s", n, kind))
		})
	}
	return all
}

// firsts returns the first elements of each kind, and in place of others how many of which
// kinds were left out. A negative limit leaves out nothing.
func firsts[E any](all []E, kindOf func(E) string, limit int, count func(n int, kind string) string) (picture []picked[E]) {
	seen, hidden := map[string]int{}, map[string]int{}
	var order []string // the kinds among the hidden
	flush := func() {
		var counts []string
		for _, kind := range order {
			counts = append(counts, count(hidden[kind], kind))
		}
		if len(counts) > 0 {
			picture = append(picture, picked[E]{leftOut: "… " + strings.Join(counts, ", ")})
		}
		clear(hidden)
		order = nil
	}
	for _, e := range all {
		kind := kindOf(e)
		if limit < 0 || seen[kind] < limit {
			flush()
			seen[kind]++
			picture = append(picture, picked[E]{value: e})
			continue
		}
		if hidden[kind] == 0 {
			order = append(order, kind)
		}
		hidden[kind]++
	}
	flush()
	return picture
}
