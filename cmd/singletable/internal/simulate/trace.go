package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The most that a trace may have. They bound the memory that it takes: a million requests for
// four keys each take 520 MB.
const (
	maxTraced       = 1_000_000
	maxTracedKeys   = 4_000_000
	maxTracedLine   = 128 << 10
	maxTracedText   = 1000 // bytes of a name
	maxTracedPlaces = 64
	maxTracedTexts  = 100_000
	itemsOfRequest  = 100
	lastMillisecond = 253_402_300_799_999 // of the year 9999
)

// trace is the content of a file that telemetry.Trace has written.
type trace struct {
	head     traceHeader
	requests []tracedRequest
	// keys is the number of keys of all requests. places are the indexes that they read. texts
	// has each name once.
	keys   int
	places map[string]bool
	texts  map[string]string
}

// traceHeader is the first line of a trace. Times are milliseconds since 1970 UTC.
type traceHeader struct {
	Version  int   `json:"version"`
	Begin    int64 `json:"begin"`
	End      int64 `json:"end"`
	Requests int64 `json:"requests"`
	Sampled  int64 `json:"sampled"`
}

// traceLine is one of the others.
type traceLine struct {
	At        int64    `json:"at"`
	Operation string   `json:"operation"`
	Index     string   `json:"index"`
	Pattern   string   `json:"pattern"`
	Keys      []string `json:"keys"`
	Units     float64  `json:"units"`
	Batch     int      `json:"batch"`
	Throttled int      `json:"throttled"`
	Failed    string   `json:"failed"`
}

// tracedRequest has those members of a line that the load is made of.
type tracedRequest struct {
	operation, index, pattern string
	keys                      []tracedKey
	units                     float64
}

// tracedKey is a partition key: its kind, empty if it has none, and its hash.
type tracedKey struct {
	kind string
	hash uint64
}

// operations are those of a trace, and what they are in a load. A search of vectors has no
// units and no partitions of the table.
var operations = map[string]string{
	"GetItem": "get", "BatchGetItem": "get", "TransactGetItems": "get", "Query": "query", "Scan": "query",
	"PutItem": "write", "UpdateItem": "write", "DeleteItem": "write", "BatchWriteItem": "write", "TransactWriteItems": "write",
	"SearchVectors": "",
}

// hashedPrefix begins the prefix of a key whose text the trace hides.
const hashedPrefix = "kind-"

// classes are those of errors, of package table.
var classes = []string{"", "transient", "permanent", "unclassified"}

