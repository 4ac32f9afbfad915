package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// otherForm says what an event is that Lambda has not sent for a stream of DynamoDB, and what to
// do. It is empty if that is not known. Events that are read are not given to it.
func otherForm(event []byte) string {
	switch event = bytes.TrimSpace(event); {
	case len(event) == 0:
		return ""
	case event[0] == '[':
		var records []otherRecord
		if json.Unmarshal(event, &records) != nil || len(records) == 0 {
			return ""
		}
		if records[0].isKinesis() {
			return kinesisForm
		}
		if records[0].Dynamodb != nil {
			return "it is an array of records, as EventBridge Pipes sends it, which is not supported: use an event source mapping of Lambda"
		}
		return ""
	}
	var e struct {
		Records []otherRecord
		otherRecord
	}
	switch {
	case json.Unmarshal(event, &e) != nil:
	case e.isKinesis() || len(e.Records) > 0 && e.Records[0].isKinesis():
		return kinesisForm
	case e.Records == nil && e.Dynamodb != nil:
		return `it is a record without the event around it, which is {"Records": [...]}`
	}
	return ""
}

const kinesisForm = "it is of Kinesis Data Streams, which is not supported: use an event source mapping of Lambda for the table's stream"

// otherRecord has the members that tell where a record comes from.
type otherRecord struct {
	EventSource string `json:"eventSource"`
	// Kinesis is in events of Lambda, and KinesisSchemaVersion in those of EventBridge Pipes.
	Kinesis              json.RawMessage `json:"kinesis"`
	KinesisSchemaVersion string          `json:"kinesisSchemaVersion"`
	// RecordFormat and TableName are in the data of Kinesis Data Streams for DynamoDB.
	RecordFormat string          `json:"recordFormat"`
	TableName    string          `json:"tableName"`
	Dynamodb     json.RawMessage `json:"dynamodb"`
}

func (r otherRecord) isKinesis() bool {
	return r.EventSource == "aws:kinesis" || r.Kinesis != nil || r.KinesisSchemaVersion != "" || r.Dynamodb != nil && r.RecordFormat+r.TableName != ""
}

// untyped returns the name of an attribute of an image whose value, or a value in it, has no
// type; "" if each has one. The image is {"name": {"S": "value"}, ...} in JSON.
func untyped(image []byte) string {
	var attributes map[string]any
	_ = json.Unmarshal(image, &attributes) // There are none in another value.
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if hasNoType(attributes[name]) {
			return name
		}
	}
	return ""
}

func hasNoType(v any) bool {
	value, ok := v.(map[string]any)
	members, _ := value["M"].(map[string]any)
	elements, _ := value["L"].([]any)
	return ok && len(value) == 0 || slices.ContainsFunc(elements, hasNoType) || slices.ContainsFunc(slices.Collect(maps.Values(members)), hasNoType)
}

// noType is the error of a value without a type, and says where it is. What is stored is not in
// the record.
func noType(where string) error {
	return fmt.Errorf("%w: %s has a value without a type, as streams of DynamoDB Local 3 can have: the change cannot be read", errEvent, where)
}
