package conformance

// Settling is settling, for its test.
var Settling = settling
