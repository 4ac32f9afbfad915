package codec

import "slices"

// Row is a value together with what is known of the item that it was made of.
// Package table fills it when it is given as the type to read.
type Row[T any] struct {
	Value T
	// Refusal is why there is no value. Whoever wants the value looks at it.
	Refusal error
	// Size is about how many bytes the item has.
	Size int

	names, key []string
}

// Key returns what a key attribute of the item holds, one of the index's that is
// read or of the table's.
func (r *Row[T]) Key(name string) string {
	if i := slices.Index(r.names, name); i >= 0 {
		return r.key[i]
	}
	return ""
}

// Target returns where the value goes.
func (r *Row[T]) Target() any { return &r.Value }

// Fill sets everything but the value.
func (r *Row[T]) Fill(refusal error, names, key []string, size int) {
	r.Refusal, r.names, r.key, r.Size = refusal, names, key, size
}

// Filler is a pointer to a [Row] of any type.
type Filler interface {
	Target() any
	Fill(refusal error, names, key []string, size int)
}
