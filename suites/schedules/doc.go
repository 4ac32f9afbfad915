// Package schedules runs the write protocols of this module under every order of
// their requests, with up to two faults, by [tabletest.Explore]. docs/evidence.md
// says what holds, and how much was tried.
//
// Each table of an operation replays its requests from the first one on, so the faults meet
// replays. The SDK's client makes every call with the flag -replay=false, and the calls of
// Setup and of the invariant in any case. The run fails if not enough of the requests were
// replayed, or with the flag, one was.
//
// The gate runs a few schedules of each protocol, and make explore many.
package schedules

import _ "github.com/singletable/singletable/table/tabletest" // for its link
