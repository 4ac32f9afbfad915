package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Reading has an attribute of each type.
type Reading struct {
	ID      string            `dynamodbav:"id"`
	Value   float64           `dynamodbav:"value"`
	Raw     []byte            `dynamodbav:"raw"`
	OK      bool              `dynamodbav:"ok"`
	Gone    *string           `dynamodbav:"gone"`
	Names   []string          `dynamodbav:"names,stringset"`
	Numbers []int             `dynamodbav:"numbers,numberset"`
	Blobs   [][]byte          `dynamodbav:"blobs,binaryset"`
	List    []any             `dynamodbav:"list"`
	Map     map[string]string `dynamodbav:"map"`
}

var readingEntity = repo.Entity[Reading]{
	Type: "READING",
	Key:  func(r Reading) keys.Key { return keys.Key{PK: keys.Prefix("R").PK(r.ID), SK: keys.Metadata} },
}

// record returns the JSON of a record as Lambda sends it: members in the order and
// form of AWS's documented example.
func record(name, id, seq, images string) string {
	return fmt.Sprintf(`{
      "eventID": %q,
      "eventName": %q,
      "eventVersion": "1.1",
      "eventSource": "aws:dynamodb",
      "awsRegion": "eu-west-1",
      "dynamodb": {
        "ApproximateCreationDateTime": 1.700000001E9,
        "Keys": {"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}},
        %s
        "SequenceNumber": %q,
        "SizeBytes": 26,
        "StreamViewType": "NEW_AND_OLD_IMAGES"
      },
      "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/TABLE/stream/2026-01-01T00:00:00.000"
    }`, id, name, images, seq)
}

// withARN returns a record with another value, as JSON, of eventSourceARN.
func withARN(record, value string) string {
	at := strings.LastIndex(record, `"eventSourceARN"`)
	return record[:at] + `"eventSourceARN": ` + value + "}"
}

const fullImage = `{
  "pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "entityType": {"S": "READING"},
  "id": {"S": "1"}, "value": {"N": "-1.5E+2"}, "raw": {"B": "AAEqQQ\u003d\u003d"}, "ok": {"BOOL": true}, "gone": {"NULL": true},
  "names": {"SS": ["Giraffe", "\u00e4\n\"\\"]}, "numbers": {"NS": ["7", "42"]}, "blobs": {"BS": ["U3Vubnk=", "UmFpbnk="]},
  "list": {"L": [{"S": "Cookies"}, {"N": "3.14159"}, {"M": {"in": {"L": []}}}]}, "map": {"M": {"Name": {"S": "Joe"}}}
}`

func envelope(table string, records ...string) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(`{ "Records": [`+strings.Join(records, ",\n")+`] }`, "TABLE", table))
}

