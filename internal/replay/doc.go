// Package replay sends requests of DynamoDB as the SDK's client has sent them before: the same
// URL and header, with another body, time, id, token and signature. It saves what the client
// does between a call and HTTP, which is most of what a request costs.
//
// It only ever succeeds. Each response but that of a success, and each failure, is handed to
// the client as the result of its own first attempt, so that errors, retries and their delays
// are the client's. The signature is made by the client's signer.
package replay
