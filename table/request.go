package table

import (
	"context"

	"github.com/singletable/singletable/internal/hedge"
)

// request is what the library knows about one request in addition to its input.
type request struct {
	operation, index string
	// attempts is given by writes, whose outcome depends on what happened to
	// earlier attempts; reads need them to be repeated when a response breaks off.
	attempts *attempts
	// body, if set, is what the call sends, "" before its first request. Later ones are
	// the same to the byte: maps have no order, and to DynamoDB Local a transaction of
	// another order is not the one of the token.
	body  *[]byte
	hedge hedge.Call

	// items takes the items of the response, nil if none is wanted. It keeps the first
	// ones, which it had before the request.
	items *items
	kept  int
	// decoded is set once the response was read here, and not by the client.
	decoded bool
}

// finish returns the error of a call that has ended. Without one, it takes the items of
// the output, unless they were read from the response.
func (r *request) finish(ctx context.Context, out any, err error) error {
	switch {
	case err != nil:
		if err = withholdResponse(err); ctx.Err() == nil || responded(err) {
			return err
		}
		return join(err, ended(ctx)) // why it has ended
	case r.items != nil && !r.decoded:
		r.items.begin(r.kept)
		r.items.takeOutput(out)
	}
	return nil
}
