package stream_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The files have the same three changes, of an item with every type of attributes, in each form
// that a function is given. The members are those that AWS documents, the data is ours:
//
//   - lambda.json: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
//   - pipes.json: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-dynamodb.html,
//     with the ARN of the stream in full, as the pipe's source has it
//   - kinesis.json: https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html, around records of
//     https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/kds.html
//   - kinesis-milliseconds.json: the same without ApproximateCreationDateTimePrecision
//   - kinesis-pipes.json: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-kinesis.html
var forms = map[string]struct {
	at     string // of the first change
	stream string
	ids    [3]string
	// sequenced means that changes have the sequence numbers of the table's stream.
	sequenced bool
}{
	"lambda.json":               {"2026-01-01T00:00:01Z", ofTable, plainIDs, true},
	"pipes.json":                {"2026-01-01T00:00:01Z", ofTable, plainIDs, true},
	"kinesis.json":              {"2026-01-01T00:00:01.250417Z", ofKinesis, dashedIDs, false},
	"kinesis-milliseconds.json": {"2026-01-01T00:00:01.25Z", ofKinesis, dashedIDs, false},
	"kinesis-pipes.json":        {"2026-01-01T00:00:01.250417Z", ofKinesis, dashedIDs, false},
}

const (
	ofTable   = "arn:aws:dynamodb:eu-central-1:210987654321:table/readings/stream/2025-12-31T22:10:04.508"
	ofKinesis = "arn:aws:kinesis:eu-central-1:210987654321:stream/readings-changes"
)

var (
	plainIDs  = [3]string{"3f9a1c5e7d2b48069c41e8a7b5d0f312", "81d4e6b20c9f4a73a5e2716b3fd8c094", "c7025be94f1d46a8b3907ed65c2a41f8"}
	dashedIDs = [3]string{"3f9a1c5e-7d2b-4806-9c41-e8a7b5d0f312", "81d4e6b2-0c9f-4a73-a5e2-716b3fd8c094", "c7025be9-4f1d-46a8-b390-7ed65c2a41f8"}
)

// golden returns a file of testdata.
func golden(tb testing.TB, name string) json.RawMessage {
	tb.Helper()
	return expect.Value(os.ReadFile("testdata/" + name))(tb)
}

func TestEventsInTheFormsOfAWS(t *testing.T) {
	t.Parallel()
	tbl := expect.Value(table.New(tabletest.Client(t), schema.Table{Name: "readings", TTLAttribute: "ends"}, nil))(t)
	full := Reading{
		ID: "roof-7", Value: -12.5, Raw: []byte{1, 2, 3, 255}, OK: true, Names: []string{"Dach", "grüner \"Pfeil\"\n"}, Numbers: []int{3, 18},
		Blobs: [][]byte{{0, 1}, {254, 255}}, List: []any{"wind", 0.25, map[string]any{"in": []any{}}}, Map: map[string]string{"unit": "°C"},
	}
	small := Reading{ID: "roof-7", Value: 4}
	for file, form := range forms {
		var got []stream.Change[Reading]
		r := newRouter(t, tbl, nil, stream.On(newRepo(t, tbl, readingEntity), func(_ context.Context, c stream.Change[Reading]) error {
			got = append(got, c)
			return nil
		}))
		deliver(t, r, golden(t, file))
		want := []stream.Change[Reading]{
			{Kind: stream.Insert, New: &full},
			{Kind: stream.Modify, Old: &full, New: &small, Changed: []string{"blobs", "list", "map", "names", "numbers", "ok", "raw", "value"}},
			{Kind: stream.Expire, Old: &small},
		}
		at := expect.Value(time.Parse(time.RFC3339Nano, form.at))(t)
		for i := range want {
			c := &want[i]
			c.Key, c.At = keys.Key{PK: "R#roof-7", SK: keys.Metadata}, at.Add(time.Duration(i)*time.Second)
			c.EventID, c.Stream = form.ids[i], form.stream
			if form.sequenced {
				c.Sequence = "731845000000000288164031" + string(rune('7'+i))
			}
		}
		expect.Equal(t, file, got, want)
	}
}

// A table that also streams to Kinesis can name Kinesis' precision in the records of its own stream,
// whose times are seconds. A record without a time has none, and not one of 1970.
func TestTimesOfTheTablesStream(t *testing.T) {
	t.Parallel()
	tbl := expect.Value(table.New(tabletest.Client(t), schema.Table{Name: "readings"}, nil))(t)
	const time1 = `"ApproximateCreationDateTime": 1767225601.0,`
	first := time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)
	for with, want := range map[string]time.Time{
		time1: first,
		`"ApproximateCreationDateTimePrecision": "MICROSECOND", ` + time1:                                        first,
		`"ApproximateCreationDateTimePrecision": "MILLISECOND", ` + time1:                                        first,
		`"ApproximateCreationDateTimePrecision": "MICROSECOND", "ApproximateCreationDateTime":1767225601000000,`: first,
		`"ApproximateCreationDateTimePrecision": "MILLISECOND", "ApproximateCreationDateTime":1767225601000,`:    first,
		``: {},
	} {
		var got []time.Time
		r := newRouter(t, tbl, nil, stream.OnOther(func(_ context.Context, c stream.Change[table.Item]) error {
			got = append(got, c.At)
			return nil
		}))
		deliver(t, r, json.RawMessage(strings.Replace(string(golden(t, "lambda.json")), time1, with, 1)))
		expect.Equal(t, with, got[0], want)
	}
}
