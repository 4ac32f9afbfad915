package item_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/item"
)

// inputs are those of the operations that have to do with items.
var inputs = []smithy.Serializable{
	&dynamodb.GetItemInput{}, &dynamodb.PutItemInput{}, &dynamodb.UpdateItemInput{}, &dynamodb.DeleteItemInput{}, &dynamodb.QueryInput{}, &dynamodb.ScanInput{},
	&dynamodb.BatchGetItemInput{}, &dynamodb.BatchWriteItemInput{}, &dynamodb.TransactGetItemsInput{}, &dynamodb.TransactWriteItemsInput{},
	&dynamodb.ExecuteStatementInput{}, &dynamodb.CreateTableInput{}, &dynamodb.UpdateTimeToLiveInput{}, &dynamodb.DescribeTableInput{},
}

// attributeValue makes any attribute value, an odd one now and then.
func (s *source) attributeValue(depth int) types.AttributeValue {
	n := s.below(4)
	switch s.below(11) {
	case 0, 10:
		return &types.AttributeValueMemberS{Value: s.text()}
	case 1:
		return &types.AttributeValueMemberN{Value: s.number()}
	case 2:
		if s.rarely(8) {
			return &types.AttributeValueMemberB{}
		}
		return &types.AttributeValueMemberB{Value: []byte(s.text())}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: s.rarely(2)}
	case 4:
		return &types.AttributeValueMemberNULL{Value: true}
	case 5:
		v := &types.AttributeValueMemberSS{}
		for range n {
			v.Value = append(v.Value, s.text())
		}
		return v
	case 6:
		v := &types.AttributeValueMemberNS{}
		for range n {
			v.Value = append(v.Value, s.number())
		}
		return v
	case 7:
		v := &types.AttributeValueMemberBS{}
		for range n {
			v.Value = append(v.Value, []byte(s.text()))
		}
		return v
	case 8:
		v := &types.AttributeValueMemberL{}
		for range min(n, depth) {
			v.Value = append(v.Value, s.attributeValue(depth-1))
		}
		return v
	}
	v := &types.AttributeValueMemberM{Value: attributes{}}
	for range min(n, depth) {
		v.Value[s.text()] = s.attributeValue(depth - 1)
	}
	return v
}

// fill fills in an input.
func (s *source) fill(v reflect.Value, depth int) {
	if depth <= 0 || !v.CanSet() || s.rarely(6) {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[types.AttributeValue]() {
			v.Set(reflect.ValueOf(s.attributeValue(3)))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.fill(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), s.below(3), 3))
		for i := range v.Len() {
			s.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range s.below(4) {
			elem := reflect.New(v.Type().Elem()).Elem()
			s.fill(elem, depth-1)
			if elem.Kind() != reflect.Interface || !elem.IsNil() {
				v.SetMapIndex(reflect.ValueOf(s.text()), elem)
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(5, 0)))
			return
		}
		for i := range v.NumField() {
			if s.rarely(2) {
				s.fill(v.Field(i), depth-1)
			}
		}
	default:
		s.value(v, 1)
	}
}

// sdkBody lets the SDK write a request.
func sdkBody(tb testing.TB, in smithy.Serializable) []byte {
	tb.Helper()
	request := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	request.URL = &url.URL{}
	op := smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput) // it names the operation, no more
	if err := protocol.SerializeRequest(context.Background(), op, in, request); err != nil {
		tb.Fatal(err)
	}
	body, err := io.ReadAll(request.GetStream())
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// parse reads JSON, and refuses a name that is there twice: there is none in
// what goes to DynamoDB.
func parse(body []byte) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func checkWriter(tb testing.TB, w *item.Writer, in smithy.Serializable) {
	tb.Helper()
	in.Serialize(w)
	if !w.Complete() {
		return
	}
	body := sdkBody(tb, in)
	theirs, err := parse(body)
	if err != nil {
		tb.Fatalf("%T: the SDK's %q: %v", in, body, err)
	}
	ours, err := parse(w.Bytes())
	if err != nil {
		tb.Fatalf("%T: %q: %v", in, w.Bytes(), err)
	}
	if !reflect.DeepEqual(ours, theirs) {
		tb.Errorf("%T\nours:   %q\ntheirs: %q", in, w.Bytes(), body)
	}
}

// What the library writes is what the SDK writes.
func FuzzWriter(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		var w item.Writer
		for range 1 + s.below(3) {
			in := reflect.New(reflect.TypeOf(inputs[s.below(len(inputs))]).Elem())
			s.fill(in.Elem(), 6)
			w.Reset()
			checkWriter(t, &w, in.Interface().(smithy.Serializable))
		}
	})
}

