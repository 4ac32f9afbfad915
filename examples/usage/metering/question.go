package metering

import (
	"fmt"
	"time"

	"github.com/singletable/singletable/keys"
)

// Question asks how much was counted from one hour on, up to another.
type Question struct {
	Meter
	// From is included, To is not. Both are whole hours.
	From, To time.Time
}

// Validate reports everything that is wrong with the question, as an error that
// matches [ErrInvalid].
func (q Question) Validate() error {
	var p problems
	p.identifier("workspaceId", &q.WorkspaceID, true)
	p.identifier("metricId", &q.MetricID, true)
	if q.UserID != "" {
		p.identifier("userId", &q.UserID, false)
	}
	for _, bound := range []struct {
		name string
		at   time.Time
	}{{"from", q.From}, {"to", q.To}} {
		if utc := bound.at.UTC(); !utc.Equal(utc.Truncate(time.Hour)) || utc.Year() < 0 || utc.Year() > 9999 {
			p.add("%s is not a whole hour", bound.name)
		}
	}
	switch span := q.To.Sub(q.From); {
	case span <= 0:
		p.add("from is not before to")
	case span > MaxDays*day:
		p.add("from and to are more than %d days apart", MaxDays)
	}
	return p.err()
}

// Part is a piece of a question's time that one kind of counters covers.
type Part struct {
	// Kind is [Hour] or [Day].
	Kind     keys.Prefix
	From, To time.Time
}

// Range is the part's range of sort keys.
func (p Part) Range() keys.Range { return p.Kind.Between(p.From, p.To) }

// String describes the part for people.
func (p Part) String() string {
	return fmt.Sprintf("%s %s to %s", p.Kind, p.From.Format(hourLayout), p.To.Format(hourLayout))
}

// Split returns the parts of a time, which begins and ends with whole hours, in
// their order: the hours before the first midnight, the days, and the hours
// after the last midnight. Those that are empty are left out. A time that holds
// no whole day is hours alone.
func Split(from, to time.Time) []Part {
	from, to = from.UTC(), to.UTC()
	first, last := midnight(from), midnight(to)
	if first.Before(from) {
		first = first.Add(day)
	}
	if !first.Before(last) {
		return []Part{{Hour, from, to}}
	}
	var parts []Part
	for _, p := range []Part{{Hour, from, first}, {Day, first, last}, {Hour, last, to}} {
		if p.From.Before(p.To) {
			parts = append(parts, p)
		}
	}
	return parts
}
