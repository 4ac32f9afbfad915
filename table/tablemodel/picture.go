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
	var picked []shown
	seen := map[string]int{}
	hidden := 0
	flush := func(kind string) {
		if hidden > 0 {
			picked = append(picked, shown{leftOut: fmt.Sprintf("… %d more of %s", hidden, kindName(kind))})
		}
		hidden = 0
	}
	for i, p := range v.partitions {
		kind := v.kind(p)
		if i > 0 && v.kind(v.partitions[i-1]) != kind {
			flush(v.kind(v.partitions[i-1]))
		}
		if !more(seen[kind], o.Partitions) {
			hidden++
			continue
		}
		seen[kind]++
		picked = append(picked, shown{rows: l.rows(p, o), items: len(p)})
	}
	if n := len(v.partitions); n > 0 {
		flush(v.kind(v.partitions[n-1]))
	}
	return picked
}

func kindName(kind string) string {
	if kind == "" {
		return "these partitions"
	}
	return kind + "…"
}

// rows returns what a picture shows of a partition. Of the items of each type,
// the first are shown.
func (l layout) rows(p partition, o Options) []row {
	var rows []row
	seen, hidden := map[string]int{}, map[string]int{}
	var order []string // the types among the hidden
	flush := func() {
		var counts []string
		for _, t := range order {
			counts = append(counts, strings.TrimSpace(fmt.Sprintf("%d more %s", hidden[t], t)))
		}
		if len(counts) > 0 {
			rows = append(rows, row{leftOut: "… " + strings.Join(counts, ", ")})
		}
		clear(hidden)
		order = nil
	}
	for _, item := range p {
		t := l.typeOf(item)
		if more(seen[t], o.Items) {
			flush()
			seen[t]++
			rows = append(rows, row{item: item})
			continue
		}
		if hidden[t] == 0 {
			order = append(order, t)
		}
		hidden[t]++
	}
	flush()
	return rows
}
