package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// record is one record of a stream: what a write has changed in an item.
type record struct {
	id, sequence, arn, view string
	// reported names the record in a Response: its sequence number, or what the service that has
	// delivered it names it by.
	reported string
	// source is the table, in a record of Kinesis Data Streams, and outer the event ID of the
	// record that it is in there. position is its place in the event.
	source, outer string
	position      int
	at            time.Time
	// expired means that DynamoDB has deleted the item after its expiry.
	expired bool
	// keys, old and new are the attributes; old or new is nil if there was no item.
	keys, old, new table.Item
	// created is when the record was made, in seconds, or in what precision says.
	created   float64
	precision string
	// key is the item's key.
	key keys.Key
	// untyped is the name of an attribute without a type, so that an image cannot be read.
	untyped string
}

// ttlPrincipal is who deletes expired items. AWS: "DynamoDB Streams and Time to Live",
// Amazon DynamoDB Developer Guide; Record, Amazon DynamoDB Streams API Reference.
const (
	ttlPrincipal     = "dynamodb.amazonaws.com"
	ttlPrincipalType = "Service"
)

// errEvent means that the JSON is not what Lambda sends for a stream.
var errEvent = fmt.Errorf("%w stream event", table.ErrInvalid)

// parseEvent reads the event that Lambda, or EventBridge Pipes, gives to a function.
func parseEvent(event []byte) (d delivery, err error) {
	var problem error
	found := false
	in := item.NewParser(event)
	records := func() bool {
		found = true
		return in.Array(func(i int) bool {
			r, err, ok := parseRecord(in)
			if err != nil {
				problem = fmt.Errorf("record %d: %w", i, err)
			}
			if ok {
				d.records = append(d.records, r)
			}
			return ok && err == nil
		})
	}
	ok := false
	if d.piped = bytes.HasPrefix(bytes.TrimSpace(event), []byte("[")); d.piped {
		ok = records()
	} else {
		ok = in.Object(func(name []byte) bool {
			if string(name) != "Records" {
				_, ok := in.Skip()
				return ok
			}
			return records()
		})
	}
	ok = ok && in.End()
	if problem == nil && ok && found {
		return d, nil
	}
	return delivery{}, eventError(event, problem, found, len(d.records))
}

// eventError returns what is wrong with an event: with a record of it, or with its form.
func eventError(event []byte, problem error, found bool, n int) error {
	is := otherForm(event)
	switch {
	case !json.Valid(event):
		return fmt.Errorf("%w: it is not JSON", errEvent)
	case is != "":
		return fmt.Errorf("%w: %s", errEvent, is)
	case problem != nil:
		return problem
	case found:
		return fmt.Errorf("%w: record %d is not a record of DynamoDB Streams", errEvent, n)
	default:
		return fmt.Errorf("%w: it has no Records", errEvent)
	}
}

// parseRecord reads a record. It returns false if the JSON is not that of a record.
func parseRecord(in *item.Parser) (r *record, problem error, ok bool) { //nolint:revive // the error is the record's, ok is the JSON's
	r = &record{}
	var source, name string
	var shipped kinesisRecord
	images := false
	ok = in.Object(func(member []byte) bool {
		switch string(member) {
		case "kinesis":
			raw, ok := in.Skip()
			return ok && json.Unmarshal(raw, &shipped) == nil
		case "data": // EventBridge Pipes gives the members of "kinesis" as the record's own
			return text(in, &shipped.Data)
		case "sequenceNumber":
			return text(in, &shipped.SequenceNumber)
		case "tableName":
			return text(in, &r.source)
		case "eventID":
			return text(in, &r.id)
		case "eventName":
			return text(in, &name)
		case "eventSource":
			return text(in, &source)
		case "eventSourceARN":
			return text(in, &r.arn)
		case "userIdentity":
			return r.parseIdentity(in)
		case "dynamodb":
			images = true
			return r.parseImages(in)
		}
		_, ok := in.Skip()
		return ok
	})
	switch {
	case r.untyped != "":
		return r, noType(fmt.Sprintf("attribute %q", r.untyped)), false
	case !ok:
		return r, nil, false
	case source == kinesisSource:
		return shipped.unpack(r.id, r.arn)
	case source != "" && source != "aws:dynamodb":
		return r, fmt.Errorf("%w: its source is %q and not a stream of DynamoDB", errEvent, source), true
	case !images:
		return r, fmt.Errorf("%w: it has no member %q", errEvent, "dynamodb"), true
	}
	if !r.setTime() {
		return r, nil, false
	}
	r.reported = r.sequence
	return r, r.check(name), true
}

// secondsBelow is the least time in milliseconds or microseconds. A smaller number is seconds: a
// table that also streams to Kinesis names Kinesis' precision in the records of DynamoDB Streams,
// whose times AWS documents in seconds. AWS: StreamRecord, Amazon DynamoDB Streams API Reference.
const secondsBelow = 1e11

// setTime sets the time of the record; one without a time keeps the zero one. It returns false if
// its time is none.
func (r *record) setTime() bool {
	perSecond := 1.0
	switch {
	case r.created == 0:
		return true
	case r.source == "" && r.created < secondsBelow:
	case r.precision == "MICROSECOND":
		perSecond = 1e6
	case r.precision == "MILLISECOND" || r.source != "":
		perSecond = 1e3
	}
	if math.Abs(r.created) > 1e12*perSecond {
		return false
	}
	whole, part := math.Modf(r.created / perSecond)
	r.at = time.Unix(int64(whole), int64(math.Round(part*1e6))*1e3).UTC()
	return true
}

