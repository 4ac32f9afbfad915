package metering

import (
	"fmt"
	"time"

	"github.com/singletable/singletable/keys"
)

// Question asks how much was counted from one hour to another. Its JSON is
//
//	{"workspaceId":"acme","userId":"ana","metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}
type Question struct {
	Meter
	// From is the first hour, To the last one. Both are included, so a day is
	// from 00 to 23, and one hour is from and to itself.
	From, To time.Time
}

// Decode reads a question and validates it. The error, [Problems], lists everything that
// is wrong.
func (r *Reader) Decode(text []byte) (Question, error) {
	d := read(text)
	if d.members == nil {
		return Question{}, d.err()
	}
	var q Question
	q.WorkspaceID = d.id("workspaceId", !d.has("userId"))
	q.UserID = d.id("userId", false)
	q.MetricID = d.id("metricId", true)
	from, begins := d.hour("fromDate")
	to, ends := d.hour("toDate")
	q.From, q.To = from, to
	if begins {
		d.bound("fromDate", from)
		d.kept("fromDate", from, r.options, r.counters.Now())
	}
	if ends {
		d.bound("toDate", to)
	}
	if begins && ends {
		d.span(q, r.options)
	}
	d.unknown()
	return q, d.err()
}

// bound adds what is wrong with the first or the last hour of a question.
func (p *Problems) bound(name string, at time.Time) {
	// Keys have years of four digits, and so has the end of the hour.
	if utc := at.UTC(); !utc.Equal(utc.Truncate(time.Hour)) || utc.Year() < 0 || utc.Add(time.Hour).Year() > 9999 {
		p.add("%s is not a whole hour before 9999-12-31T23", name)
	}
}

// span adds what is wrong with the length of a question's time.
func (p *Problems) span(q Question, o Options) {
	switch span := q.To.Sub(q.From); {
	case span < 0:
		p.add("fromDate is after toDate")
	case span > time.Duration(o.RangeDays)*day:
		p.add("fromDate and toDate are more than %d days apart", o.RangeDays)
	}
}

// kept adds that an hour is too long ago: its counters may be deleted. Without them, a
// total looks like a good one.
func (p *Problems) kept(name string, hour time.Time, o Options, now time.Time) {
	if o.expired(hour, now) {
		p.add("%s is longer ago than counters are kept", name)
	}
}

// end is the first moment after the question's time.
func (q Question) end() time.Time { return q.To.Add(time.Hour) }

// validate reports everything that is wrong with the question.
func (q Question) validate(o Options, now time.Time) error {
	var p Problems
	if q.WorkspaceID != "" || q.UserID == "" {
		p.identifier("workspaceId", q.WorkspaceID)
	}
	if q.UserID != "" {
		p.identifier("userId", q.UserID)
	}
	p.identifier("metricId", q.MetricID)
	p.bound("fromDate", q.From)
	p.bound("toDate", q.To)
	p.span(q, o)
	p.kept("fromDate", q.From, o, now)
	return p.err()
}

// Part is a piece of a question's time that one kind of counters covers.
type Part struct {
	// Kind is [Hour] or [Day].
	Kind keys.Prefix
	// From is included, To is not.
	From, To time.Time
}

// Range is the part's range of sort keys.
func (p Part) Range() keys.Range { return p.Kind.Between(p.From, p.To) }

// String describes the part for people.
func (p Part) String() string {
	return fmt.Sprintf("%s %s to %s", p.Kind, p.From.Format(hourLayout), p.To.Format(hourLayout))
}

// Split returns the parts of the time from one hour up to another, excluded, in
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
