package stream

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// kinesisSource is the event source of records of Kinesis Data Streams.
const kinesisSource = "aws:kinesis"

// kinesisRecord is a record of Kinesis Data Streams with one of DynamoDB in it. AWS: "Using AWS
// Lambda to process records from Amazon Kinesis Data Streams", AWS Lambda Developer Guide; "Amazon
// Kinesis stream as a source for EventBridge Pipes", Amazon EventBridge User Guide.
type kinesisRecord struct {
	Data           string `json:"data"` // base64
	SequenceNumber string `json:"sequenceNumber"`
}

// unpack returns the record of DynamoDB. id and arn are those of the record of Kinesis.
func (k kinesisRecord) unpack(id, arn string) (r *record, problem error, ok bool) { //nolint:revive // as parseRecord
	var data []byte
	if json.Unmarshal([]byte(`"`+k.Data+`"`), &data) != nil || len(data) == 0 {
		return nil, fmt.Errorf("%w: its data is not that of a record in base64", errEvent), true
	}
	in := item.NewParser(data)
	r, problem, ok = parseRecord(in)
	if ok = ok && in.End(); !ok || problem != nil {
		return r, problem, ok
	}
	if r.source == "" {
		return r, fmt.Errorf("%w: its data is not a record of a table", errEvent), true
	}
	r.outer, r.arn, r.reported = id, arn, k.SequenceNumber
	return r, nil, true
}

// delivery is what an event has delivered, in the order in which it is to be handled.
type delivery struct {
	records []*record
	// piped means that EventBridge Pipes has delivered it. It wants the event IDs of all records
	// that were not handled. AWS: "Amazon EventBridge Pipes batching and concurrency", Amazon
	// EventBridge User Guide.
	piped bool
}

// arrange puts the records of Kinesis in the order of their changes: the stream can have them
// twice, and out of order. Those of one item are in the order of their times, and at one time in
// that in which each has for its old image the new one before it. AWS: "Kinesis Data Streams for DynamoDB", Amazon
// DynamoDB Developer Guide.
func (d *delivery) arrange() {
	of := map[string][]*record{}
	for i, r := range d.records {
		r.position = i
		if r.source != "" {
			key := string(item.JSON(r.keys))
			of[key] = append(of[key], r)
		}
	}
	if len(of) == 0 {
		return
	}
	for key, records := range of {
		of[key] = inOrder(records)
	}
	next := d.records[:0:0]
	for _, r := range d.records {
		if r.source == "" {
			next = append(next, r)
			continue
		}
		key := string(item.JSON(r.keys))
		if left := of[key]; len(left) > 0 {
			next, of[key] = append(next, left[0]), left[1:]
		}
	}
	d.records = next
}

// inOrder returns the records of an item in the order of its changes, each once.
func inOrder(records []*record) []*record {
	slices.SortStableFunc(records, func(a, b *record) int { return a.at.Compare(b.at) })
	var all []*record
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].at.Equal(records[0].at) {
			n++
		}
		same := slices.CompactFunc(slices.Clone(records[:n]), func(a, b *record) bool { return a.repeats(b) })
		for len(same) > 0 {
			// The first is one whose old image no other has made.
			i := slices.IndexFunc(same, func(r *record) bool {
				return !slices.ContainsFunc(same, func(other *record) bool { return other != r && sameImage(other.new, r.old) })
			})
			i = max(i, 0)
			first := same[i]
			same = slices.DeleteFunc(same, func(r *record) bool { return r == first || r.repeats(first) })
			all = append(all, first)
		}
		records = records[n:]
	}
	return all
}

// repeats reports whether two records of one item and time are of one change.
func (r *record) repeats(other *record) bool {
	return sameImage(r.old, other.old) && sameImage(r.new, other.new)
}

func sameImage(a, b table.Item) bool {
	return (a == nil) == (b == nil) && maps.EqualFunc(a, b, item.EqualUnordered)
}

// failures returns what a response says of the records from one on, which were not handled.
func (d *delivery) failures(from int) (all []ItemFailure) {
	left := slices.Clone(d.records[from:])
	slices.SortFunc(left, func(a, b *record) int { return a.position - b.position })
	if !d.piped { // what is behind the first one comes again with it
		return []ItemFailure{{left[0].reported}}
	}
	for _, r := range left {
		all = append(all, ItemFailure{cmp.Or(r.outer, r.id)})
	}
	return all
}