// check reports what a record lacks, or has and cannot have.
func (r *record) check(name string) error {
	inserts, removes := name == string(streamtypes.OperationTypeInsert), name == string(streamtypes.OperationTypeRemove)
	want := ""
	switch {
	case r.source != "" && r.id == "":
		want = "an event ID"
	//mutants:guard stream: a record of Kinesis has a time, by which a consumer compares | TestInvalidKinesisRecords | r.at.IsZero() => false
	case r.source != "" && r.at.IsZero():
		want = "a time, and the changes of Kinesis have no other order"
	case r.view != "" && r.view != string(streamtypes.StreamViewTypeNewAndOldImages):
		return fmt.Errorf("%w: the view of the stream is %s, and changes need NEW_AND_OLD_IMAGES", errEvent, r.view)
	case r.source == "" && (r.sequence == "" || r.id == ""):
		want = "a sequence number and an event ID"
	case len(r.keys) == 0:
		want = "keys"
	case !inserts && !removes && name != string(streamtypes.OperationTypeModify):
		return fmt.Errorf("%w: its event name is %q", errEvent, name)
	case (r.old == nil) != inserts || (r.new == nil) != removes:
		want = "the images of " + name + ": the view of the stream must be NEW_AND_OLD_IMAGES"
	default:
		return nil
	}
	return fmt.Errorf("%w: it does not have %s", errEvent, want)
}

func (r *record) parseIdentity(in *item.Parser) bool {
	raw, ok := in.Skip()
	var identity struct{ Type, PrincipalID string } // names are compared without regard to case
	ok = ok && json.Unmarshal(raw, &identity) == nil
	r.expired = identity.Type == ttlPrincipalType && identity.PrincipalID == ttlPrincipal
	return ok
}

func (r *record) parseImages(in *item.Parser) bool {
	return in.Object(func(member []byte) (ok bool) {
		switch string(member) {
		case "Keys":
			return r.image(in, &r.keys)
		case "NewImage":
			return r.image(in, &r.new)
		case "OldImage":
			return r.image(in, &r.old)
		case "SequenceNumber":
			return text(in, &r.sequence)
		case "StreamViewType":
			return text(in, &r.view)
		case "ApproximateCreationDateTime":
			raw, ok := in.Skip()
			var err error
			r.created, err = strconv.ParseFloat(string(raw), 64)
			return ok && err == nil
		case "ApproximateCreationDateTimePrecision":
			return text(in, &r.precision)
		}
		_, ok = in.Skip()
		return ok
	})
}

// text reads a string, or null.
func text(in *item.Parser, into *string) bool {
	raw, ok := in.Skip()
	return ok && json.Unmarshal(raw, into) == nil
}

// image reads an item, or null.
func (r *record) image(in *item.Parser, into *table.Item) bool {
	raw, ok := in.Skip()
	if !ok || string(raw) == "null" {
		return ok
	}
	if *into, _, ok = item.NewParser(raw).Item(); !ok {
		r.untyped = untyped(raw)
	}
	return ok
}

// typeless reports whether a value has no type. The SDK gives such a value none, or the one that
// it has read before, which then is there twice.
func typeless(attributes map[string]streamtypes.AttributeValue) bool {
	return typelessAmong(slices.Collect(maps.Values(attributes)))
}

func typelessAmong(values []streamtypes.AttributeValue) bool {
	seen := make(map[streamtypes.AttributeValue]bool, len(values)) // The keys are pointers.
	for _, value := range values {
		if value == nil || seen[value] {
			return true
		}
		seen[value] = true
		switch v := value.(type) {
		case *streamtypes.AttributeValueMemberM:
			if typeless(v.Value) {
				return true
			}
		case *streamtypes.AttributeValueMemberL:
			if typelessAmong(v.Value) {
				return true
			}
		}
	}
	return false
}

// newRecord returns a record that the SDK has read.
func newRecord(arn string, from streamtypes.Record) (*record, error) {
	r := &record{id: aws.ToString(from.EventID), arn: arn}
	if id := from.UserIdentity; id != nil {
		r.expired = aws.ToString(id.Type) == ttlPrincipalType && aws.ToString(id.PrincipalId) == ttlPrincipal
	}
	if d := from.Dynamodb; d != nil {
		r.sequence, r.view, r.at = aws.ToString(d.SequenceNumber), string(d.StreamViewType), aws.ToTime(d.ApproximateCreationDateTime).UTC()
		if typeless(d.Keys) || typeless(d.OldImage) || typeless(d.NewImage) {
			return r, noType("an image")
		}
		var failed error
		item := func(from map[string]streamtypes.AttributeValue) table.Item {
			if from == nil {
				return nil
			}
			to, err := attributevalue.FromDynamoDBStreamsMap(from)
			if err != nil {
				failed = err
			}
			return to
		}
		r.keys, r.old, r.new = item(d.Keys), item(d.OldImage), item(d.NewImage)
		if failed != nil {
			return r, fmt.Errorf("%w: %w", errEvent, failed)
		}
	}
	return r, r.check(string(from.EventName))
}

// tableOf returns the name of the table in the ARN of a stream, "" if it is not
// one of a stream. AWS: "Actions, resources, and condition
// keys for Amazon DynamoDB", Service Authorization Reference.
func tableOf(arn string) string {
	_, name, _ := strings.Cut(arn, ":table/")
	name, label, _ := strings.Cut(name, "/stream/")
	if label == "" {
		return ""
	}
	return name
}
