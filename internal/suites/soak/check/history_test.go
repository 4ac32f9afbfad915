package check_test

import (
	"testing"
	"time"

	"github.com/singletable/singletable/internal/suites/soak/check"
)

// event is a call that begins, or the answer to an earlier one.
type event struct {
	id     int
	call   check.Call
	answer check.Answer
}

var (
	done    = check.Answer{Outcome: check.Done}
	refused = check.Answer{Outcome: check.Refused}
	unknown = check.Answer{Outcome: check.Unknown}
	absent  = check.Answer{Outcome: check.Absent}
	exists  = check.Answer{Outcome: check.Exists}
)

func call(id int, verb check.Verb, value string) event {
	return event{id: id, call: check.Call{Verb: verb, Value: value}}
}

func put(id int, value string, version int64) event {
	return event{id: id, call: check.Call{Verb: check.Put, Value: value, Version: version}}
}

func add(id int, n int64) event { return event{id: id, call: check.Call{Verb: check.Add, N: n}} }

func answer(id int, a check.Answer) event { return event{id: id, answer: a} }

// saw is the answer to a get.
func saw(id int, version int64, value string) event {
	return answer(id, check.Answer{Outcome: check.Done, Entity: check.Entity{Exists: true, Version: version, Value: value}})
}

func counted(id int, n int64) event {
	return answer(id, check.Answer{Outcome: check.Done, Entity: check.Entity{Exists: true, N: n}})
}

// wrote is the answer to an update.
func wrote(id int, version int64) event {
	return answer(id, check.Answer{Outcome: check.Done, Entity: check.Entity{Version: version}})
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	created := []event{call(1, check.Create, "a"), answer(1, done)}
	for name, tt := range map[string]struct {
		events []event
		wrong  bool
	}{
		"one after the other":       {[]event{call(2, check.Update, "b"), wrote(2, 2), call(3, check.Get, ""), saw(3, 2, "b")}, false},
		"two at a time":             {[]event{call(2, check.Update, "b"), call(3, check.Get, ""), saw(3, 1, "a"), wrote(2, 2)}, false},
		"a lost write":              {[]event{call(2, check.Update, "b"), wrote(2, 2), call(3, check.Get, ""), saw(3, 1, "a")}, true},
		"a lost update":             {[]event{call(2, check.Update, "b"), call(3, check.Update, "c"), wrote(2, 2), wrote(3, 2)}, true},
		"a gap in versions":         {[]event{call(2, check.Update, "b"), wrote(2, 3)}, true},
		"a read that goes back":     {[]event{call(2, check.Update, "b"), call(3, check.Get, ""), saw(3, 2, "b"), call(4, check.Get, ""), saw(4, 1, "a"), wrote(2, 2)}, true},
		"created twice":             {[]event{call(2, check.Create, "b"), answer(2, done)}, true},
		"refused rightly":           {[]event{call(2, check.Create, "b"), answer(2, exists)}, false},
		"refused after a deletion":  {[]event{call(2, check.Delete, ""), answer(2, done), call(3, check.Create, "b"), answer(3, exists)}, true},
		"seen after a deletion":     {[]event{call(2, check.Delete, ""), answer(2, done), call(3, check.Get, ""), saw(3, 1, "a")}, true},
		"absent without a deletion": {[]event{call(2, check.Get, ""), answer(2, absent)}, true},
		"updated while absent":      {[]event{call(2, check.Delete, ""), answer(2, done), call(3, check.Update, "b"), wrote(3, 2)}, true},
		"said to be absent":         {[]event{call(2, check.Update, "b"), answer(2, absent)}, true},
		"put over a stale version":  {[]event{put(2, "b", 1), answer(2, done), put(3, "c", 1), answer(3, done)}, true},
		"put over its version":      {[]event{put(2, "b", 1), answer(2, done), put(3, "c", 2), answer(3, done)}, false},
		"refused, and carried out":  {[]event{call(2, check.Update, "b"), answer(2, refused), call(3, check.Get, ""), saw(3, 2, "b")}, true},
		"unknown, and carried out":  {[]event{call(2, check.Update, "b"), answer(2, unknown), call(3, check.Get, ""), saw(3, 2, "b")}, false},
		"unknown, and not":          {[]event{call(2, check.Update, "b"), answer(2, unknown), call(3, check.Get, ""), saw(3, 1, "a")}, false},
		"unknown, and carried out late": {[]event{
			call(2, check.Update, "b"), answer(2, unknown), call(3, check.Get, ""), saw(3, 1, "a"),
			call(4, check.Get, ""), saw(4, 2, "b"),
		}, false},
		"unknown, and carried out twice": {[]event{
			call(2, check.Update, "b"), answer(2, unknown), call(3, check.Get, ""), saw(3, 2, "b"),
			call(4, check.Delete, ""), answer(4, done), call(5, check.Create, "c"), answer(5, done),
			call(6, check.Get, ""), saw(6, 2, "b"),
		}, true},
	} {
		found(t, name, play(append(created[:2:2], tt.events...)), tt.wrong)
	}
}

func TestLinearizableCounter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events []event
		wrong  bool
	}{
		"right":                   {[]event{add(1, 2), answer(1, done), add(2, 3), answer(2, done), call(3, check.Get, ""), counted(3, 5)}, false},
		"counted twice":           {[]event{add(1, 2), answer(1, done), call(3, check.Get, ""), counted(3, 4)}, true},
		"not counted":             {[]event{add(1, 2), answer(1, done), call(3, check.Get, ""), answer(3, absent)}, true},
		"unknown, counted twice":  {[]event{add(1, 2), answer(1, unknown), call(3, check.Get, ""), counted(3, 4)}, true},
		"unknown, counted once":   {[]event{add(1, 2), answer(1, unknown), call(3, check.Get, ""), counted(3, 2)}, false},
		"refused and not counted": {[]event{add(1, 2), answer(1, refused), call(3, check.Get, ""), answer(3, absent)}, false},
		"refused and counted":     {[]event{add(1, 2), answer(1, refused), call(3, check.Get, ""), counted(3, 2)}, true},
	} {
		found(t, name, play(tt.events), tt.wrong)
	}
}

// play records the events and checks the history.
func play(events []event) error {
	var h check.History
	ends := map[int]func(check.Answer){}
	for _, e := range events {
		if e.call.Verb != "" {
			ends[e.id] = h.Begin(e.id, e.call)
		} else {
			ends[e.id](e.answer)
		}
	}
	return h.Linearizable(time.Minute)
}
