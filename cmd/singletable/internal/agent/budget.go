package agent

import "errors"

// Budget bounds what is read and shown.
type Budget struct {
	Units float64 // read units
	Items int
	Bytes int // of items as they are shown
}

// errSpent ends a session.
var errSpent = errors.New("the budget of this session is used up: a person has to begin another one")

// spent reports whether one of them is used up.
func (b Budget) spent() bool { return b.Units <= 0 || b.Items <= 0 || b.Bytes <= 0 }

// less returns what is left of b.
func (b Budget) less(units float64, items, bytes int) Budget {
	return Budget{b.Units - units, b.Items - items, b.Bytes - bytes}
}

// least returns the smaller of each.
func (b Budget) least(other Budget) Budget {
	return Budget{min(b.Units, other.Units), min(b.Items, other.Items), min(b.Bytes, other.Bytes)}
}
