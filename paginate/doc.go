// Package paginate turns the place where a page of a DynamoDB query ended into
// a token that a client may hold, and back.
//
// DynamoDB gives that place as the last evaluated key, a map of the item's
// keys. Handing it out, even in base64, lets a client read keys that a filter
// kept from it, and edit them to read another user's partition. A token of
// this package is encrypted and authenticated: it says nothing to the client,
// and no changed or borrowed token is accepted.
//
// # Nouns
//
// A [Position] is the place: the values of the key attributes that order the
// query, without the partition key that is queried. A scope is everything that
// must be the same when the client comes back, as bytes that the server
// computes again for each request. A token is a position sealed for a scope. A
// [Codec] seals positions and opens tokens with a ring of [Key] values.
//
// Package table does all this by itself: it computes the scope from the table,
// the index, the partition, the range, the direction, the filter and the
// scope of the caller, and gives and takes tokens. A handler's author has to
// make the codec, pass on the client's token, and answer a refused one.
//
// # Keys
//
// A key is 32 random bytes. Make one with
//
//	openssl rand -base64 32
//
// keep it in a secret store, and hand it to the service as an environment
// variable:
//
//	keys, err := paginate.ParseKeys(os.Getenv("CURSOR_KEYS"))
//	if err != nil {
//		return err
//	}
//	codec, err := paginate.New(keys, nil)
//
// All instances of a service share the ring; services and environments that
// have nothing to say to each other should not. Without any key there is
// [Unsealed], for development only.
//
// # Rotation
//
// The first key of the ring seals, all open. To replace key a by key b:
//
//  1. Deploy "a,b": every instance can open what b will seal.
//  2. Deploy "b,a": b seals, and the tokens of a are still good.
//  3. Deploy "b" once the lifetime of a token has passed, 72 hours by default.
//
// A key that has leaked is removed at once; clients then start from the first
// page. Nonces are random, so a key must not seal more than 2³² tokens (four
// billion): rotate well before, which for a service that gives out a hundred
// tokens a second means once a year.
//
// # Refusals
//
// Whatever is wrong with a token, [Codec.Open] returns an error that matches
// [ErrInvalidCursor]. Answer status 400 with the error's own text, which is
// the same for every cause, and let the client start from the first page. Do
// not start over on its behalf: it would take the first page for the next one.
// The cause, for logs and metrics, is the Reason of [*Error]. A rise of
// [UnknownKey] means a rotation that went too fast; of [Future], a wrong
// clock; of [Mismatch], a client that changes its filters between pages, or
// somebody trying.
//
// Errors of [Codec.Seal] are faults of the server and deserve status 500.
//
// [Inspect] shows an operator who has the keys what a refused token holds; the
// command singletable does it from a shell.
//
// # What a token protects
//
//   - The position is secret: AES-256-GCM.
//   - It cannot be changed, cut, lengthened or made up.
//   - It opens only for the scope that it was sealed for. Put the tenant, the
//     principal and the endpoint into the scope, and one user's token is
//     nothing in another's hands.
//   - It ends: 72 hours after it was issued, by the server's clock. One from
//     more than five minutes in the future is refused too.
//
// # What it does not protect
//
//   - It is no permission. Authenticate each request, and take the partition
//     key from the authenticated user.
//   - It can be used again until it expires, by whoever the scope admits.
//   - Its length tells roughly how long the keys are, and whether they hold a
//     timestamp. Its first bytes tell its kind and the id of its key.
//   - It is a place, not a snapshot: items written or deleted in between are
//     seen or missed as in any query.
//
// # Format
//
// A token is unpadded base64url of
//
//	1 byte    format (six bits) and kind (two bits: page or watermark)
//	4 bytes   key id                            (not in unsealed tokens)
//	12 bytes  nonce                             (not in unsealed tokens)
//	4 bytes   issue time, seconds since 1970    (encrypted)
//	n bytes   the values of the position        (encrypted)
//	16 bytes  tag                               (8 bytes of checksum, unsealed)
//
// The head and the scope are authenticated with the rest. Each value takes its
// length and one or two bytes more; a timestamp such as
// 2024-01-15T10:05:00.000Z within a string takes seven bytes, not 24. So the
// position TX#2024-01-15T10:05:00.000Z#tx-abc seals to 74 characters, and no
// token is longer than 8,192. Positions have one encoding, and every other is
// refused.
package paginate
