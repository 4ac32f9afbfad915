package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Events of other services have the form that their documentation shows. An error says which
// one it is, and no value.
func TestEventsOfOtherServices(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	name := tbl.Schema().Name
	r := newRouter(t, tbl, nil, stream.OnOther(func(context.Context, stream.Change[table.Item]) error {
		t.Error("a handler was called")
		return nil
	}))
	image := `"NewImage": {"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "note": {"S": "secret"}},`
	one := strings.ReplaceAll(record("INSERT", "e", "1", image), "TABLE", name)
	data := `{"awsRegion":"eu-west-1","eventID":"5f0a","eventName":"INSERT","userIdentity":null,"recordFormat":"application/json","tableName":"` + name +
		`","dynamodb":{"ApproximateCreationDateTime":1700000001123,"Keys":{"pk":{"S":"R#1"},"sk":{"S":"METADATA"}},` + image + `"SizeBytes":26},"eventSource":"aws:dynamodb"}`
	const kinesis, single = "Kinesis Data Streams", "a record without the event around it"
	for what, c := range map[string]struct{ event, says string }{
		"the data of Kinesis":     {data, kinesis},
		"with Records around it":  {`{"Records":[` + data + `]}`, "ARN of a stream"},
		"Pipes that decoded it":   {"[" + data + "]", "ARN of a stream"},
		"a record alone":          {one, single},
		"an array of others":      {`[{"detail":{}}]`, "stream event"},
		"a value without a type":  {string(envelope(name, strings.Replace(one, `{"S": "secret"}`, "{}", 1))), `record 0: invalid stream event: attribute "note" has a value without a type`},
		"deep in a map":           {string(envelope(name, strings.Replace(one, `{"S": "secret"}`, `{"M":{"secret":{"L":[{"S":"a"},{}]}}}`, 1))), `attribute "note" has a value without a type`},
		"in a key":                {string(envelope(name, strings.Replace(one, `"Keys": {"pk": {"S": "R#1"}`, `"Keys": {"pk": {}`, 1))), `attribute "pk" has a value without a type`},
		"a value of another form": {string(envelope(name, strings.Replace(one, `{"S": "secret"}`, `{"S": 5}`, 1))), "record 0 is not a record of DynamoDB Streams"},
	} {
		_, err := r.Handle(t.Context(), json.RawMessage(c.event))
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", what, err, c.says)
		}
	}
}

// A Reader says the same of a value without a type, for which the SDK gives the one before it.
func TestReaderNamesAValueWithoutAType(t *testing.T) {
	t.Parallel()
	for what, image := range map[string]string{
		"the first":       `{"note": {}, "pk": {"S": "R#1"}, "sk": {"S": "METADATA"}}`,
		"the last":        `{"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "note": {}}`,
		"deep in a map":   `{"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "note": {"M": {"a": {"S": "x"}, "b": {}}}}`,
		"deep in a list":  `{"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "note": {"L": [{"L": [{}]}]}}`,
		"null in a list":  `{"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "note": {"L": [null]}}`,
		"of an old image": `{"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}}, "OldImage": {"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "note": {}}`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var l log
			s := &shards{table: w.table.Schema().Name}
			one := strings.ReplaceAll(record("MODIFY", "e", "1", `"NewImage": `+image+","), "TABLE", s.table)
			s.all = []*shard{{id: "shard-1", closed: true, records: []json.RawMessage{json.RawMessage(one)}}}
			err := w.shardReader(t, s, &l).Run(t.Context())
			if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "an image has a value without a type") || len(l.all()) > 0 {
				t.Errorf("%v, handled %q", err, l.all())
			}
		})
	}
}
