// Package embedding makes vectors of texts without a model, so that examples and their tests
// need no network. Texts are near each other if they have the same letters in a row. It
// knows no meaning: a service puts an embedding model in its place.
package embedding

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"
	"unicode"
)

// Of returns the vector of a text: of length 1, and the same one each time. Upper and lower
// case are the same, and so is what is between the words.
func Of(text string, dimensions int) []float32 {
	counts := make([]float64, dimensions)
	count := func(part string) {
		sum := sha256.Sum256([]byte(part))
		sign := 1 - 2*float64(sum[31]&1) // parts that share a place cancel each other out on average
		counts[binary.BigEndian.Uint64(sum[:])%uint64(dimensions)] += sign
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		letters := []rune(" " + word + " ")
		for i := range len(letters) - 2 {
			count(string(letters[i : i+3]))
		}
	}
	var square float64
	for _, n := range counts {
		square += n * n
	}
	if square == 0 { // no direction: a text without words
		counts[0], square = 1, 1
	}
	vector := make([]float32, dimensions)
	for i, n := range counts {
		vector[i] = float32(n / math.Sqrt(square))
	}
	return vector
}
