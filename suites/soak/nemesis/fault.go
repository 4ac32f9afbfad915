// Package nemesis injects faults into the requests of one client, by a script that
// was drawn before they are sent.
package nemesis

import "slices"

// Fault is a kind of fault; its text is the fault's line in the report.
type Fault string

// The faults that a [Script] injects into requests. Pass, the zero value, lets
// the request pass.
const (
	Pass            Fault = ""
	Reset           Fault = "connection reset before the request"
	LostResponse    Fault = "response lost after the execution"
	ErrorBefore     Fault = "500 before the execution"
	ErrorAfter      Fault = "500 after the execution"
	Throttled       Fault = "throttled"
	ReasonThrottled Fault = "throttled, as a cancellation reason"
	Conflict        Fault = "transaction conflict"
	InProgress      Fault = "transaction in progress"
	Unprocessed     Fault = "items or keys of a batch left unprocessed"
	Slow            Fault = "slow response"
	Truncated       Fault = "response truncated"
	Corrupted       Fault = "response corrupted"
	CancelBefore    Fault = "context ended before the request"
	CancelDuring    Fault = "context ended during the request"
	CancelAfter     Fault = "context ended before the response"
)

// The faults that have no place in a script.
const (
	ClockJump      Fault = "clock jump"
	ProcessKilled  Fault = "process killed"
	ConsumerKilled Fault = "consumer killed"
	EngineKilled   Fault = "engine killed and started again"
)

// passing are the faults from which a client recovers by a retry.
var passing = []Fault{
	Reset, LostResponse, ErrorBefore, ErrorAfter, Throttled, ReasonThrottled,
	Conflict, InProgress, Unprocessed, Slow, Truncated, Corrupted,
}

// surfacing are the other faults of scripts: the caller may see them.
var surfacing = []Fault{CancelBefore, CancelDuring, CancelAfter}

// Faults returns every fault that a script can inject.
func Faults() []Fault { return slices.Concat(passing, surfacing) }

// Resends is how many attempts a client of DynamoDB makes for one call by default.
const Resends = 4

// Passing reports whether only the client may notice the faults: they are
// passing, and no more than its retries cover.
func Passing(met []Fault) bool {
	// With 3 of the others, 6 are one fewer than table.Options.MaxAttempts.
	const repeats = 7
	resent, repeated := 0, 0
	for _, k := range met {
		switch {
		case !slices.Contains(passing, k):
			return false
		case k == Slow:
		case own(k):
			repeated++
		default:
			resent++
		}
	}
	return resent < Resends && repeated < repeats
}

// own reports whether the library recovers from a fault and the SDK does not.
func own(k Fault) bool { return k == Conflict || k == ReasonThrottled || k == Unprocessed }

// Own counts the faults from which only the library can have recovered.
func Own(met []Fault) int {
	n := 0
	for _, k := range met {
		if own(k) {
			n++
		}
	}
	return n
}

// Unsettling reports whether a fault was met after which a client cannot tell
// whether its request was executed.
func Unsettling(met []Fault) bool {
	return slices.ContainsFunc(met, func(k Fault) bool {
		switch k {
		case Throttled, ReasonThrottled, Conflict, Unprocessed, Slow:
			return false
		}
		return true
	})
}

// Silencing reports whether a fault was met after which no response came that can
// be read: the request may still be in flight when a later attempt is refused.
func Silencing(met []Fault) bool {
	return slices.ContainsFunc(met, func(k Fault) bool {
		return k == Reset || k == LostResponse || k == Truncated || k == Corrupted
	})
}
