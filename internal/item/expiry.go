package item

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// lastExpiry is the last second of the year 9999. As milliseconds, it is in 1978: no later
// time in milliseconds is taken for seconds.
const lastExpiry = "253402300799"

var errLateExpiry = errors.New("an expiry after the year 9999")

// CheckExpiry returns why a caller's expiry in an attribute would never come, if it cannot be
// a number of seconds. Values of other types do not expire on purpose.
func CheckExpiry(attribute string, expiry types.AttributeValue) error {
	n, ok := expiry.(*types.AttributeValueMemberN)
	if !ok || n == nil {
		return nil
	}
	if _, number := ParseNumber(n.Value); !number || CompareNumbers(n.Value, lastExpiry) <= 0 {
		return nil // what is no number is refused as such
	}
	return &Error{
		Path: attribute, Err: errLateExpiry,
		Problem: "the expiry is a number of seconds since 1970, and this one is after the year 9999: it may be in milliseconds; an item that stays has none, or 0",
	}
}
