package codec

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
)

// Reader reads the JSON of one response. It knows what DynamoDB sends, and no
// more than that: its methods report false for whatever else they meet, valid
// JSON or not, and what is read then has to be given to the SDK. After that a
// Reader is of no use.
//
// It is used by one goroutine. What it returns as bytes points into the
// response, what it returns as a string does not.
type Reader struct {
	data  []byte
	pos   int
	depth int
	// chunk holds the strings that were made last. Strings share memory in
	// chunks, since making each by itself costs more than all of the parsing.
	chunk strings.Builder
	// shared is what there is from sharedAt on. Strings are parts of it, if it is
	// not empty.
	shared   string
	sharedAt int
	// loose is set when a number is read as text.
	loose bool
	// strings is where the elements of a list are collected.
	strings []string
	// names remembers which attribute belongs to which field.
	names map[*plan]*names
	// err is why attributevalue refused a value.
	err error
}

// NewReader returns a Reader of a response's body.
func NewReader(body []byte) *Reader { return &Reader{data: body} }

const (
	// chunkSize bounds how much memory a short string can keep in use, and
	// ownMemory is the length from which a string does not share.
	chunkSize = 1024
	ownMemory = 256
	// maxShared is up to which length strings are parts of the response.
	maxShared = 4 << 10
	// maxDepth is well above the 32 levels that DynamoDB allows. AWS: "Service,
	// account, and table quotas", Amazon DynamoDB Developer Guide.
	maxDepth = 100
)

// Pos returns how many bytes were read.
func (r *Reader) Pos() int { return r.pos }

// Rest returns how many bytes are left.
func (r *Reader) Rest() int { return len(r.data) - r.pos }

// End reports whether nothing is left but white space.
func (r *Reader) End() bool {
	r.space()
	return r.pos == len(r.data)
}

func (r *Reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\n', '\r', '\t':
			r.pos++
		default:
			return
		}
	}
}

