package conformance

// Extract is extract and Settling is settling, for their tests.
var (
	Extract  = extract
	Settling = settling
)