// Each byte, at each place among eight, in text and in names.
func TestWriterText(t *testing.T) {
	t.Parallel()
	var w item.Writer
	for c := range 256 {
		for offset := range 8 {
			letter := string([]byte{byte(c)})
			if offset == 0 && c >= 0x80 {
				letter = string(rune(0x2000 + c)) // line separators among them
			}
			before := strings.Repeat("x", offset) + letter
			for _, text := range []string{before, before + strings.Repeat("y", 8-offset)} {
				w.Reset()
				checkWriter(t, &w, &dynamodb.PutItemInput{TableName: &text, Item: attributes{text: &types.AttributeValueMemberS{Value: text}}})
				if valid := utf8.ValidString(text); w.Complete() != valid {
					t.Errorf("%q is written: %v", text, w.Complete())
				}
			}
		}
	}
}

// Everything that goes to DynamoDB is written, and nothing else is.
func TestWriterComplete(t *testing.T) {
	t.Parallel()
	name, yes, limit := "t", true, int32(-5)
	all := attributes{
		"s": &types.AttributeValueMemberS{Value: ""}, "n": &types.AttributeValueMemberN{Value: "1"}, "b": &types.AttributeValueMemberB{Value: []byte{}},
		"o": &types.AttributeValueMemberBOOL{}, "z": &types.AttributeValueMemberNULL{Value: true}, "e": &types.AttributeValueMemberM{Value: attributes{}},
		"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberSS{Value: []string{"a", "b"}}, &types.AttributeValueMemberL{}}},
		"m": &types.AttributeValueMemberM{Value: attributes{"x": &types.AttributeValueMemberNS{Value: []string{"1"}}, "y": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {}}}}},
	}
	write := types.TransactWriteItem{Put: &types.Put{Item: all, TableName: &name, ConditionExpression: &name}, Update: &types.Update{Key: all, TableName: &name, UpdateExpression: &name}}
	var w item.Writer
	for _, in := range []smithy.Serializable{
		&dynamodb.GetItemInput{}, &dynamodb.GetItemInput{TableName: &name, Key: all, ConsistentRead: &yes, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal},
		&dynamodb.QueryInput{TableName: &name, Limit: &limit, ExpressionAttributeNames: map[string]string{"#a": "a", "#b": "b"}, ExpressionAttributeValues: all, ExclusiveStartKey: attributes{}},
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{write, {}, write}, ClientRequestToken: &name},
		&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"a": {{PutRequest: &types.PutRequest{Item: all}}, {DeleteRequest: &types.DeleteRequest{Key: all}}}, "b": {}}},
		&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"a": {Keys: []map[string]types.AttributeValue{all, {}}, ProjectionExpression: &name}}},
	} {
		w.Reset()
		checkWriter(t, &w, in)
		if !w.Complete() {
			t.Errorf("%T is not written: %q", in, w.Bytes())
		}
	}
	for _, in := range []smithy.Serializable{
		&dynamodb.PutItemInput{Item: attributes{"b": &types.AttributeValueMemberB{}}}, &dynamodb.PutItemInput{TableName: new(string("\xff"))},
		&dynamodb.PutItemInput{Item: attributes{"\xff": &types.AttributeValueMemberBOOL{}}},
	} {
		w.Reset()
		if checkWriter(t, &w, in); w.Complete() {
			t.Errorf("%T is written: %q", in, w.Bytes())
		}
	}
	for name, strange := range map[string]func(*item.Writer){
		"int8": func(w *item.Writer) { w.WriteInt8(nil, 1) }, "int16": func(w *item.Writer) { w.WriteInt16(nil, 1) },
		"int64": func(w *item.Writer) { w.WriteInt64(nil, 1) }, "float32": func(w *item.Writer) { w.WriteFloat32(nil, 1) },
		"float64": func(w *item.Writer) { w.WriteFloat64(nil, 1) }, "bigint": func(w *item.Writer) { w.WriteBigInt(nil, nil) },
		"bigfloat": func(w *item.Writer) { w.WriteBigFloat(nil, nil) }, "time": func(w *item.Writer) { w.WriteTime(nil, time.Time{}) },
		"document": func(w *item.Writer) { w.WriteDocument(nil, nil) }, "nil": func(w *item.Writer) { w.WriteNil(nil) },
	} {
		w.Reset()
		if strange(&w); w.Complete() {
			t.Errorf("%s is written", name)
		}
	}
}