// is takes the byte c if it is the next one.
func (r *Reader) is(c byte) bool {
	if r.pos < len(r.data) && r.data[r.pos] == c {
		r.pos++
		return true
	}
	r.space()
	if r.pos < len(r.data) && r.data[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

// Object reads an object and gives do the name of each member, in the order in
// which they come. do has to read the member's value.
func (r *Reader) Object(do func(name []byte) bool) bool {
	if !r.open('{') {
		return false
	}
	for first := true; ; first = false {
		name, more, ok := r.member(first)
		if !ok || !more {
			return ok
		}
		if !do(name) {
			return false
		}
	}
}

// Array reads an array. do has to read the ith element.
func (r *Reader) Array(do func(i int) bool) bool {
	if !r.open('[') {
		return false
	}
	for i := 0; ; i++ {
		more, ok := r.element(i == 0)
		if !ok || !more {
			return ok
		}
		if !do(i) {
			return false
		}
	}
}

// open takes the beginning of an object or array, close of which member and
// element take the end.
func (r *Reader) open(c byte) bool {
	r.depth++
	return r.depth <= maxDepth && r.is(c)
}

// member moves to the value of the next member of an object, more if there is
// one.
func (r *Reader) member(first bool) (name []byte, more, ok bool) {
	if r.is('}') {
		r.depth--
		return nil, false, true
	}
	if !first && !r.is(',') {
		return nil, false, false
	}
	name, plain, ok := r.text()
	if ok && !plain {
		s, fine := r.unquote(name)
		name, ok = []byte(s), fine
	}
	return name, true, ok && r.is(':')
}

// element moves to the next element of an array.
func (r *Reader) element(first bool) (more, ok bool) {
	if r.is(']') {
		r.depth--
		return false, true
	}
	return true, first || r.is(',')
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special looks at eight bytes at once. It sets the high bit of each that cannot
// be in a string as it is: a quote, a backslash, a control character. Of the bits
// set, the lowest is certain.
func special(word uint64) uint64 {
	quote, escape := word^(ones*'"'), word^(ones*'\\')
	return ((quote - ones) &^ quote & highs) | ((escape - ones) &^ escape & highs) | ((word - ones*0x20) &^ word & highs)
}

// text reads a string and returns what is between the quotes; plain if that is
// the string itself, without escapes.
func (r *Reader) text() (b []byte, plain, ok bool) {
	if !r.is('"') {
		return nil, false, false
	}
	data, i := r.data, r.pos
	for ; len(data)-i >= 8; i += 8 {
		if found := special(binary.LittleEndian.Uint64(data[i:])); found != 0 {
			i += bits.TrailingZeros64(found) / 8
			break
		}
	}
	for ; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			b = data[r.pos:i]
			r.pos = i + 1
			return b, true, true
		case c == '\\':
			return r.escaped(i)
		case c < 0x20:
			return nil, false, false
		}
	}
	return nil, false, false
}

// escaped goes on with a string at its first escape, at i.
func (r *Reader) escaped(i int) (b []byte, plain, ok bool) {
	for ; i < len(r.data); i++ {
		switch r.data[i] {
		case '\\':
			i++
		case '"':
			b = r.data[r.pos:i]
			// With its quotes it is JSON for others to judge.
			ok = json.Valid(r.data[r.pos-1 : i+1])
			r.pos = i + 1
			return b, false, ok
		}
	}
	return nil, false, false
}

// unquote returns the string that escaped text stands for. The text must come
// from text, and so have its quotes around it.
func (r *Reader) unquote(b []byte) (s string, ok bool) {
	quoted := make([]byte, 0, len(b)+2)
	quoted = append(append(append(quoted, '"'), b...), '"')
	return s, json.Unmarshal(quoted, &s) == nil
}

// string reads a string.
func (r *Reader) string() (s string, ok bool) {
	b, plain, ok := r.text()
	switch {
	case !ok:
		return "", false
	case !plain:
		return r.unquote(b)
	case r.shared != "":
		from := r.pos - len(`"`) - len(b) - r.sharedAt
		return r.shared[from : from+len(b)], true
	case len(b) >= ownMemory:
		return string(b), true
	}
	if r.chunk.Cap()-r.chunk.Len() < len(b) {
		// The builder that held the last strings is theirs from now on.
		r.chunk = strings.Builder{}
		// Names and frames are half of what is left, or more.
		r.chunk.Grow(max(len(b), min(chunkSize, r.Rest()/2)))
	}
	from := r.chunk.Len()
	r.chunk.Write(b)
	return r.chunk.String()[from:], true
}

// number reads the string that a number is sent as.
func (r *Reader) number() (b []byte, ok bool) {
	b, plain, ok := r.text()
	return b, ok && plain
}

// binary reads the string that bytes are sent as.
func (r *Reader) binary() (b []byte, ok bool) {
	coded, plain, ok := r.text()
	if !ok || !plain {
		return nil, false
	}
	b = make([]byte, base64.StdEncoding.DecodedLen(len(coded)))
	n, err := base64.StdEncoding.Decode(b, coded)
	return b[:n], err == nil
}

// bool reads a boolean.
func (r *Reader) bool() (b, ok bool) {
	r.space()
	switch rest := r.data[r.pos:]; {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		r.pos += 4
		return true, true
	case len(rest) >= 5 && string(rest[:5]) == "false":
		r.pos += 5
		return false, true
	}
	return false, false
}

// Skip reads any value and returns its JSON.
func (r *Reader) Skip() (raw []byte, ok bool) {
	r.space()
	from := r.pos
	ok = r.skip()
	return r.data[from:r.pos], ok
}

func (r *Reader) skip() bool {
	if r.pos >= len(r.data) {
		return false
	}
	switch r.data[r.pos] {
	case '{':
		return r.Object(func([]byte) bool { r.space(); return r.skip() })
	case '[':
		return r.Array(func(int) bool { r.space(); return r.skip() })
	case '"':
		_, _, ok := r.text()
		return ok
	}
	// What is left has no structure; whoever reads it judges it.
	from := r.pos
	for r.pos < len(r.data) && strings.IndexByte(",}] \n\r\t", r.data[r.pos]) < 0 {
		r.pos++
	}
	return json.Valid(r.data[from:r.pos])
}
