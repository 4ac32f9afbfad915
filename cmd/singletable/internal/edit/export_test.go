package edit

// Differences is differences for tests.
var Differences = differences
