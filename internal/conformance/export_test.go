package conformance

// Extract is extract, for its test.
var Extract = extract
