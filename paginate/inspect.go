package paginate

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
)

// Inspection is what can be read of a cursor with the keys, but without the query
// that it belongs to.
type Inspection struct {
	// Sealed is false for the cursors of [Insecure] only.
	Sealed bool
	// Watermark is true for the cursors of [Codec.Watermarks].
	Watermark bool
	// Before and FromEdge are those of the [Position].
	Before, FromEdge bool
	// KeyID is the id of the key that sealed the cursor; see [Key.ID]. It is empty
	// for an unsealed cursor.
	KeyID string
	// Issued is when the cursor was made, to the second, in UTC. It is zero if the
	// cursor could not be read.
	Issued time.Time
	// Values are the values of the position as text: the letter of the type, a
	// space, and the value, in quotation marks unless it is a number. It is nil if
	// the cursor could not be read.
	Values []string
}

// Inspect looks into a cursor. It is for the tools of operators, never for a
// service. Without the scope a cursor cannot be authenticated: the client may have
// forged everything that Inspect returns, and the cursor may be for any query and
// caller. That is also why the position is returned as text, which no codec seals.
// A service uses [Codec.Open].
//
// Errors: an [*Error], with the Reason
//   - [UnknownKey] if the cursor's key is not among keys, which may be nil;
//   - [NoSharedKey] if a process sealed it with a key of its own;
//   - [Malformed] if it does not hold a position, as after it was altered;
//   - [UnknownVersion] or Malformed, as by Open, if no codec wrote it.
//
// In the first three cases the Inspection holds the part before the sealed one.
// The age of a cursor is not checked.
func Inspect(cursor string, keys []Key) (Inspection, error) {
	raw, err := decodeCursor(cursor)
	if err != nil {
		return Inspection{}, err
	}
	h, body := readHead(raw[0]), raw[1:]
	if h.format != formatSealed && h.format != formatProcess && h.format != formatInsecure {
		return Inspection{}, refuse(UnknownVersion)
	}
	in := Inspection{
		Sealed: h.format != formatInsecure, Watermark: h.kind == kindWatermark,
		Before: h.before, FromEdge: h.fromEdge,
	}
	if !in.Sealed {
		if len(body) < timeSize+checksumSize {
			return Inspection{}, refuse(Malformed)
		}
		return in.read(body[:len(body)-checksumSize])
	}
	if len(body) < idSize+gcmNonceSize+timeSize+gcmTagSize {
		return Inspection{}, refuse(Malformed)
	}
	in.KeyID = hex.EncodeToString(body[:idSize])
	if h.format == formatProcess {
		return in, refuse(NoSharedKey)
	}
	for _, k := range keys {
		if k.ID() == in.KeyID {
			text, err := k.peek(body[idSize:])
			if err != nil {
				return in, err
			}
			return in.read(text)
		}
	}
	return in, refuse(UnknownKey)
}

// read adds what a cursor holds inside: the time of its issue and a position.
func (in Inspection) read(text []byte) (Inspection, error) {
	values, ok := decodeValues(text[timeSize:], nil)
	if !ok {
		return in, refuse(Malformed)
	}
	in.Issued = time.Unix(int64(binary.BigEndian.Uint32(text)), 0).UTC()
	for _, v := range values {
		data := v.Data
		if v.Kind != Number {
			data = strconv.Quote(data)
		}
		in.Values = append(in.Values, string(v.Kind)+" "+data)
	}
	return in, nil
}

const (
	gcmNonceSize = 12
	gcmTagSize   = 16
)

// peek decrypts what the key has sealed without authenticating it: GCM is
// counter mode, with the counter 1 for the tag and those from 2 for the text.
func (k Key) peek(sealed []byte) ([]byte, error) {
	secret := k.secret()
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	counter := make([]byte, 0, aes.BlockSize)
	counter = append(counter, sealed[:gcmNonceSize]...)
	counter = binary.BigEndian.AppendUint32(counter, 2)
	text := bytes.Clone(sealed[gcmNonceSize : len(sealed)-gcmTagSize])
	cipher.NewCTR(block, counter).XORKeyStream(text, text)
	return text, nil
}
