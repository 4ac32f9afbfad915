package store

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
)

// The bounds of a password, in bytes.
const (
	minPassword = 8
	maxPassword = 128
)

// password is what is stored of one: enough to recognize it.
type password struct {
	Salt   []byte `dynamodbav:"salt"`
	Hash   []byte `dynamodbav:"hash"`
	Rounds int    `dynamodbav:"rounds"`
}

func newPassword(secret string, rounds int) (password, error) {
	if len(secret) < minPassword || len(secret) > maxPassword {
		return password{}, ErrPassword
	}
	p := password{Salt: make([]byte, 16), Rounds: rounds}
	_, _ = rand.Read(p.Salt) // it never fails
	var err error
	p.Hash, err = p.derive(secret)
	return p, err
}

func (p password) matches(secret string) (bool, error) {
	hash, err := p.derive(secret)
	return err == nil && subtle.ConstantTimeCompare(hash, p.Hash) == 1, err
}

func (p password) derive(secret string) ([]byte, error) {
	return pbkdf2.Key(sha256.New, secret, p.Salt, p.Rounds, sha256.Size)
}
