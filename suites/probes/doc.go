// Package probes compares the library with real DynamoDB, as others have met it.
//
// The Parity Suite states claims about DynamoDB, runs them on AWS in every Region, and
// publishes what was said. Its repositories are public: paritysuite/dynamodb-conformance,
// before that nubo-db/dynamodb-conformance. Other rows are from AWS's pages, reports of users
// and recordings of emulators, which they name. A [probe] of the tests here is one such claim
// that a call of the library can make: the call, how DynamoDB responds to its request, and
// what is expected of the library:
//
//   - What DynamoDB refuses whatever is stored is refused before it is sent.
//   - What it refuses for what is stored returns the error that the documentation names.
//   - What it accepts is sent, and means the same.
//
// The probes need no engine: the responses are AWS's. All requests are replayed; with the flag
// -replay=false, the SDK's client makes every call.
package probes
