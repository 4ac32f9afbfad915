package paginate

import (
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"time"
)

// Insecure returns a codec for tests and tools that must read positions. Its
// cursors are encoded and checked, but not sealed. Anyone can read the position in
// them: the key of the last item, and of an item that a filter dropped if the page
// ended there. Anyone who knows this format and the scope can make one. Cursors
// that were damaged, belong to another scope or are older than 72 hours by the
// system's clock are refused, as sealed ones are.
//
// Unsealed cursors begin with U or u, sealed ones with S, s, P or p, and neither codec
// opens the other's. A service uses [New].
func Insecure() *Codec {
	c := &Codec{format: formatInsecure, ring: &ring{}, ttl: defaultTTL, now: time.Now}
	c.ring.keys.Store(&[]sealer{{aead: func() cipher.AEAD { return checksum{} }}})
	return c
}

// checksum is a cipher.AEAD without a cipher: it leaves the text as it is and
// appends eight bytes of SHA-256 over it and the additional data. With it the
// unsealed codec takes the path of the sealed one, length checks and all.
type checksum struct{}

var _ cipher.AEAD = checksum{}

const checksumSize = 8

var errChecksum = errors.New("paginate: checksum does not match")

func (checksum) NonceSize() int { return 0 }

func (checksum) Overhead() int { return checksumSize }

func (checksum) Seal(dst, _, plaintext, additionalData []byte) []byte {
	sum := checksumOf(plaintext, additionalData)
	dst = append(dst, plaintext...)
	return append(dst, sum[:]...)
}

func (checksum) Open(dst, _, ciphertext, additionalData []byte) ([]byte, error) {
	n := len(ciphertext) - checksumSize
	if n < 0 {
		return nil, errChecksum
	}
	sum := checksumOf(ciphertext[:n], additionalData)
	if subtle.ConstantTimeCompare(sum[:], ciphertext[n:]) != 1 {
		return nil, errChecksum
	}
	return append(dst, ciphertext[:n]...), nil
}

// checksumOf hashes both parts behind the length of the first, so that no byte
// can move from one to the other.
func checksumOf(plaintext, additionalData []byte) [checksumSize]byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(len(additionalData)))
	b = append(b, additionalData...)
	b = append(b, plaintext...)
	sum := sha256.Sum256(b)
	return [checksumSize]byte(sum[:checksumSize])
}
