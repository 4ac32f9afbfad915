package check

import "flag"

// Limit bounds the schedules that a test explores for each number of faults, see
// the Limit of tabletest.Case. It is small by default, and large in make explore.
var Limit = flag.Int("limit", 4, "how many schedules to run in order, and how many drawn at random, of each protocol and number of faults")
