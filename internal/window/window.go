// Package window says what the position of a cursor leaves of a range of sort keys. The
// bounds of a range can move between two pages, as those of the last 24 hours do.
package window

import (
	"strings"

	"github.com/singletable/singletable/keys"
)

// Order is the order in which a range is read.
type Order struct {
	Compare    func(a, b keys.SK) int
	Descending bool
	// Segments means that sort keys are texts of package keys, whose whole segments tell
	// one kind of items from another.
	Segments bool
	// Unique means that each sort key is there once at most.
	Unique bool
}

// Rest is what a position leaves of a range.
type Rest int

const (
	// Part is what follows the position.
	Part Rest = iota
	// Whole means that all of the range follows the position, which is outside.
	Whole
	// Nothing means that the read has ended.
	Nothing
	// Other means that the position is of another range. Clocks move no range so.
	Other
)

// After returns what a position leaves of a valid range. An empty range has nothing,
// whatever the position is.
func After(r keys.Range, at keys.SK, o Order) Rest {
	below := r.From != "" && o.Compare(at, r.From) < 0
	above := r.To != "" && o.Compare(at, r.To) > 0
	end := r.To
	if o.Descending {
		end = r.From
	}
	switch {
	case o.Empty(r):
		return Nothing
	case !strings.HasPrefix(string(at), string(o.shared(r))), above && !o.Descending:
		return Other
	case below && o.Descending:
		return Nothing
	case below || above:
		return Whole
	case o.Unique && end != "" && o.Compare(at, end) == 0:
		return Nothing
	}
	return Part
}

// Empty reports whether a range is empty, since its From is greater than its To.
func (o Order) Empty(r keys.Range) bool {
	return r.From != "" && r.To != "" && o.Compare(r.From, r.To) > 0
}

// shared returns the beginning that all sort keys of the range have in common: its
// prefix, or the whole segments that both bounds begin with.
func (o Order) shared(r keys.Range) keys.SK {
	if r.Prefix != "" || !o.Segments {
		return r.Prefix
	}
	n := 0
	for n < min(len(r.From), len(r.To)) && r.From[n] == r.To[n] {
		n++
	}
	return r.From[:strings.LastIndexByte(string(r.From[:n]), '#')+1]
}
