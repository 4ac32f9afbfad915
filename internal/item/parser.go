package item

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Parser reads the JSON of one response. It knows what DynamoDB sends, and no
// more than that. Whatever else it meets is strange, valid JSON or not: methods that
// read part of an item report false, and the others remember it until [Parser.Whole]
// is asked. Then the whole response has to be given to the SDK.
//
// Its methods are here, in text.go, value.go, decode.go and structure.go.
//
// It is used by one goroutine. What it returns as bytes points into the
// response, what it returns as a string does not.
type Parser struct {
	data  []byte
	pos   int
	depth int
	// chunk holds the strings that were made last. Strings share memory in
	// chunks, since making each by itself costs more than all of the parsing.
	chunk strings.Builder
	// unquoted is where strings with escapes are made.
	unquoted []byte
	// loose is set when a number is read as text.
	loose bool
	// repeats is set when a map has an element twice.
	repeats bool
	// strings is where the elements of a list are collected, and lists is the memory
	// that is left for lists of strings. It is given up with each chunk, so that a
	// list keeps the strings of few chunks in use.
	strings, lists []string
	// long means that one of strings does not share memory.
	long bool
	// names remembers which attribute belongs to which field.
	names map[*plan]*names
	// err is why attributevalue refused a value.
	err error
	// strange is set once something was met that DynamoDB does not send.
	strange bool
}

// NewParser returns a Parser of a response's body.
func NewParser(body []byte) *Parser { return &Parser{data: body} }

const (
	// chunkSize bounds how much memory a short string can keep in use, and
	// ownMemory is the length from which a string does not share. Short lists of
	// strings share memory for listSize of them, if so much of the response is left
	// that it holds bytesPerList for each.
	chunkSize    = 4096
	ownMemory    = 1024
	listSize     = 32
	bytesPerList = 512
	// maxDepth is well above the 32 levels that DynamoDB allows. AWS: "Constraints
	// in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
	maxDepth = 100
)

// Pos returns how many bytes were read.
func (r *Parser) Pos() int { return r.pos }

// Since returns what was read from a position on.
func (r *Parser) Since(pos int) []byte { return r.data[pos:r.pos] }

// Rest returns how many bytes are left.
func (r *Parser) Rest() int { return len(r.data) - r.pos }

// End reports whether nothing is left but white space.
func (r *Parser) End() bool {
	r.space()
	return r.pos == len(r.data)
}

func (r *Parser) space() {
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
func (r *Parser) is(c byte) bool {
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

// Members is an iterator over the names of an object's members, whose values the loop
// reads. No name may come twice: it is for the SDK to say which one counts.
func (r *Parser) Members(yield func(name []byte) bool) {
	var room [8][]byte
	met := room[:0]
	more := r.Check(r.open('{'))
	for more {
		var ok bool
		if more, ok = r.more(len(met) == 0, '}'); !r.Check(ok) || !more {
			return
		}
		name, ok := r.name()
		if !r.Check(ok && !slices.ContainsFunc(met, func(other []byte) bool { return bytes.Equal(name, other) })) {
			return
		}
		met = append(met, name)
		more = yield(name) && !r.strange
	}
}

// Elements is an iterator over the numbers of an array's elements, which the loop
// reads.
func (r *Parser) Elements(yield func(i int) bool) {
	more := r.Check(r.open('['))
	for i := 0; more; i++ {
		var ok bool
		if more, ok = r.more(i == 0, ']'); !r.Check(ok) || !more {
			return
		}
		more = yield(i) && !r.strange
	}
}

// Check marks the response as strange if ok is false. What is read of it after that
// means nothing. It returns whether the response is as expected so far.
func (r *Parser) Check(ok bool) bool {
	r.strange = r.strange || !ok
	return !r.strange
}

// Whole reports whether the response was read to its end, and nothing in it is strange.
func (r *Parser) Whole() bool { return !r.strange && r.End() }

// Int32 reads a whole number, which is one in JSON too.
func (r *Parser) Int32() int32 {
	raw, ok := r.Skip()
	n, err := strconv.ParseInt(string(raw), 10, 32)
	r.Check(ok && err == nil)
	return int32(n)
}

// Float64 reads a number that is one in JSON too.
func (r *Parser) Float64() float64 {
	raw, ok := r.Skip()
	n, err := strconv.ParseFloat(string(raw), 64)
	r.Check(ok && err == nil)
	return n
}

// String reads a string.
func (r *Parser) String() string {
	s, ok := r.string()
	r.Check(ok)
	return s
}

// Attributes reads an item, or a key, as it is.
func (r *Parser) Attributes() map[string]types.AttributeValue {
	m, ok := r.item()
	r.Check(ok)
	return m
}

// Object reads an object and gives do the name of each member, in the order in
// which they come. do has to read the member's value.
func (r *Parser) Object(do func(name []byte) bool) bool {
	return r.each('{', '}', func(int) bool {
		name, ok := r.name()
		return ok && do(name)
	})
}

// Array reads an array. do has to read the ith element.
func (r *Parser) Array(do func(i int) bool) bool { return r.each('[', ']', do) }

// each reads what begins and ends with these bytes. do has to read the ith part.
func (r *Parser) each(begin, end byte, do func(i int) bool) bool {
	if !r.open(begin) {
		return false
	}
	for i := 0; ; i++ {
		more, ok := r.more(i == 0, end)
		if !more || !ok {
			return ok
		}
		if !do(i) {
			return false
		}
	}
}

// open takes the beginning of an object or array, whose end more takes.
func (r *Parser) open(begin byte) bool {
	r.depth++
	return r.depth <= maxDepth && r.is(begin)
}

// more moves to the next part of an object or array, more if there is one.
func (r *Parser) more(first bool, end byte) (more, ok bool) {
	if r.is(end) {
		r.depth--
		return false, true
	}
	return true, first || r.is(',')
}

// name reads the name of a member, and moves to its value.
func (r *Parser) name() (name []byte, ok bool) {
	name, plain, ok := r.text()
	if ok && !plain {
		name = unquote(nil, name)
	}
	return name, ok && r.is(':')
}

// binary reads the string that bytes are sent as.
func (r *Parser) binary() (b []byte, ok bool) {
	coded, plain, ok := r.text()
	if !ok {
		return nil, false
	}
	if !plain {
		coded = unquote(nil, coded) // some programs write = as \u003d
	}
	b = make([]byte, base64.StdEncoding.DecodedLen(len(coded)))
	n, err := base64.StdEncoding.Decode(b, coded)
	return b[:n], err == nil
}

func (r *Parser) bool() (b, ok bool) {
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
func (r *Parser) Skip() (raw []byte, ok bool) {
	r.space()
	from := r.pos
	ok = r.skip()
	r.Check(ok)
	return r.data[from:r.pos], ok
}

func (r *Parser) skip() bool {
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
	// What is left has no structure. Its decoder checks it.
	from := r.pos
	for r.pos < len(r.data) && strings.IndexByte(",}] \n\r\t", r.data[r.pos]) < 0 {
		r.pos++
	}
	return json.Valid(r.data[from:r.pos])
}
