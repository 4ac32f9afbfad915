// Package response receives the responses of DynamoDB, and says what the error of a
// request tells about them.
//
// The SDK reads a response of any size, takes an empty one for success, only logs a
// wrong checksum, and panics over some that are malformed. Here, these are errors as
// other responses that cannot be read.
package response
