// Package lines writes and reads files of items: a line {"Item":{…}} in DynamoDB's JSON
// for each item, which is the form of DynamoDB's own exports to S3 and imports from it.
package lines

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/table"
)

// MaxLine is how many bytes a line may have. An item has 400 KB at most. An element of
// a list that counts one byte, such as {"S":""}, takes nine in JSON with its comma.
const MaxLine = 8 << 20

// Append appends the line of an item, with its line end.
//
// Errors: a value of a type that DynamoDB does not have.
func Append(b []byte, item table.Item) ([]byte, error) {
	b, err := dynamojson.Append(append(b, `{"Item":`...), item)
	return append(b, "}\n"...), err
}

// Reader reads a file line by line. It is used by one goroutine at a time.
type Reader struct {
	scanner *bufio.Scanner
	number  int64
	sum     hash.Hash
}

var gzipMagic = []byte{0x1f, 0x8b}

// NewReader returns a reader of a file, which may be compressed by gzip, also as
// several files one after the other.
func NewReader(in io.Reader) (*Reader, error) {
	buffered := bufio.NewReader(in)
	in = buffered
	if start, _ := buffered.Peek(len(gzipMagic)); bytes.Equal(start, gzipMagic) {
		var err error
		if in, err = gzip.NewReader(buffered); err != nil {
			return nil, err
		}
	}
	r := &Reader{scanner: bufio.NewScanner(in), sum: sha256.New()}
	r.scanner.Buffer(make([]byte, 0, 64<<10), MaxLine)
	return r, nil
}

// Lines returns how many lines were read, empty ones too. It is the number of the
// latest line, from 1.
func (r *Reader) Lines() int64 { return r.number }

// Sum returns a digest of the lines that were read.
func (r *Reader) Sum() string { return hex.EncodeToString(r.sum.Sum(nil)) }

// Next returns the item of the next line that is not empty. After the last one the
// error is [io.EOF]. Every other error names the line and quotes nothing of it.
func (r *Reader) Next() (table.Item, error) {
	for {
		text, err := r.line()
		if err != nil {
			return nil, err
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		item, err := dynamojson.DecodeLine(text)
		if err != nil {
			if broken := r.scanner.Err(); broken != nil {
				err = broken // why the line has no end
			}
			return nil, fmt.Errorf("line %d: %w", r.number, err)
		}
		return item, nil
	}
}

// Skip reads lines without looking at their items. The error is [io.EOF] if there are
// fewer.
func (r *Reader) Skip(lines int64) error {
	for range lines {
		if _, err := r.line(); err != nil {
			return err
		}
	}
	return nil
}

// line returns the next line, which is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	if r.scanner.Scan() {
		r.number++
		text := r.scanner.Bytes()
		// A hash never fails. The line end tells lines from each other.
		_, _ = r.sum.Write(text)
		_, _ = r.sum.Write([]byte{'\n'})
		return text, nil
	}
	switch err := r.scanner.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: has more than %d bytes", r.number+1, MaxLine)
	default:
		return nil, fmt.Errorf("after line %d: %w", r.number, err)
	}
}
