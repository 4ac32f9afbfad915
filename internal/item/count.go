package item

import "errors"

// Counted is the attribute of an entity with counters that says what was counted of it, its
// mark. It is a map of two members: CountedOf is the key of the main item, which tells it from
// copies, and CountedIn a map, by the name of the counter, of lists: the type of the item that has
// the number, its attribute, the amount that was added, and the item's key.
const (
	Counted   = "entityCounted"
	CountedOf = "of"
	CountedIn = "in"
)

// ErrNoNumber means that an attribute that counts has a value that cannot be added to. It is
// part of a table.ErrUncounted.
var ErrNoNumber = errors.New("an attribute that counts is stored as NULL or text, or is too great a number")

// Term is an amount that counting adds to a number.
type Term struct {
	// Counter names the counter in errors.
	Counter   string
	Attribute string
	N         int64
	// Min and Max bound the number; nil means no bound. Max is checked if the sum of all terms
	// of the attribute is above 0, and Min if it is below.
	Min, Max *int64
}

// Addition is what package repo adds to an item that counts.
type Addition struct {
	Terms []Term
	// Type is the type of the item; empty means any.
	Type string
	// Creates means that a missing item is created. Otherwise it must be there.
	Creates bool
	// Counts means that the item counts something that it did not count before. So it must
	// not be deleted in the same transaction.
	Counts bool
}
