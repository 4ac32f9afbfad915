package stream

import (
	"cmp"
	"encoding/json"
	"fmt"
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
// that in which each has for its old image the new one before it. Where records are missing, the
// version of the old image is the order. AWS: "Kinesis Data Streams for DynamoDB", Amazon
// DynamoDB Developer Guide.
func (d *delivery) arrange(version func(table.Item) int) {
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
		of[key] = inOrder(records, version)
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
func inOrder(records []*record, version func(table.Item) int) (all []*record) {
	slices.SortStableFunc(records, func(a, b *record) int {
		//mutants:guard stream: changes of one time with others between are in the order of their versions | TestKinesisChangesWithVersions | cmp.Compare(version(a.old), version(b.old)) => 0
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(version(a.old), version(b.old)))
	})
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].at.Equal(records[0].at) {
			n++
		}
		same := records[:n]
		records = records[n:]
		if n > 1 {
			var known []string
			if len(all) > 0 {
				known = append(known, imageText(all[len(all)-1].new))
			}
			if len(records) > 0 {
				known = append(known, imageText(records[0].old))
			}
			same = trail(same, append(known, "")) // what is created and deleted at one time is created first
		}
		all = append(all, same...)
	}
	return all
}

// imageText returns the same text for equal images, and "" for none.
func imageText(image table.Item) string {
	if image == nil {
		return ""
	}
	return string(item.JSON(image))
}

// step is a record with the images that it leads from and to. A change that comes again has the
// event ID and the images of the first time. An item without a version can return to what it was,
// by changes of equal images that have other event IDs.
type step struct{ id, from, to string }

// trail returns records of one item, each change once, in an order in which each has for its old
// image the new one before it. That is a trail through the graph whose nodes are images and whose
// edges are records. It begins at an image that is left more often than it is reached. If there
// is none, it ends where it begins, which can be at one of known. If records are missing, there
// are several trails.
func trail(records []*record, known []string) (all []*record) {
	of, left, reached := map[step]*record{}, map[string][]step{}, map[string]int{}
	starts := known
	for _, r := range records {
		s := step{r.id, imageText(r.old), imageText(r.new)}
		if of[s] != nil {
			continue
		}
		of[s] = r
		left[s.from] = append(left[s.from], s)
		reached[s.to]++
		starts = append(starts, s.from)
	}
	for len(all) < len(of) {
		start := slices.IndexFunc(starts, func(image string) bool { return len(left[image]) > reached[image] })
		if start < 0 {
			start = slices.IndexFunc(starts, func(image string) bool { return len(left[image]) > 0 })
		}
		// This is Hierholzer's algorithm: what the walk leaves out is put in on its way back.
		var back []step
		for path := []step{{to: starts[start]}}; len(path) > 0; {
			at := path[len(path)-1].to
			if next := left[at]; len(next) > 0 {
				path, left[at] = append(path, next[0]), next[1:]
				reached[next[0].to]--
				continue
			}
			back, path = append(back, path[len(path)-1]), path[:len(path)-1]
		}
		for _, s := range slices.Backward(back[:len(back)-1]) { // the last one is the start
			all = append(all, of[s])
		}
	}
	return all
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
