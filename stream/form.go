package stream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// otherForm says what an event is that nobody sends to a function, and what to do. It is empty if
// that is not known. Events that are read are not given to it.
func otherForm(event []byte) string {
	var e struct {
		Records   json.RawMessage
		Dynamodb  json.RawMessage `json:"dynamodb"`
		TableName string          `json:"tableName"`
	}
	switch {
	case json.Unmarshal(event, &e) != nil || e.Records != nil || e.Dynamodb == nil:
		return ""
	case e.TableName != "":
		return "it is the data of a record of Kinesis Data Streams, without the event around it"
	}
	return `it is a record without the event around it, which is {"Records": [...]}`
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
