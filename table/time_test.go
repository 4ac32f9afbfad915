package table_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// times are fields of both types, also behind a pointer.
type times struct {
	Milli   table.UnixMilli
	Text    table.ISOTime
	Pointer *table.UnixMilli
	All     []table.ISOTime
}

func TestTimesAreStored(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -3*60*60)
	for _, tt := range []struct {
		at          time.Time
		milli, text string
	}{
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "1767323045000", "2026-01-02T03:04:05.000Z"},
		{time.Date(2026, 1, 2, 0, 4, 5, 678_999_999, zone), "1767323045678", "2026-01-02T03:04:05.678Z"},
		{time.Date(1968, 1, 12, 20, 6, 43, 200_000_000, time.UTC), "-62135596800", "1968-01-12T20:06:43.200Z"}, // in seconds the year 1
		{time.UnixMilli(0), "0", "1970-01-01T00:00:00.000Z"},
		{time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), "253402300799999", "9999-12-31T23:59:59.999Z"},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), "-62167219200000", "0000-01-01T00:00:00.000Z"},
	} {
		v := times{Milli: table.UnixMilli{Time: tt.at}, Text: table.ISOTime{Time: tt.at}, Pointer: &table.UnixMilli{Time: tt.at}}
		stored := item.ValueOf(expect.Value(item.EncodeToRead(&v))(t)).Map
		expect.Equal(t, tt.text, []string{item.ValueOf(stored["Milli"]).Text, item.ValueOf(stored["Text"]).Text, item.ValueOf(stored["Pointer"]).Text},
			[]string{tt.milli, tt.text, tt.milli})
		var back times
		expect.OK(t, table.Item(stored).Decode(&back))
		want := tt.at.Add(-time.Duration(tt.at.Nanosecond() % 1e6)).UTC()
		expect.Equal(t, tt.text, []time.Time{back.Milli.Time, back.Text.Time, back.Pointer.Time}, []time.Time{want, want, want})
	}
	expect.Equal(t, "in JSON", string(expect.Value(json.Marshal(table.UnixMilli{Time: time.UnixMilli(1).UTC()}))(t)), `"1970-01-01T00:00:00.001Z"`)
}

// The zero time is left out of an item, and NULL in a list. Both read as the zero time.
func TestZeroTimesAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]times{"zero": {All: []table.ISOTime{{}}}, "pointer": {Pointer: &table.UnixMilli{}, All: []table.ISOTime{{}}}} {
		stored := item.ValueOf(expect.Value(item.EncodeToRead(&v))(t)).Map
		left := []bool{stored["Milli"] == nil, stored["Text"] == nil, stored["Pointer"] == nil || v.Pointer == nil}
		expect.Equal(t, name, left, []bool{true, true, true})
		expect.Equal(t, "element", item.ValueOf(item.ValueOf(stored["All"]).List[0]).Kind, item.NULL)
		var back times
		expect.OK(t, table.Item(stored).Decode(&back))
		expect.Equal(t, name, back.Milli.IsZero() && back.Text.IsZero() && back.All[0].IsZero(), true)
	}
}

func TestTimesThatAreNone(t *testing.T) {
	t.Parallel()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	for name, tt := range map[string]struct {
		stored table.Item
		text   string
	}{
		"microseconds":               {table.Item{"Milli": number("1767323045000000")}, "outside of the years 0 to 9999"},
		"no int64":                   {table.Item{"Milli": number("1E30")}, "outside of the years 0 to 9999"},
		"text for milliseconds":      {table.Item{"Milli": text("2026-01-02T03:04:05.000Z")}, "use a table.ISOTime"},
		"a list for milliseconds":    {table.Item{"Milli": &types.AttributeValueMemberL{}}, "table.UnixMilli"},
		"milliseconds for text":      {table.Item{"Text": number("1767323045000")}, "use a table.UnixMilli"},
		"no time":                    {table.Item{"Text": text("yesterday")}, "no time of RFC 3339"},
		"a year of JavaScript":       {table.Item{"Text": text("+010000-01-01T00:00:00.000Z")}, "no time of RFC 3339"},
		"a year after 9999 in UTC":   {table.Item{"Text": text("9999-12-31T23:59:59-05:00")}, "no time of RFC 3339"},
		"a list for text":            {table.Item{"Text": &types.AttributeValueMemberL{}}, "table.ISOTime"},
		"an element":                 {table.Item{"All": &types.AttributeValueMemberL{Value: []types.AttributeValue{number("1")}}}, "use a table.UnixMilli"},
		"behind a pointer":           {table.Item{"Pointer": text("x")}, "use a table.ISOTime"},
		"a time.Time of millisecond": {table.Item{"Seconds": number("1767323045000")}, "use a table.UnixMilli"},
	} {
		var v struct {
			times
			Seconds time.Time `dynamodbav:",unixtime"`
		}
		err := tt.stored.Decode(&v)
		misfit, ok := errors.AsType[*item.Error](err)
		if !ok || misfit.Path == "" || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "1767323045000") {
			t.Errorf("%s: %v", name, err)
		}
	}
	far := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, v := range map[string]any{
		"Milli": times{Milli: table.UnixMilli{Time: far}}, "Text": times{Text: table.ISOTime{Time: far}},
		"Pointer": &times{Pointer: &table.UnixMilli{Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}},
	} {
		_, err := item.EncodeToRead(v)
		misfit, ok := errors.AsType[*item.Error](err)
		if !ok || misfit.Path != name || !strings.Contains(err.Error(), "outside of the years 0 to 9999") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What decodes is stored again as the same time, and then always alike.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{
		"0", "1767323045000", "1767323045000.6", "-0.5", "253402300799999", "1E12", "1e30", "x", "",
		"2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1234567-03:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z",
		"0000-01-01T00:00:00.000Z", "2026-01-02T03:04:05,5Z", "0000-01-01T00:00:00+01:00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, value := range []types.AttributeValue{&types.AttributeValueMemberN{Value: s}, &types.AttributeValueMemberS{Value: s}} {
			var milli, milliAgain table.UnixMilli
			if milli.UnmarshalDynamoDBAttributeValue(value) == nil {
				stored := expect.Value(milli.MarshalDynamoDBAttributeValue())(t)
				expect.OK(t, milliAgain.UnmarshalDynamoDBAttributeValue(stored))
				expect.Equal(t, "milliseconds", milliAgain, milli)
			}
			var text, textAgain table.ISOTime
			if text.UnmarshalDynamoDBAttributeValue(value) == nil {
				stored := expect.Value(text.MarshalDynamoDBAttributeValue())(t)
				expect.OK(t, textAgain.UnmarshalDynamoDBAttributeValue(stored))
				expect.Equal(t, "text", textAgain.Time, text.Truncate(time.Millisecond))
				if !text.IsZero() {
					expect.Equal(t, "length", len(item.Text(stored)), len("2026-01-02T03:04:05.000Z"))
				}
			}
		}
	})
}

var (
	_ attributevalue.Marshaler   = table.UnixMilli{}
	_ attributevalue.Unmarshaler = (*table.UnixMilli)(nil)
	_ attributevalue.Marshaler   = table.ISOTime{}
	_ attributevalue.Unmarshaler = (*table.ISOTime)(nil)
)
