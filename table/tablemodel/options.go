package tablemodel

import "cmp"

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
