package paginate

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const (
	secretSize = 32 // AES-256
	idSize     = 4
)

// Key is a secret of 32 random bytes that seals and opens cursors. It comes
// from [ParseKeys] or [NewKey]; the zero Key is refused by [New].
//
// Printing or logging a Key, by itself or inside another value, shows its id
// or an address, never the secret. Keys cannot be compared with ==; their ids
// can.
type Key struct {
	// The secret sits behind a function because fmt does not call the methods
	// of values in unexported fields: it prints what it finds there, also
	// behind a pointer.
	secret func() [secretSize]byte
}

func keyOf(secret [secretSize]byte) Key {
	return Key{secret: func() [secretSize]byte { return secret }}
}

// NewKey returns a new random key. No other process opens the cursors that it
// seals, nor does this one after a restart: it is for tests and for programs that
// run once. A service reads its keys with [ParseKeys].
func NewKey() Key {
	var secret [secretSize]byte
	_, _ = rand.Read(secret[:]) // Never fails: crypto/rand ends the program instead.
	return keyOf(secret)
}

// ParseKeys reads a keyring from the text of an environment variable or a
// secret store: one or more keys separated by commas, each the standard base64
// of 32 random bytes, as `openssl rand -base64 32` prints it. White space around
// a key is ignored.
//
// Empty text is an error, so that a forgotten variable is noticed when the service
// starts. So is a key that is plainly not random: one with fewer than 8 different
// bytes, such as zeros or a repeated word, or with two equal halves. Errors name a
// key by its place in the list and never quote it.
func ParseKeys(text string) ([]Key, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("paginate: no keys: the text is empty")
	}
	var keys []Key
	for field := range strings.SplitSeq(text, ",") {
		secret, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(field))
		if err != nil || len(secret) != secretSize {
			return nil, fmt.Errorf("paginate: key %d is not the base64 of %d bytes", len(keys)+1, secretSize)
		}
		if degenerate(secret) {
			return nil, fmt.Errorf("paginate: key %d is not random: it repeats a few bytes", len(keys)+1)
		}
		keys = append(keys, keyOf([secretSize]byte(secret)))
	}
	return keys, nil
}

// minDistinct is a number of different bytes that random keys always reach: the
// chance of 32 random bytes to have fewer is below 1 in 2¹²².
const minDistinct = 8

// degenerate reports whether a secret is a placeholder and not random.
func degenerate(secret []byte) bool {
	distinct := map[byte]bool{}
	for _, b := range secret {
		distinct[b] = true
	}
	return len(distinct) < minDistinct || bytes.Equal(secret[:secretSize/2], secret[secretSize/2:])
}

// ID returns the public name of the key, the first four bytes of the SHA-256
// of its secret, in hexadecimal. Cursors carry those bytes, so that the codec
// knows which key opens them.
func (k Key) ID() string {
	if k.secret == nil {
		return ""
	}
	return hex.EncodeToString(k.id())
}

// String returns the key's name for logs: its id, not its secret.
func (k Key) String() string { return "paginate.Key(" + k.ID() + ")" }

// Format writes what [Key.String] returns, whatever the verb and flags.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue returns what [Key.String] returns.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

func (k Key) id() []byte {
	secret := k.secret()
	sum := sha256.Sum256(secret[:])
	return sum[:idSize]
}

func (k Key) aead() (cipher.AEAD, error) {
	secret := k.secret()
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
