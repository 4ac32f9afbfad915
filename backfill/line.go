package backfill

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// maxLine is how many bytes a line may have. An item has 400 KB at most. An element of
// a list that counts one byte, such as {"S":""}, takes nine in JSON with its comma.
// AWS: "Constraints in Amazon DynamoDB" and "DynamoDB item sizes and formats", Amazon
// DynamoDB Developer Guide.
const maxLine = 8 << 20

// line is a line of a file of items in DynamoDB's JSON.
type line struct {
	line int64
	item table.Item
	// json is the item as the file has it.
	json json.RawMessage
	// unique is false if an attribute is there twice.
	unique bool
}

// lineReader reads the lines of a file.
type lineReader struct {
	scanner *bufio.Scanner
	line    int64
}

var gzipMagic = []byte{0x1f, 0x8b}

// newLineReader returns a reader of a file, compressed by gzip or not compressed.
func newLineReader(in io.Reader) (*lineReader, error) {
	buffered := bufio.NewReader(in)
	in = buffered
	if start, _ := buffered.Peek(len(gzipMagic)); bytes.Equal(start, gzipMagic) {
		var err error
		if in, err = gzip.NewReader(buffered); err != nil {
			return nil, err
		}
	}
	l := &lineReader{scanner: bufio.NewScanner(in)}
	l.scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	return l, nil
}

// next returns the next line that is not empty, more if there is one. The line is valid
// until the next call.
func (l *lineReader) next() (read line, more bool, err error) {
	for l.scanner.Scan() {
		l.line++
		text := bytes.TrimSpace(l.scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		read, err := parseLine(text)
		if broken := l.scanner.Err(); err != nil && broken != nil {
			err = broken // the reason why the line has no end
		}
		if err != nil {
			return line{}, false, fmt.Errorf("line %d: %w", l.line, err)
		}
		read.line = l.line
		return read, true, nil
	}
	switch err := l.scanner.Err(); {
	case err == nil:
		return line{}, false, nil
	case errors.Is(err, bufio.ErrTooLong):
		return line{}, false, fmt.Errorf("line %d: %w: it has more than %d bytes", l.line+1, errLine, maxLine)
	default:
		return line{}, false, fmt.Errorf("after line %d: %w", l.line, err)
	}
}

// errLine means that a line is not as an export writes it.
var errLine = fmt.Errorf("%w line", table.ErrInvalid)

func parseLine(text []byte) (line, error) {
	var read line
	var problem string
	in := item.NewParser(text)
	ok := in.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "Item":
			if read.item != nil {
				problem = "it has two items"
				return false
			}
			from := in.Pos()
			read.item, read.unique, ok = in.Item()
			read.json = in.Since(from)
			return ok
		case "Line", "Reason": // of a line that was set aside
			_, ok = in.Skip()
			return ok
		case "Keys", "NewImage", "OldImage", "Metadata":
			problem = "it is of an incremental export; a full export is needed"
		default:
			problem = `it has another member than "Item"`
		}
		return false
	})
	switch {
	case problem != "":
	case !ok && !json.Valid(text):
		problem = "it is not JSON, or was cut off"
	case !ok || !in.End():
		problem = `it is not {"Item":{…}} in DynamoDB's JSON`
	case read.item == nil:
		problem = "it has no item"
	}
	if problem != "" {
		return line{}, fmt.Errorf("%w: %s", errLine, problem)
	}
	return read, nil
}

// newLineWriter returns an encoder that writes one line for a value.
func newLineWriter(out io.Writer) *json.Encoder {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder
}

// storedLine is a line for an import, and asideLine one that was set aside.
type (
	storedLine struct{ Item json.RawMessage }
	asideLine  struct {
		Line   int64
		Reason string
		Item   json.RawMessage
	}
)