func TestInvalidEvents(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	name := tbl.Schema().Name
	called := false
	r := newRouter(t, tbl, nil, stream.OnOther(func(context.Context, stream.Change[table.Item]) error {
		called = true
		return nil
	}))
	good := record("INSERT", "e", "1", `"NewImage": `+fullImage+`,`)
	for what, event := range map[string]json.RawMessage{
		"nothing":               nil,
		"not JSON":              json.RawMessage(`{"Records": [`),
		"no records":            json.RawMessage(`{"detail": {}}`),
		"another form":          json.RawMessage(`{"Records": [7]}`),
		"another table":         envelope("other", good),
		"no stream":             envelope(name, strings.Replace(good, "eventSourceARN", "other", 1)),
		"a stream of null":      envelope(name, withARN(good, "null")),
		"an empty stream":       envelope(name, withARN(good, `""`)),
		"no ARN":                envelope(name, withARN(good, `"TABLE"`)),
		"a table":               envelope(name, withARN(good, `"arn:aws:dynamodb:eu-west-1:123456789012:table/TABLE"`)),
		"an index":              envelope(name, withARN(good, `"arn:aws:dynamodb:eu-west-1:123456789012:table/TABLE/index/GSI1"`)),
		"a stream without time": envelope(name, withARN(good, `"arn:aws:dynamodb:eu-west-1:123456789012:table/TABLE/stream/"`)),
		"another source":        envelope(name, strings.Replace(good, "aws:dynamodb", "aws:sqs", 1)),
		"keys only":             envelope(name, strings.Replace(record("INSERT", "e", "1", ""), "NEW_AND_OLD_IMAGES", "KEYS_ONLY", 1)),
		"new image only":        envelope(name, strings.Replace(good, "NEW_AND_OLD_IMAGES", "NEW_IMAGE", 1)),
		"no old image":          envelope(name, record("MODIFY", "e", "1", `"NewImage": `+fullImage+`,`)),
		"an old image of none":  envelope(name, record("INSERT", "e", "1", `"NewImage": `+fullImage+`, "OldImage": `+fullImage+`,`)),
		"a new image of none":   envelope(name, record("REMOVE", "e", "1", `"NewImage": `+fullImage+`, "OldImage": `+fullImage+`,`)),
		"no image":              envelope(name, record("REMOVE", "e", "1", "")),
		"unknown name":          envelope(name, record("TRUNCATE", "e", "1", `"NewImage": `+fullImage+`,`)),
		"no sequence":           envelope(name, record("INSERT", "e", "", `"NewImage": `+fullImage+`,`)),
		"other keys":            envelope(name, strings.Replace(good, `"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}}`, `"id": {"N": "1"}}`, 1)),
		"an image without keys": envelope(name, strings.Replace(good, `"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "entityType"`, `"entityType"`, 1)),
		"another key":           envelope(name, strings.Replace(good, `{"S": "R#1"}`, `{"S": "R#2"}`, 1)),
		"an invalid value":      envelope(name, strings.Replace(good, `{"BOOL": true}`, `{"BOOL": "yes"}`, 1)),
		"one of two":            envelope(name, good, record("REMOVE", "e2", "2", "")),
	} {
		called = false
		response, err := r.Handle(t.Context(), event)
		if !errors.Is(err, table.ErrInvalid) || len(response.BatchItemFailures) > 0 || called {
			t.Errorf("%s: %v, %v, called %t", what, response, err, called)
		}
	}
}

// FuzzHandle gives arbitrary bytes to a router: no panic, and either an error or a
// response.
func FuzzHandle(f *testing.F) {
	tbl := tabletest.New(f, spec, nil)
	name := tbl.Schema().Name
	readings, err := repo.New(tbl, readingEntity)
	if err != nil {
		f.Fatal(err)
	}
	r, err := stream.New(tbl, nil, stream.On(readings, func(context.Context, stream.Change[Reading]) error { return nil }))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(envelope("TABLE", record("INSERT", "e", "1", `"NewImage": `+fullImage+`,`))))
	f.Add([]byte(envelope("TABLE", record("MODIFY", "e", "1", `"OldImage": {}, "NewImage": null,`))))
	f.Add([]byte(`{"Records":[{"dynamodb":{"Keys":{"pk":{"N":"1"}}}}]}`))
	for file := range forms {
		f.Add([]byte(strings.ReplaceAll(string(golden(f, file)), "/readings/", "/TABLE/")))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		event = []byte(strings.ReplaceAll(string(event), "TABLE", name))
		response, err := r.Handle(t.Context(), event)
		if err == nil && !json.Valid(event) {
			t.Error("an event that is not JSON was taken")
		}
		if (response.Err != nil) != (len(response.BatchItemFailures) > 0) {
			t.Errorf("response: %v", response)
		}
	})
}

func TestResponseJSON(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]stream.Response{
		`{"batchItemFailures":[]}`:                        {BatchItemFailures: []stream.ItemFailure{}},
		`{"batchItemFailures":[{"itemIdentifier":"17"}]}`: {BatchItemFailures: []stream.ItemFailure{{ItemIdentifier: "17"}}, Err: errors.New("x")},
	} {
		expect.Equal(t, "JSON", string(expect.Value(json.Marshal(r))(t)), want)
	}
}

func TestEventFilterWithoutEntities(t *testing.T) {
	t.Parallel()
	r := newRouter(t, tabletest.New(t, spec, nil), nil, stream.IgnoreOther())
	expect.Equal(t, "filter", string(r.EventFilter()), `{"Filters":[]}`)
}

func TestEventFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	r := newRouter(t, w.table, nil, w.onUsers(&l), w.onNotes(&l), stream.IgnoreOther())
	var got struct{ Filters []struct{ Pattern string } }
	expect.OK(t, json.Unmarshal(r.EventFilter(), &got))
	expect.Equal(t, "filters", len(got.Filters), 2)
	for i, image := range []string{"NewImage", "OldImage"} {
		expect.Equal(t, "pattern", got.Filters[i].Pattern, `{"dynamodb":{"`+image+`":{"entityType":{"S":["USER","NOTE"]}}}}`)
	}
}
