package table

import (
	"reflect"
	"slices"
)

// values are what a call reads: Vs, each made of an item that is a T. It is all of a
// read that depends on the types, and small, since Go compiles it for each of them
// again. The rest is [rows].
type values[T, V any] struct {
	rows rows
	// latest is the item that is read, the zero value if it is no T.
	latest T
	all    []V
	// value makes the value of an item.
	value func(latest *T, r *row) V
}

// list is what rows put values into.
type list interface {
	// add adds the value of the latest item.
	add()
	// grow makes room for n values more, and cut drops all but the first n.
	grow(n int)
	cut(n int)
}

func newValues[T, V any](value func(latest *T, r *row) V) *values[T, V] {
	l := &values[T, V]{value: value}
	l.rows.list, l.rows.latest.value = l, reflect.ValueOf(&l.latest).Elem()
	return l
}

// newItems returns values that are the items themselves.
func newItems[T any]() *values[T, T] {
	return newValues(func(latest *T, _ *row) T { return *latest })
}

func (l *values[T, V]) add() { l.all = append(l.all, l.value(&l.latest, &l.rows.latest)) }

func (l *values[T, V]) grow(n int) { l.all = slices.Grow(l.all, n) }

func (l *values[T, V]) cut(n int) { l.all = l.all[:n] }
