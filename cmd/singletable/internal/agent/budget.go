package agent

import "errors"

// Budget bounds what is read and shown.
type Budget struct {
	Units float64 // read units
	Items int
	Bytes int // of items as they are shown
}

// meter adds up what a session takes. Calls run one at a time.
type meter struct {
	most  Budget
	units float64
	items int
	bytes int
}

// errSpent ends a session.
var errSpent = errors.New("the budget of this session is used up: a person has to begin another one")

// left returns what the session has left, errSpent if that is nothing.
func (m *meter) left() (Budget, error) {
	b := Budget{m.most.Units - m.units, m.most.Items - m.items, m.most.Bytes - m.bytes}
	if b.Units <= 0 || b.Items <= 0 || b.Bytes <= 0 {
		return b, errSpent
	}
	return b, nil
}

func (m *meter) spend(units float64, items, bytes int) {
	m.units, m.items, m.bytes = m.units+units, m.items+items, m.bytes+bytes
}

// least returns the smaller of each.
func (b Budget) least(other Budget) Budget {
	return Budget{min(b.Units, other.Units), min(b.Items, other.Items), min(b.Bytes, other.Bytes)}
}
