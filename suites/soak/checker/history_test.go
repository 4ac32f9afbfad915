package checker_test

import (
	"testing"
	"time"

	"github.com/singletable/singletable/suites/soak/checker"
)

// event is a call that begins, or the response to an earlier one.
type event struct {
	id       int
	call     checker.Call
	response checker.Response
}

var (
	done    = checker.Response{Outcome: checker.Done}
	refused = checker.Response{Outcome: checker.Refused}
	unknown = checker.Response{Outcome: checker.Unknown}
	missing = checker.Response{Outcome: checker.Missing}
	exists  = checker.Response{Outcome: checker.Exists}
)

func call(id int, verb checker.Verb, value string) event {
	return event{id: id, call: checker.Call{Verb: verb, Value: value}}
}

func put(id int, value string, version int64) event {
	return event{id: id, call: checker.Call{Verb: checker.Put, Value: value, Version: version}}
}

func add(id int, n int64) event { return event{id: id, call: checker.Call{Verb: checker.Add, N: n}} }

func response(id int, a checker.Response) event { return event{id: id, response: a} }

// saw is the response to a get.
func saw(id int, version int64, value string) event {
	return response(id, checker.Response{Outcome: checker.Done, Entity: checker.Entity{Exists: true, Version: version, Value: value}})
}

func counted(id int, n int64) event {
	return response(id, checker.Response{Outcome: checker.Done, Entity: checker.Entity{Exists: true, N: n}})
}

// wrote is the response to an update.
func wrote(id int, version int64) event {
	return response(id, checker.Response{Outcome: checker.Done, Entity: checker.Entity{Version: version}})
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	created := []event{call(1, checker.Create, "a"), response(1, done)}
	for name, tt := range map[string]struct {
		events []event
		wrong  bool
	}{
		"one after the other":        {[]event{call(2, checker.Update, "b"), wrote(2, 2), call(3, checker.Get, ""), saw(3, 2, "b")}, false},
		"two at a time":              {[]event{call(2, checker.Update, "b"), call(3, checker.Get, ""), saw(3, 1, "a"), wrote(2, 2)}, false},
		"a lost write":               {[]event{call(2, checker.Update, "b"), wrote(2, 2), call(3, checker.Get, ""), saw(3, 1, "a")}, true},
		"a lost update":              {[]event{call(2, checker.Update, "b"), call(3, checker.Update, "c"), wrote(2, 2), wrote(3, 2)}, true},
		"a gap in versions":          {[]event{call(2, checker.Update, "b"), wrote(2, 3)}, true},
		"a read that goes back":      {[]event{call(2, checker.Update, "b"), call(3, checker.Get, ""), saw(3, 2, "b"), call(4, checker.Get, ""), saw(4, 1, "a"), wrote(2, 2)}, true},
		"created twice":              {[]event{call(2, checker.Create, "b"), response(2, done)}, true},
		"refused rightly":            {[]event{call(2, checker.Create, "b"), response(2, exists)}, false},
		"refused after a deletion":   {[]event{call(2, checker.Delete, ""), response(2, done), call(3, checker.Create, "b"), response(3, exists)}, true},
		"seen after a deletion":      {[]event{call(2, checker.Delete, ""), response(2, done), call(3, checker.Get, ""), saw(3, 1, "a")}, true},
		"missing without a deletion": {[]event{call(2, checker.Get, ""), response(2, missing)}, true},
		"updated while missing":      {[]event{call(2, checker.Delete, ""), response(2, done), call(3, checker.Update, "b"), wrote(3, 2)}, true},
		"said to be missing":         {[]event{call(2, checker.Update, "b"), response(2, missing)}, true},
		"put over a stale version":   {[]event{put(2, "b", 1), response(2, done), put(3, "c", 1), response(3, done)}, true},
		"put over its version":       {[]event{put(2, "b", 1), response(2, done), put(3, "c", 2), response(3, done)}, false},
		"refused, and applied":       {[]event{call(2, checker.Update, "b"), response(2, refused), call(3, checker.Get, ""), saw(3, 2, "b")}, true},
		"unknown, and applied":       {[]event{call(2, checker.Update, "b"), response(2, unknown), call(3, checker.Get, ""), saw(3, 2, "b")}, false},
		"unknown, and not":           {[]event{call(2, checker.Update, "b"), response(2, unknown), call(3, checker.Get, ""), saw(3, 1, "a")}, false},
		"unknown, and applied late": {[]event{
			call(2, checker.Update, "b"), response(2, unknown), call(3, checker.Get, ""), saw(3, 1, "a"),
			call(4, checker.Get, ""), saw(4, 2, "b"),
		}, false},
		"unknown, and applied twice": {[]event{
			call(2, checker.Update, "b"), response(2, unknown), call(3, checker.Get, ""), saw(3, 2, "b"),
			call(4, checker.Delete, ""), response(4, done), call(5, checker.Create, "c"), response(5, done),
			call(6, checker.Get, ""), saw(6, 2, "b"),
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
		"right":                   {[]event{add(1, 2), response(1, done), add(2, 3), response(2, done), call(3, checker.Get, ""), counted(3, 5)}, false},
		"counted twice":           {[]event{add(1, 2), response(1, done), call(3, checker.Get, ""), counted(3, 4)}, true},
		"not counted":             {[]event{add(1, 2), response(1, done), call(3, checker.Get, ""), response(3, missing)}, true},
		"unknown, counted twice":  {[]event{add(1, 2), response(1, unknown), call(3, checker.Get, ""), counted(3, 4)}, true},
		"unknown, counted once":   {[]event{add(1, 2), response(1, unknown), call(3, checker.Get, ""), counted(3, 2)}, false},
		"refused and not counted": {[]event{add(1, 2), response(1, refused), call(3, checker.Get, ""), response(3, missing)}, false},
		"refused and counted":     {[]event{add(1, 2), response(1, refused), call(3, checker.Get, ""), counted(3, 2)}, true},
	} {
		found(t, name, play(tt.events), tt.wrong)
	}
}

// play records the events and checks the history.
func play(events []event) error {
	var h checker.History
	ends := map[int]func(checker.Response){}
	for _, e := range events {
		if e.call.Verb != "" {
			ends[e.id] = h.Begin(e.id, e.call)
		} else {
			ends[e.id](e.response)
		}
	}
	return h.Linearizable(time.Minute)
}
