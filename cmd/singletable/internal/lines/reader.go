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
// a list that counts one byte, such as {"S":""}, takes nine in JSON with its comma. AWS:
// "Constraints in Amazon DynamoDB" and "DynamoDB item sizes and formats", Amazon DynamoDB
// Developer Guide.
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
	items   bool  // An item was read.
	refused error // why there are no lines
	zipped  bool
	begin   *beginning
}

// beginning keeps the first bytes of what is read.
type beginning struct {
	io.Reader
	text []byte
}

func (b *beginning) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.text = append(b.text, p[:min(n, maxFormat-len(b.text))]...)
	return n, err
}

var gzipMagic = []byte{0x1f, 0x8b}

// NewReader returns a reader of a file, which may be compressed by gzip, also as
// several files one after the other, and may begin with a byte order mark.
func NewReader(in io.Reader) (*Reader, error) {
	buffered, zipped := bufio.NewReader(in), false
	if start, _ := buffered.Peek(len(gzipMagic)); bytes.Equal(start, gzipMagic) {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err
		}
		buffered, zipped = bufio.NewReader(unzipped), true
	}
	start, _ := buffered.Peek(longestMagic) // Its error is that of the first line.
	if bytes.HasPrefix(start, []byte(byteOrderMark)) {
		_, _ = buffered.Discard(len(byteOrderMark))
	}
	r := &Reader{sum: sha256.New(), refused: wholeFormat(start), zipped: zipped, begin: &beginning{Reader: buffered}}
	r.scanner = bufio.NewScanner(r.begin)
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
			return nil, fmt.Errorf("line %d: %w", r.number, r.fault(text, err))
		}
		r.items = true
		return item, nil
	}
}

// maxFormat is how many bytes of a file tell its format.
const maxFormat = 64 << 10

// fault returns what is wrong with a line: what the file is, if the line shows that. In a file
// without items the lines behind it show it too, and are read.
func (r *Reader) fault(line []byte, err error) error {
	text := bytes.Clone(line)
	for !r.items && len(text) < maxFormat && r.scanner.Scan() {
		text = append(append(text, '\n'), r.scanner.Bytes()...)
	}
	if broken := r.scanner.Err(); broken != nil && !errors.Is(broken, bufio.ErrTooLong) {
		return broken // why the line has no end
	}
	if is := r.format(text); is != "" {
		return errors.New(is)
	}
	return err
}

// format is formatOf for the file that is read.
func (r *Reader) format(text []byte) string {
	is := formatOf(text, !r.items)
	if r.zipped {
		is = withFile.ReplaceAllString(is, "gzip -dc FILE | $1")
	}
	return is
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
	if r.refused != nil {
		return nil, r.refused
	}
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
	case errors.Is(err, bufio.ErrTooLong) && r.number == 0 && r.format(r.begin.text) != "":
		return nil, fmt.Errorf("line 1: %s", r.format(r.begin.text))
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: has more than %d bytes", r.number+1, MaxLine)
	default:
		return nil, fmt.Errorf("after line %d: %w", r.number, err)
	}
}
