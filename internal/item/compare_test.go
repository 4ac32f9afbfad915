package item_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/item"
)

// attributes is an item as the SDK has it.
type attributes = map[string]types.AttributeValue

var (
	protocol = awsjson.New10(schemas.DynamoDB_20120810)
	getItem  = smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)
	query    = smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
)

// deserialize lets the SDK read a response.
func deserialize(op *smithy.OperationSchema, body []byte, out smithy.Deserializable) error {
	return protocol.DeserializeResponse(context.Background(), op, dynamodb.TypeRegistry,
		&smithyhttp.Response{Response: &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(body))}}, out)
}

// sdkItem lets the SDK read an item.
func sdkItem(json string) (attributes, error) {
	var out dynamodb.GetItemOutput
	err := deserialize(getItem, []byte(`{"Item":`+json+`}`), &out)
	return out.Item, err
}

// outcome is what became of a value: an error or a panic, or the value itself.
type outcome struct {
	value    any
	err      error
	panicked bool
}

func (o outcome) String() string {
	switch {
	case o.panicked:
		return "panic"
	case o.err != nil:
		return fmt.Sprintf("error %v", o.err)
	}
	return fmt.Sprintf("value %+v", o.value)
}

// sameOutcome reports whether item did what attributevalue did.
func sameOutcome(ours, theirs outcome) bool {
	if theirs.panicked {
		return errors.Is(ours.err, item.ErrPanic)
	}
	if (ours.err == nil) != (theirs.err == nil) {
		return false
	}
	if ours.err == nil {
		return reflect.DeepEqual(theirs.value, ours.value) || cmp.Equal(theirs.value, ours.value, exactly)
	}
	// Ours names the attribute, and wraps theirs.
	e, ok := ours.err.(*item.Error) //nolint:errorlint // it must be the outermost
	return ok && sameError(e.Err, theirs.err)
}

// sameError reports whether two errors have the same text and the same types all
// along the chain.
func sameError(a, b error) bool {
	for a != nil && b != nil {
		if reflect.TypeOf(a) != reflect.TypeOf(b) || a.Error() != b.Error() {
			return false
		}
		a, b = errors.Unwrap(a), errors.Unwrap(b)
	}
	return a == nil && b == nil
}

// exactly compares all there is: unexported fields, and nil with empty.
var exactly = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b time.Time) bool { return reflect.DeepEqual(a, b) }),
	cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }),
	cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b }),
}

// theirDecode decodes an item by attributevalue.
func theirDecode(t reflect.Type, m attributes) (o outcome) {
	v := reflect.New(t)
	defer func() {
		if recover() != nil {
			o = outcome{panicked: true}
		}
	}()
	if t.ConvertibleTo(reflect.TypeFor[attributes]()) && !t.Implements(reflect.TypeFor[attributevalue.Unmarshaler]()) {
		// The item itself, which attributevalue cannot do.
		return outcome{value: reflect.ValueOf(m).Convert(t).Interface()}
	}
	err := attributevalue.NewDecoder().Decode(&types.AttributeValueMemberM{Value: m}, v.Interface())
	return outcome{value: v.Elem().Interface(), err: err}
}

// ourDecode decodes an item that attributevalue would not read as we do: it has a number that may
// be for a time, with a fraction or of a year after 9999. The attributes of a middleware are
// decoded so.
func ourDecode(t reflect.Type, m attributes) outcome {
	v := reflect.New(t)
	err := item.Decode(&types.AttributeValueMemberM{Value: m}, v.Interface())
	if own, ok := err.(*item.Error); ok { //nolint:errorlint // it must be the outermost
		err = own.Err
	}
	return outcome{value: v.Elem().Interface(), err: err, panicked: errors.Is(err, item.ErrPanic)}
}

