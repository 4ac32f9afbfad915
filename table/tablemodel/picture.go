package tablemodel

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/singletable/singletable/table"
)

// Options say how much of the items a picture shows. Nil and every zero value
// mean the default. A negative number means no limit.
type Options struct {
	// Attributes are the names of the attributes to show next to keys and type,
	// in this order; an item shows those it has. By default the first four of
	// each item are shown, in the order of their names, and the number of the
	// others.
	Attributes []string
	// Partitions is how many partitions of a kind are shown, those whose keys
	// have the same text before their first '#': 3 by default. Of the others,
	// their number is shown.
	Partitions int
	// Items is how many items of a type are shown of a partition, 3 by default.
	// Of the others, their number is shown.
	Items int
	// Length is after how many characters keys and values are cut, 60 by
	// default.
	Length int
}

const (
	defaultPartitions = 3
	defaultItems      = 3
	defaultLength     = 60
	defaultAttributes = 4
)

func (o *Options) withDefaults() Options {
	c := *cmp.Or(o, &Options{})
	c.Partitions = cmp.Or(c.Partitions, defaultPartitions)
	c.Items = cmp.Or(c.Items, defaultItems)
	c.Length = cmp.Or(c.Length, defaultLength)
	return c
}

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
