package table

import (
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// UnixMilli is a time that is stored as a number of milliseconds since 1970, as JavaScript's
// Date.now() returns it. OneTable and dynamoose store dates so. attributevalue.UnixTime, and a
// time.Time with the tag option unixtime, are seconds, which an expiry must be.
//
// What is less than a millisecond is cut off when the time is stored. A field that is the zero
// time is left out of the item; in a list or map it is NULL. A time outside of the years 0 to
// 9999 is not stored, and a number that would be one does not decode. Decoded times are in UTC.
type UnixMilli struct{ time.Time }

// ISOTime is a time that is stored as text with milliseconds in UTC, 2026-01-02T03:04:05.000Z,
// as JavaScript's toISOString returns it. Such texts sort by time, and can be in sort keys. A
// time.Time is stored without .000, and in its own zone.
//
// It decodes any text of RFC 3339. The rest is as for [UnixMilli].
type ISOTime struct{ time.Time }

const isoMillis = "2006-01-02T15:04:05.000Z"

var errFarTime = errors.New("a time outside of the years 0 to 9999")

// MarshalDynamoDBAttributeValue returns a number, or NULL for the zero time.
func (t UnixMilli) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return timeValue(t.Time, &types.AttributeValueMemberN{Value: strconv.FormatInt(t.UnixMilli(), 10)})
}

// MarshalDynamoDBAttributeValue returns the text, or NULL for the zero time.
func (t ISOTime) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return timeValue(t.Time, &types.AttributeValueMemberS{Value: t.String()})
}

// String returns the text that is stored.
func (t ISOTime) String() string { return t.UTC().Format(isoMillis) }

// timeValue returns the value of a time that can be stored.
func timeValue(t time.Time, value types.AttributeValue) (types.AttributeValue, error) {
	switch {
	case t.IsZero():
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case !isNear(t):
		return nil, &item.Error{Problem: errFarTime.Error() + " is not stored", Err: errFarTime}
	}
	return value, nil
}

func isNear(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// UnmarshalDynamoDBAttributeValue reads a number, whose fraction is cut off.
func (t *UnixMilli) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	switch v := item.ValueOf(value); v.Kind {
	case item.NULL:
		*t = UnixMilli{}
		return nil
	case item.N:
		n, ok := item.Floor(v.Text)
		if is := time.UnixMilli(n).UTC(); ok && isNear(is) {
			*t = UnixMilli{is}
			return nil
		}
		return undecoded("a number that is in milliseconds a time outside of the years 0 to 9999 does not decode into table.UnixMilli")
	case item.S:
		return undecoded("a text does not decode into table.UnixMilli; use a table.ISOTime")
	}
	return undecoded("no number, so it does not decode into table.UnixMilli")
}

// UnmarshalDynamoDBAttributeValue reads a text of RFC 3339.
func (t *ISOTime) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	switch v := item.ValueOf(value); v.Kind {
	case item.NULL:
		*t = ISOTime{}
		return nil
	case item.S:
		is, err := time.Parse(time.RFC3339, v.Text)
		if err == nil && isNear(is) {
			*t = ISOTime{is.UTC()}
			return nil
		}
		return undecoded("a text that is no time of RFC 3339 in the years 0 to 9999 does not decode into table.ISOTime")
	case item.N:
		return undecoded("a number does not decode into table.ISOTime; use a table.UnixMilli for milliseconds, " +
			"and a time.Time with the tag option unixtime for seconds")
	}
	return undecoded("no text, so it does not decode into table.ISOTime")
}

var errUndecoded = errors.New("the attribute does not decode into the time")

func undecoded(problem string) error { return &item.Error{Problem: problem, Err: errUndecoded} }
