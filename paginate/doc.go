// Package paginate seals the position after a page of a DynamoDB query into a
// cursor for clients, and opens it again.
//
// DynamoDB returns that position as the last evaluated key, a map of the item's
// keys. A client that gets this map, even in base64, can read keys that a
// filter hid from it. It can edit them to read another user's partition. A
// cursor of this package is encrypted and authenticated. A client cannot read
// it, and a changed cursor, or one of another user, is refused.
//
// AWS: Query, Amazon DynamoDB API Reference.
//
// # Nouns
//
// A [Position] holds the values of the key attributes that order the query,
// without the queried partition key. A scope is everything that must be the
// same in the next request, as bytes that the server computes for each request.
// A cursor is a position sealed for a scope. A [Codec] seals positions and
// opens cursors with a ring of [Key] values.
//
// Package table does all this by itself. It computes the scope from the table,
// the index, the partition, the prefix of the range, the direction and the
// scope of the caller. A handler creates the codec, passes the client's cursor
// on, and handles a refusal.
//
// # Keys
//
// A key is 32 random bytes. Make one with
//
//	openssl rand -base64 32
//
// keep it in a secret store, and read it when the service starts:
//
//	keys, err := paginate.ParseKeys(secret)
//	if err != nil {
//		return err
//	}
//	codec, err := paginate.New(keys, nil)
//
// All instances of a service share the ring. Unrelated services and environments
// should not share one. Without a codec, a process draws a key for itself: that
// suits tests and programs of one process. Everywhere else a client whose next
// request reaches another instance gets [NoSharedKey].
//
// # Rotation
//
// The first key of the ring seals. All keys open. To replace key a by key b:
//
//  1. Deploy "a,b": every instance can open what b will seal.
//  2. Deploy "b,a": b seals, and the cursors of a are still good.
//  3. Deploy "b" once the lifetime of a cursor has passed, 72 hours by default.
//
// A running program follows a changed secret with [Codec.SetKeys] instead of a deployment:
// each step then waits until all instances have read the secret.
//
// Remove a leaked key at once; clients then start from the first page. Nonces are
// random, so a key must not seal more than 2³² cursors (four billion): rotate well
// before. A service that issues a hundred cursors a second rotates once a year.
//
// # Refusals
//
// For every refused cursor, [Codec.Open] returns an error that matches
// [ErrInvalidCursor]. Respond with status 400 and the error's own text, which
// is the same for every cause, and let the client start from the first page. Do
// not return the first page instead: the client would treat it as the next one.
// The cause, for logs and metrics, is the Reason of [*Error]. A rise of
// [UnknownKey] means that a rotation was too fast; of [NoSharedKey], that an
// instance has no codec; of [Future], a wrong clock; of [Mismatch] or
// [OutOfRange], a client that changes its query between pages, or an attack.
//
// Errors of [Codec.Seal] are faults of the server and deserve status 500.
//
// [Inspect] shows an operator with the keys what a refused cursor holds; the
// command singletable does it from a shell.
//
// # What a cursor protects
//
//   - The position is secret: AES-256-GCM.
//   - It cannot be changed, cut, lengthened or forged.
//   - It opens only for the scope that it was sealed for. Put the tenant, the
//     principal and the endpoint into the scope, and nobody else can use it.
//   - It expires 72 hours after it was issued, by the server's clock. One from
//     more than five minutes in the future is refused too.
//
// The cursors of [Insecure] are not sealed: they protect from accidents only.
//
// # What it does not protect
//
//   - It is no permission. Authenticate each request, and take the partition
//     key from the authenticated user.
//   - It can be used again until it expires, by everyone whom the scope admits.
//   - Its length tells roughly how long the keys are, and whether they hold a
//     timestamp. Its first bytes tell its kind and the id of its key.
//   - It is a position, not a snapshot: items written or deleted in between are
//     seen or missed as in any query.
//
// # Format
//
// A cursor is unpadded base64url of
//
//	1 byte    format (six bits) and kind (two bits: page or watermark)
//	4 bytes   key id                            (not in unsealed cursors)
//	12 bytes  nonce                             (not in unsealed cursors)
//	4 bytes   issue time, seconds since 1970    (encrypted)
//	n bytes   the values of the position        (encrypted)
//	16 bytes  tag                               (8 bytes of checksum, unsealed)
//
// The head and the scope are authenticated with the rest. Each value takes its
// length and one or two bytes more; a timestamp such as
// 2024-01-15T10:05:00.000Z within a string takes seven bytes, not 24. So the
// position TX#2024-01-15T10:05:00.000Z#tx-abc seals to 74 characters, as the
// example of [Codec] prints. No cursor is longer than 8,192 characters. Positions
// have one encoding, and every other is refused.
package paginate
