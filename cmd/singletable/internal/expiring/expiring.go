// Package expiring tells when items expire, by the rule that reads of the library and DynamoDB
// have.
package expiring

import (
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// last is the last second that package time has a text for: the end of the year 9999.
const last = 253402300799

// Of returns when an item expires: the first second at which it counts as missing. It is not ok
// for an item that does not expire. ttl is the name of the TTL attribute, "" for none.
func Of(item table.Item, ttl string) (at time.Time, ok bool) {
	n, isNumber := item[ttl].(*types.AttributeValueMemberN)
	if ttl == "" || !isNumber {
		return at, false
	}
	return Time(n.Value)
}

// Time returns the time of the number in a TTL attribute, which can have a fraction. A number
// below 1 is no time, and one that is too great never comes: it is most likely a number of
// milliseconds.
func Time(number string) (at time.Time, ok bool) {
	seconds, err := strconv.ParseFloat(number, 64)
	if err != nil || !(seconds >= 1) || seconds > last {
		return at, false
	}
	return time.Unix(int64(math.Ceil(seconds)), 0).UTC(), true
}
