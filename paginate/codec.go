package paginate

import (
	"bytes"
	"cmp"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultTTL = 72 * time.Hour
	maxSkew    = 5 * time.Minute
	maxCursor  = 8192 // characters
	timeSize   = 4    // whole seconds since 1970, good until 2106
)

// The first byte of a cursor is its head. The high six bits, which are also the cursor's
// first character, hold the format, in a small letter if the cursor leads to what comes
// before its position. The low two hold the kind, and whether it leads there from the
// edge of the query.
const (
	formatSealed   = ('S' - 'A') << 2 // by a ring that services share
	formatProcess  = ('P' - 'A') << 2 // by the key of one process
	formatInsecure = ('U' - 'A') << 2

	smallLetter = 26 << 2 // from a capital

	kindPage      = 0
	kindWatermark = 1
	kindMask      = 1

	fromEdge = 2
)

// head is the first byte of a cursor, taken apart.
type head struct {
	format, kind     byte
	before, fromEdge bool
}

// readHead returns a format that no codec has if none writes the byte.
func readHead(first byte) head {
	h := head{format: first &^ (kindMask | fromEdge), kind: first & kindMask, fromEdge: first&fromEdge != 0}
	if h.before = h.format >= smallLetter; h.before {
		h.format -= smallLetter
	}
	return h
}

func (h head) byte() byte {
	first := h.format | h.kind
	if h.before {
		first += smallLetter
	}
	if h.fromEdge {
		first |= fromEdge
	}
	return first
}

// encoding refuses stray bits in the last character. It would still skip line
// breaks; decodeCursor refuses them.
var encoding = base64.RawURLEncoding.Strict()

// Codec seals positions into cursors and opens them again. It is safe for concurrent
// use. It comes from [New] or [Insecure]. Only its keys can change: see
// [Codec.SetKeys].
//
// A nil *Codec seals with a key that the process draws for itself. Its cursors
// are as secret as any, but no other process opens them, nor this one after a
// restart: both refuse them as [NoSharedKey]. So a service with several instances
// needs a codec from New.
//
// The methods of the zero Codec return an error that is not [ErrInvalidCursor].
type Codec struct {
	format byte
	kind   byte
	ring   *ring
	ttl    time.Duration
	now    func() time.Time
}

// ring holds the keys of a codec and of its views. The first seals, all open. A slice is
// never changed, only replaced.
type ring struct{ keys atomic.Pointer[[]sealer] }

// sealer is a key ready for use: its id as stored in cursors, and its cipher,
// which is behind a function for the reason that [Key] gives.
type sealer struct {
	id   []byte
	aead func() cipher.AEAD
}

