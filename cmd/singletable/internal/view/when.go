package view

import (
	"fmt"
	"time"
)

// moment is a time with its distance from now.
type moment struct {
	// Stamp is the time for programs, Full for people.
	Stamp, Full string
	// Distance is "3 days ago" or "in 2 h".
	Distance string
}

func newMoment(t, now time.Time) moment {
	t = t.UTC()
	return moment{
		Stamp: t.Format(time.RFC3339Nano), Full: t.Format("Mon 2 Jan 2006, 15:04:05 MST"),
		Distance: distance(now.Sub(t)),
	}
}

// distance says how long ago something was, or how far ahead it is.
func distance(ago time.Duration) string {
	switch span := length(ago.Abs()); {
	case span == "":
		return "now"
	case ago < 0:
		return "in " + span
	default:
		return span + " ago"
	}
}

// length returns a duration in its largest unit, and "" below a second.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		upTo, size time.Duration
		name       string
	}{
		{time.Second, 0, ""},
		{time.Minute, time.Second, "s"},
		{time.Hour, time.Minute, "min"},
		{2 * day, time.Hour, "h"},
		{60 * day, day, "days"},
		{730 * day, 30*day + 10*time.Hour, "months"},
	} {
		if d < unit.upTo {
			if unit.size == 0 {
				return ""
			}
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d years", d/(365*day+6*time.Hour))
}

// expiry is what is known of the time from which on an item counts as missing.
type expiry struct {
	moment
	// Expired means that the time has come, and that DynamoDB has not deleted the
	// item yet.
	Expired bool
	Far     bool // so far ahead that a list does not show it
}

// String says when the item expires.
func (e expiry) String() string {
	if e.Expired {
		return "expired " + e.Distance
	}
	return "expires " + e.Distance
}

// farAhead is when an expiry says no more than that the item has one. A list leaves it out.
const farAhead = 2 * 365 * 24 * time.Hour
