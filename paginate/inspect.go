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

// Inspection is what can be read of a token by somebody who has the keys, but
// not the query that it belongs to.
type Inspection struct {
	// Sealed is false for the tokens of [Unsealed].
	Sealed bool
	// Watermark is true for the tokens of [Codec.Watermarks].
	Watermark bool
	// KeyID is the id of the key that sealed the token; see [Key.ID]. It is empty
	// for an unsealed token.
	KeyID string
	// Issued is when the token was made, to the second, in UTC. It is zero if the
	// token could not be read.
	Issued time.Time
	// Values are the values of the position for people to read: the letter of the
	// type, a space, and the text, in quotation marks unless it is a number. It is
	// nil if the token could not be read.
	Values []string
}

// Inspect looks into a token. It is for the tools of operators, never for a
// service: without the scope nothing of a token can be authenticated, so all
// that it returns may have been made up by whoever sent the token, and it says
// nothing about which query and which caller the token is for. That is also why
// the position comes as text, which no codec seals. A service has [Codec.Open].
//
// A token that no codec wrote is refused with an [*Error], as by Open. One whose
// key is not among keys, which may be nil, is refused as [UnknownKey], and one
// that does not hold a position, as when it was altered, as [Malformed]; the
// Inspection then holds what stands in front of the sealed part. Age is not
// looked at.
func Inspect(token string, keys []Key) (Inspection, error) {
	raw, err := decodeToken(token)
	if err != nil {
		return Inspection{}, err
	}
	format, kind, body := raw[0]&^kindMask, raw[0]&kindMask, raw[1:]
	if format != formatSealed && format != formatUnsealed || kind > kindWatermark {
		return Inspection{}, refuse(UnknownVersion)
	}
	in := Inspection{Sealed: format == formatSealed, Watermark: kind == kindWatermark}
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

// read adds what a token holds inside: the time of its issue and a position.
func (in Inspection) read(text []byte) (Inspection, error) {
	p, ok := decodePosition(text[timeSize:])
	if !ok || !bytes.Equal(appendPosition(nil, p), text[timeSize:]) {
		return in, refuse(Malformed)
	}
	in.Issued = time.Unix(int64(binary.BigEndian.Uint32(text)), 0).UTC()
	for _, v := range p {
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
