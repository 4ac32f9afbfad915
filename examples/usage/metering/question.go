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

// DecodeQuestion reads a question. The error is of type [Problems]. What depends on
// the [Options] is checked by [Reader.Usage].
func DecodeQuestion(text []byte) (Question, error) {
	members, err := object(text)
	if err != nil {
		return Question{}, err
	}
	var workspace, user, metric, from, to *string
	if err := decode(members, map[string]any{
		"workspaceId": &workspace, "userId": &user, "metricId": &metric, "fromDate": &from, "toDate": &to,
	}); err != nil {
		return Question{}, err
	}
	var q Question
	var p Problems
	q.WorkspaceID = p.identifier("workspaceId", workspace, user == nil)
	q.UserID = p.identifier("userId", user, false)
	q.MetricID = p.identifier("metricId", metric, true)
	q.From, q.To = p.hour("fromDate", from), p.hour("toDate", to)
	return q, p.err()
}

// end is the first moment after the question's time.
func (q Question) end() time.Time { return q.To.Add(time.Hour) }

// validate reports everything that is wrong with the question.
func (q Question) validate(o Options, now time.Time) error {
	var p Problems
	if q.WorkspaceID != "" || q.UserID == "" {
		p.identifier("workspaceId", &q.WorkspaceID, true)
	}
	if q.UserID != "" {
		p.identifier("userId", &q.UserID, false)
	}
	p.identifier("metricId", &q.MetricID, true)
	for _, bound := range []struct {
		name string
		at   time.Time
	}{{"fromDate", q.From}, {"toDate", q.To}} {
		// Keys have years of four digits, and so has the end of the hour.
		if utc := bound.at.UTC(); !utc.Equal(utc.Truncate(time.Hour)) || utc.Year() < 0 || utc.Add(time.Hour).Year() > 9999 {
			p.add("%s is not a whole hour before 9999-12-31T23", bound.name)
		}
	}
	switch span := q.To.Sub(q.From); {
	case span < 0:
		p.add("fromDate is after toDate")
	case span > time.Duration(o.RangeDays)*day:
		p.add("fromDate and toDate are more than %d days apart", o.RangeDays)
	}
	if o.expired(q.From, now) {
		// The total would lack what has expired, and look like a good one.
		p.add("fromDate is longer ago than counters are kept")
	}
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