// hasTimes reports whether values of a type can have times in them.
func hasTimes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasTimes(t.Elem(), seen)
	case reflect.Struct:
		if t.ConvertibleTo(reflect.TypeFor[time.Time]()) {
			return true
		}
		for i := range t.NumField() {
			if hasTimes(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// isOdd reports whether a value has a number that is no second of the years 0 to 9999.
func isOdd(value types.AttributeValue) bool {
	odd := func(n string) bool {
		seconds, err := strconv.ParseInt(n, 10, 64)
		return err != nil || seconds < -62167219200 || seconds > 253402300799
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		return odd(v.Value)
	case *types.AttributeValueMemberNS:
		return slices.ContainsFunc(v.Value, odd)
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, isOdd)
	case *types.AttributeValueMemberM:
		return slices.ContainsFunc(slices.Collect(maps.Values(v.Value)), isOdd)
	}
	return false
}

// checkDecode decodes items, given as JSON, into values of a type by one decoder,
// as those of a response are, and compares values, errors, and what is watched
// with what the SDK and attributevalue make of them.
func checkDecode(tb testing.TB, t reflect.Type, watched []string, items ...string) {
	tb.Helper()
	watching := make([]item.Watched, len(watched))
	for i := range watched {
		watching[i].Name = watched[i]
	}
	r := item.NewParser([]byte("[" + strings.Join(items, ",") + "]"))
	d := item.NewDecoder(t, watching)
	v := reflect.New(t) // one for all items, as table has it
	ok := r.Array(func(i int) bool {
		m, err := sdkItem(items[i])
		v.Elem().SetZero()
		refusal, ok := d.Decode(r, v.Elem())
		if !ok {
			tb.Errorf("%v: item %d is not accepted: %s (%v)", t, i, items[i], err)
			return false
		}
		if err != nil {
			tb.Errorf("%v: the SDK does not accept item %d: %s: %v", t, i, items[i], err)
			return false
		}
		if d.Size() < 1 {
			tb.Errorf("%v: size %d", t, d.Size())
		}
		ours := outcome{value: v.Elem().Interface(), err: refusal}
		oracle := theirDecode
		if isOdd(&types.AttributeValueMemberM{Value: m}) && hasTimes(t, map[reflect.Type]bool{}) {
			oracle = ourDecode
		}
		theirs := oracle(t, m)
		// It is chance which of several errors attributevalue meets first, and
		// which of two attributes that fold to one field it takes last.
		for i := 0; i < 5000 && !sameOutcome(ours, theirs); i++ {
			theirs = oracle(t, m)
		}
		if !sameOutcome(ours, theirs) {
			tb.Errorf("%v of %s\nours:   %v\ntheirs: %v", t, items[i], ours, theirs)
			if ours.err == nil && theirs.err == nil && !theirs.panicked {
				tb.Errorf("(-theirs +ours):\n%s", cmp.Diff(theirs.value, ours.value, exactly))
			}
		}
		for _, w := range watching {
			if diff := cmp.Diff(watchedIn(m, w.Name), w); diff != "" {
				tb.Errorf("%v: watched %q of %s (-theirs +ours):\n%s", t, w.Name, items[i], diff)
			}
		}
		return true
	})
	if !tb.Failed() && (!ok || !r.End()) {
		tb.Errorf("%v: the response is not read to the end: %v", t, items)
	}
}

// watchedIn returns what is to be seen of an attribute.
func watchedIn(m attributes, name string) item.Watched {
	w := item.Watched{Name: name}
	switch v := m[name].(type) {
	case *types.AttributeValueMemberS:
		w.Kind, w.Text = item.S, []byte(v.Value)
	case *types.AttributeValueMemberN:
		w.Kind, w.Text = item.N, []byte(v.Value)
	case *types.AttributeValueMemberB:
		w.Kind, w.Text = item.B, v.Value
	}
	return w
}

// withoutZeroTimes returns a value without the members of maps that may be zero times: those of
// fields with the option unixtime are left out, and TestZeroTimes says of which.
func withoutZeroTimes(value types.AttributeValue) types.AttributeValue {
	switch v := value.(type) {
	case *types.AttributeValueMemberL:
		if len(v.Value) == 0 {
			return v
		}
		list := make([]types.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = withoutZeroTimes(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case *types.AttributeValueMemberM:
		if len(v.Value) == 0 {
			return v
		}
		m := attributes{}
		for name, e := range v.Value {
			if n, ok := e.(*types.AttributeValueMemberN); !ok || n.Value != "-62135596800" {
				m[name] = withoutZeroTimes(e)
			}
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return value
}

func theirEncode(v any) (o outcome) {
	defer func() {
		if recover() != nil {
			o = outcome{panicked: true}
		}
	}()
	value, err := attributevalue.NewEncoder().Encode(v)
	return outcome{value: withoutZeroTimes(value), err: err}
}

// checkEncode encodes a value, and a pointer to it, which is another thing, and
// compares with what attributevalue makes of them.
func checkEncode(tb testing.TB, v any) {
	tb.Helper()
	values := []any{v}
	if v != nil {
		p := reflect.New(reflect.TypeOf(v))
		p.Elem().Set(reflect.ValueOf(v))
		values = append(values, p.Interface())
	}
	for _, v := range values {
		value, err := item.Encode(v)
		ours, theirs := outcome{value: withoutZeroTimes(value), err: err}, theirEncode(v)
		for i := 0; i < 5000 && !sameOutcome(ours, theirs); i++ {
			theirs = theirEncode(v)
		}
		if !sameOutcome(ours, theirs) {
			tb.Errorf("%T %+v\nours:   %v\ntheirs: %v\n(-theirs +ours):\n%s", v, v, ours, theirs,
				cmp.Diff(theirs.value, ours.value, exactly))
		}
	}
}