// readTrace reads a trace. An error names the line.
func readTrace(r io.Reader) (*trace, error) {
	t := &trace{places: map[string]bool{}, texts: map[string]string{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTracedLine)
	n := 0
	for lines.Scan() {
		n++
		read := t.request
		if n == 1 {
			read = t.header
		}
		// The last line can be a part of one, if the rest cannot be read.
		if err := read(lines.Bytes()); err != nil && lines.Err() == nil {
			return nil, fmt.Errorf("line %d of the trace: %w", n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d of the trace: has more than %d bytes", n+1, maxTracedLine)
	case err != nil:
		return nil, fmt.Errorf("the trace, after line %d: %w", n, err)
	case n == 0:
		return nil, errors.New("the trace is empty")
	case int64(len(t.requests)) != t.head.Sampled:
		return nil, fmt.Errorf("the trace ends after line %d, with %d requests, and the header says %d", n, len(t.requests), t.head.Sampled)
	}
	return t, nil
}

// decode reads a line that has the members of v and nothing else.
func decode(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("is no JSON of this form: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has more than one value")
	}
	return nil
}

func (t *trace) header(line []byte) error {
	h := &t.head
	if err := decode(line, h); err != nil {
		return err
	}
	switch {
	case h.Version != 1:
		return fmt.Errorf("version %d of the format is not known", h.Version)
	case h.Begin < 0 || h.End > lastMillisecond || h.End < h.Begin:
		return errors.New("begin and end are no times, or not in this order")
	case h.Sampled < 0 || h.Sampled > h.Requests || h.Sampled > maxTraced:
		return fmt.Errorf("sampled must be at most the number of requests, and at most %d", maxTraced)
	case h.Sampled == 0:
		return errors.New("the trace has no requests")
	case h.End == h.Begin:
		return errors.New("the trace begins and ends in the same millisecond, so it tells no rate")
	}
	return nil
}

// request reads the line of a request.
func (t *trace) request(line []byte) error {
	var l traceLine
	if err := decode(line, &l); err != nil {
		return err
	}
	if int64(len(t.requests)) == t.head.Sampled {
		return fmt.Errorf("there are more than the %d requests of the header", t.head.Sampled)
	}
	if err := l.check(t.head); err != nil {
		return err
	}
	r := tracedRequest{operation: t.once(l.Operation), index: t.once(l.Index), pattern: t.once(l.Pattern), units: l.Units}
	if len(t.texts) > maxTracedTexts {
		return fmt.Errorf("there are more than %d names of patterns and kinds", maxTracedTexts)
	}
	if t.places[l.Index] = true; len(t.places) > maxTracedPlaces {
		return fmt.Errorf("there are more than %d indexes", maxTracedPlaces)
	}
	if t.keys += len(l.Keys); t.keys > maxTracedKeys {
		return fmt.Errorf("there are more than %d keys", maxTracedKeys)
	}
	if len(l.Keys) > 0 {
		r.keys = make([]tracedKey, len(l.Keys))
	}
	for i, text := range l.Keys {
		at := strings.LastIndexByte(text, '#')
		hash, err := strconv.ParseUint(text[at+1:], 16, 64)
		if at < 0 || err != nil || len(text)-at-1 != 16 || at > maxTracedText {
			return fmt.Errorf("keys[%d]: %.60q is not a prefix, '#' and 16 hexadecimal digits", i, text)
		}
		kind := text[:at]
		if strings.HasPrefix(kind, hashedPrefix) && len(t.texts) >= maxTracedTexts {
			kind = "" // keys that begin with ids have many, and none is a kind of its own
		}
		r.keys[i] = tracedKey{t.once(kind), hash}
	}
	t.requests = append(t.requests, r)
	return nil
}

// check refuses values that no trace has.
func (l traceLine) check(head traceHeader) error {
	op, known := operations[l.Operation]
	switch {
	case !known:
		return fmt.Errorf("operation: %.60q is not known", l.Operation)
	case l.At < 0 || l.At > head.End-head.Begin:
		return fmt.Errorf("at: %d is not between begin and end", l.At)
	case l.Index != "" && op != "query" && op != "":
		return fmt.Errorf("index: %s reads no index", l.Operation)
	case len(l.Index) > maxTracedText || len(l.Pattern) > maxTracedText:
		return fmt.Errorf("index, pattern: a name has more than %d bytes", maxTracedText)
	case len(l.Keys) > itemsOfRequest:
		return fmt.Errorf("keys: there are %d, and a request has at most %d", len(l.Keys), itemsOfRequest)
	case !within(l.Units, maxUnits):
		return fmt.Errorf("units: must be 0 to %d", maxUnits)
	case l.Batch < 0 || l.Throttled < 0:
		return errors.New("batch, throttled: must not be negative")
	case !slices.Contains(classes, l.Failed):
		return fmt.Errorf("failed: %.60q is not %s, %s or %s", l.Failed, classes[1], classes[2], classes[3])
	}
	return nil
}

// once returns a text that shares its memory with all that are equal.
func (t *trace) once(text string) string {
	known, ok := t.texts[text]
	if !ok {
		known = strings.Clone(text) // not a part of the line
		t.texts[known] = known
	}
	return known
}

// scale is how many requests a second one of the sample stands for.
func (t *trace) scale() float64 {
	seconds := (time.Duration(t.head.End-t.head.Begin) * time.Millisecond).Seconds()
	return float64(t.head.Requests) / float64(len(t.requests)) / seconds
}
