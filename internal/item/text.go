package item

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special looks at eight bytes at once. It sets the high bit of each that cannot
// be in a string as it is: a quote, a backslash, a control character. Of the bits
// set, the lowest is certain.
func special(word uint64) uint64 {
	// With one bit turned, the quote follows the control characters.
	low, escape := word^(ones*('"'^0x20)), word^(ones*'\\')
	return ((low - ones*0x21) &^ low & highs) | ((escape - ones) &^ escape & highs)
}

// stop returns the position of the next byte that special finds, or len(data).
func stop(data []byte, i int) int {
	for ; len(data)-i >= 8; i += 8 {
		if found := special(binary.LittleEndian.Uint64(data[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= 0x20 {
		i++
	}
	return i
}

// text reads a string and returns what is between the quotes; plain if that is
// the string itself, without escapes. Otherwise unquote makes the string of it.
func (r *Parser) text() (b []byte, plain, ok bool) {
	if !r.is('"') {
		return nil, false, false
	}
	i := stop(r.data, r.pos)
	for plain = true; i < len(r.data) && r.data[i] == '\\'; i = stop(r.data, i) {
		_, n := unescape(r.data[i:])
		if n == 0 {
			return nil, false, false
		}
		plain = false
		i += n
	}
	if i == len(r.data) || r.data[i] != '"' {
		return nil, false, false
	}
	b = r.data[r.pos:i]
	r.pos = i + 1
	return b, plain, true
}

// plain reads a string without escapes and the end of the attribute value that it
// is in, if both are as they are sent. Otherwise it reads nothing.
func (r *Parser) plain() (b []byte, ok bool) {
	data, from := r.data, r.pos+1
	if from >= len(data) || data[from-1] != '"' {
		return nil, false
	}
	to := stop(data, from)
	if len(data)-to < 2 || data[to] != '"' || data[to+1] != '}' {
		return nil, false
	}
	r.pos = to + 2
	return data[from:to], true
}

func (r *Parser) string() (s string, ok bool) {
	b, plain, ok := r.text()
	if !ok {
		return "", false
	}
	return r.keep(b, plain), true
}

// keep returns the string of the text that was read last.
func (r *Parser) keep(b []byte, plain bool) string {
	if !plain {
		r.unquoted = unquote(r.unquoted[:0], b)
		b = r.unquoted
	}
	if len(b) >= ownMemory {
		r.long = true
		return string(b)
	}
	if r.chunk.Cap()-r.chunk.Len() < len(b) {
		// The builder that held the last strings is theirs from now on.
		r.chunk, r.lists = strings.Builder{}, nil
		// Names and frames are a third of what is left, or more.
		r.chunk.Grow(max(len(b), min(chunkSize, r.Rest()*2/3)))
	}
	from := r.chunk.Len()
	r.chunk.Write(b)
	return r.chunk.String()[from:]
}

// unquote appends the string that text with escapes stands for. What is not UTF-8
// in such text becomes U+FFFD, byte by byte, as with encoding/json.
func unquote(to, b []byte) []byte {
	for len(b) > 0 {
		if b[0] == '\\' {
			c, n := unescape(b)
			to, b = utf8.AppendRune(to, c), b[n:]
			continue
		}
		run := b
		if n := bytes.IndexByte(b, '\\'); n > 0 {
			run = b[:n]
		}
		b = b[len(run):]
		if utf8.Valid(run) {
			to = append(to, run...)
			continue
		}
		for _, c := range string(run) {
			to = utf8.AppendRune(to, c)
		}
	}
	return to
}

// unescape returns the character of the escape at the beginning of b and the
// escape's length, 0 if it is invalid. Half a surrogate pair is U+FFFD.
func unescape(b []byte) (c rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	c, ok := unit(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(c) {
		low, _ := unit(b[6:])
		if c = utf16.DecodeRune(c, low); c != utf8.RuneError {
			return c, 12
		}
	}
	return c, 6
}

// unit reads an escape of four hexadecimal digits.
func unit(b []byte) (c rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	u, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(u), err == nil
}