// Options adjusts a [Codec]. The zero value is ready for production.
type Options struct {
	// TTL is how long a cursor can be opened after it was sealed, one second or
	// more. Zero means 72 hours. A cursor holds the whole second in which it was
	// issued, so it expires up to a second early, and never late.
	TTL time.Duration

	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// New returns a codec that seals with the first of keys and opens with any of
// them. It refuses an empty ring, a zero key and a key that is there twice.
// Options may be nil.
func New(keys []Key, opts *Options) (*Codec, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	o.TTL = cmp.Or(o.TTL, defaultTTL)
	if o.TTL < time.Second {
		return nil, fmt.Errorf("paginate: TTL %v is under a second", o.TTL)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Codec{format: formatSealed, ring: &ring{}, ttl: o.TTL, now: o.Now}
	if err := c.SetKeys(keys); err != nil {
		return nil, err
	}
	return c, nil
}

// SetKeys replaces the keys of a codec that [New] has made, as of a secret that has
// changed. It follows them for all views and tables that have the codec. Calls in progress
// go on with the keys before. The rules of a rotation are those of the package: what seals
// must have opened everywhere before.
//
// It refuses the keys that New refuses, and every other codec. The codec then keeps its
// keys.
func (c *Codec) SetKeys(keys []Key) error {
	if c == nil || c.ring == nil || c.format != formatSealed {
		return errors.New("paginate: the keys of this Codec are not set: it is not from New")
	}
	if len(keys) == 0 {
		return errors.New("paginate: no keys")
	}
	var sealers []sealer
	for i, k := range keys {
		if k.secret == nil {
			return fmt.Errorf("paginate: key %d is the zero Key", i+1)
		}
		id := k.id()
		if find(sealers, id) != nil {
			return fmt.Errorf("paginate: key %d has the id of an earlier one: %v", i+1, k)
		}
		aead, err := k.aead()
		if err != nil {
			return fmt.Errorf("paginate: key %d: %w", i+1, err)
		}
		sealers = append(sealers, sealer{id: id, aead: func() cipher.AEAD { return aead }})
	}
	c.ring.keys.Store(&sealers)
	return nil
}

// keys returns the keys of the codec, none of the zero Codec.
func (c *Codec) keys() []sealer {
	if c.ring == nil {
		return nil
	}
	return *c.ring.keys.Load()
}

// Watermarks returns a view of c whose cursors are watermarks, the place up to
// which a merged read of several partitions has come, and not positions in one
// query. The view uses the same keys. It refuses the cursors of c, and c
// refuses those of the view, even where the scope is the same.
func (c *Codec) Watermarks() *Codec {
	view := *c.orProcess()
	view.kind = kindWatermark
	return &view
}

// Seal returns the cursor of a position, bound to scope: only [Codec.Open] with
// the same scope accepts it. Scope is everything that must be the same when the
// client comes back, usually a hash over the query and the caller's identity. It
// is not stored in the cursor.
//
// The cursor holds the whole position, whose way need not be in the scope. A position
// that has no values, that holds a value no key attribute can have,
// or whose cursor would be longer than 8,192 characters is [keys.ErrInvalid]. Any
// position of an index's sort key and a table's two keys fits.
func (c *Codec) Seal(p Position, scope []byte) (string, error) {
	c = c.orProcess()
	keys := c.keys()
	if len(keys) == 0 {
		return "", errNoCodec
	}
	if err := p.validate(); err != nil {
		return "", err
	}
	issued := c.now().Unix()
	if issued < 0 || issued > math.MaxUint32 {
		return "", fmt.Errorf("paginate: the clock is outside 1970 to 2106: %d seconds since 1970", issued)
	}

	id, aead := keys[0].id, keys[0].aead()
	size := 1 + len(id) + timeSize + aead.Overhead()
	for _, v := range p.Values {
		size += len(v.Data) + binary.MaxVarintLen32
	}
	raw := make([]byte, 0, size)
	raw = append(raw, head{c.format, c.kind, p.Before, p.FromEdge}.byte())
	raw = append(raw, id...)
	open := len(raw)
	raw = binary.BigEndian.AppendUint32(raw, uint32(issued))
	raw = appendValues(raw, p.Values)
	if encoding.EncodedLen(len(raw)+aead.Overhead()) > maxCursor {
		return "", refusePosition(-1, "the cursor would be longer than 8,192 characters")
	}

	raw = aead.Seal(raw[:open], nil, raw[open:], bound(raw[:open], scope, 0))
	return encoding.EncodeToString(raw), nil
}

// Open returns the position in a cursor that this codec, or one that shares its
// keys, sealed for the same scope. Every other text is refused with an
// [*Error], which matches [ErrInvalidCursor] and says why in its Reason.
func (c *Codec) Open(cursor string, scope []byte) (Position, error) {
	c = c.orProcess()
	keys := c.keys()
	if len(keys) == 0 {
		return Position{}, errNoCodec
	}
	raw, err := decodeCursor(cursor)
	if err != nil {
		return Position{}, err
	}
	h := readHead(raw[0])
	switch {
	case h.format == c.format:
	case h.format == formatProcess, h.format == formatSealed && c.format == formatProcess:
		return Position{}, refuse(NoSharedKey)
	default:
		return Position{}, refuse(UnknownVersion)
	}
	open := 1 + len(keys[0].id)
	if len(raw) < open+keys[0].aead().Overhead()+timeSize {
		return Position{}, refuse(Malformed)
	}
	key := find(keys, raw[1:open])
	switch {
	case key == nil && c.format == formatProcess:
		return Position{}, refuse(NoSharedKey)
	case key == nil:
		return Position{}, refuse(UnknownKey)
	}
	if h.kind != c.kind {
		return Position{}, refuse(Mismatch)
	}

	text := raw[open:]
	data := bound(raw[:open], scope, len(text))
	plain, err := key.aead().Open(data[len(data):], nil, text, data)
	if err != nil {
		return Position{}, refuse(Mismatch)
	}
	if reason := c.checkAge(plain[:timeSize]); reason != "" {
		return Position{}, refuse(reason)
	}
	values, ok := decodeValues(plain[timeSize:], text[:0]) // which is no longer needed
	if !ok {
		return Position{}, refuse(Malformed)
	}
	return Position{Values: values, Before: h.before, FromEdge: h.fromEdge}, nil
}

// process is the codec that a nil *Codec stands for.
var process = sync.OnceValue(func() *Codec {
	c, err := New([]Key{NewKey()}, nil)
	if err != nil {
		return &Codec{} // New does not refuse a new key.
	}
	c.format = formatProcess
	return c
})

func (c *Codec) orProcess() *Codec {
	if c == nil {
		return process()
	}
	return c
}

// decodeCursor returns the bytes of a cursor, at least one.
func decodeCursor(cursor string) ([]byte, error) {
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") {
		return nil, refuse(Malformed)
	}
	raw, err := encoding.DecodeString(cursor)
	if err != nil || len(raw) == 0 {
		return nil, refuse(Malformed)
	}
	return raw, nil
}

// find returns the key with the given id, or nil.
func find(keys []sealer, id []byte) *sealer {
	for i := range keys {
		if bytes.Equal(keys[i].id, id) {
			return &keys[i]
		}
	}
	return nil
}

// checkAge returns the reason to refuse a cursor issued at the given time.
func (c *Codec) checkAge(issued []byte) Reason {
	at := time.Unix(int64(binary.BigEndian.Uint32(issued)), 0)
	switch age := c.now().Sub(at); {
	case age >= c.ttl:
		return Expired
	case age < -maxSkew:
		return Future
	}
	return ""
}

// bound returns the additional data of a cursor: what is open of it, whose length the
// format fixes, and the scope. It leaves room for more bytes behind.
func bound(open, scope []byte, room int) []byte {
	b := make([]byte, 0, len(open)+len(scope)+room)
	b = append(b, open...)
	return append(b, scope...)
}
