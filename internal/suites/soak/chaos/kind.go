// Package chaos breaks the requests of one worker by a script that was written
// before they are sent.
package chaos

import "slices"

// Kind is a kind of fault; its text is the fault's line in the report.
type Kind string

// The faults that a [Script] injects into requests. Pass, the zero value, lets
// the request pass.
const (
	Pass            Kind = ""
	Reset           Kind = "connection reset before the request"
	LostAnswer      Kind = "answer lost after the request was carried out"
	ErrorBefore     Kind = "500 before the request was carried out"
	ErrorAfter      Kind = "500 after the request was carried out"
	Throttled       Kind = "throttled"
	ReasonThrottled Kind = "throttled, as a cancellation reason"
	Conflict        Kind = "transaction conflict"
	InProgress      Kind = "transaction in progress"
	LeftOver        Kind = "items or keys of a batch left unprocessed"
	Slow            Kind = "slow answer"
	Truncated       Kind = "answer cut off in the middle"
	Garbled         Kind = "answer malformed"
	EndBefore       Kind = "context ended before the request"
	EndDuring       Kind = "context ended during the request"
	EndAfter        Kind = "context ended before the answer"
)

// The faults that have no place in a script.
const (
	ClockJump     Kind = "clock jump"
	ProcessKilled Kind = "process killed"
	EngineKilled  Kind = "engine killed and started again"
)

// passing are the faults that a client mends by asking again.
var passing = []Kind{
	Reset, LostAnswer, ErrorBefore, ErrorAfter, Throttled, ReasonThrottled,
	Conflict, InProgress, LeftOver, Slow, Truncated, Garbled,
}

// surfacing are the other faults of scripts: the caller may see them.
var surfacing = []Kind{EndBefore, EndDuring, EndAfter}

// Kinds returns every fault that a script can inject.
func Kinds() []Kind { return slices.Concat(passing, surfacing) }

// Passing reports whether faults are such that nobody but the client may notice
// them: passing ones, and no more of them than a client mends.
func Passing(met []Kind) bool {
	const (
		resends = 3 // attempts of the SDK's retryer for one call
		repeats = 8 // the default of table.Options.MaxAttempts
	)
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
	return resent < resends && repeated < repeats
}

// own reports whether a fault is one that the library mends and not the SDK.
func own(k Kind) bool { return k == Conflict || k == ReasonThrottled || k == LeftOver }

// Own counts the faults that only the library can have mended.
func Own(met []Kind) int {
	n := 0
	for _, k := range met {
		if own(k) {
			n++
		}
	}
	return n
}

// Unsettling reports whether a fault was met after which a client cannot tell
// whether its request was carried out.
func Unsettling(met []Kind) bool {
	return slices.ContainsFunc(met, func(k Kind) bool {
		switch k {
		case Throttled, ReasonThrottled, Conflict, LeftOver, Slow:
			return false
		}
		return true
	})
}

// Silencing reports whether a fault was met after which no response came that can
// be read: the request may still be in flight when a later attempt is refused.
func Silencing(met []Kind) bool {
	return slices.ContainsFunc(met, func(k Kind) bool {
		return k == Reset || k == LostAnswer || k == Truncated || k == Garbled
	})
}
