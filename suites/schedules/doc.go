// Package schedules runs the write protocols of this module under every order of
// their requests, with up to two faults, by [tabletest.Explore]. docs/evidence.md
// tells what was found and how much was tried.
//
// The gate runs a few schedules of each protocol, and make explore many.
package schedules

import _ "github.com/singletable/singletable/table/tabletest" // for its link
