package edit

// Differences and Seen are differences and seen for tests.
var (
	Differences = differences
	Seen        = seen
)
