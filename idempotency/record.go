package idempotency

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Record is what the table holds of a request.
type Record struct {
	// Key is the key of the record.
	Key keys.Key
	// CreatedAt is when the request ran, in UTC milliseconds; zero if the record
	// does not have it.
	CreatedAt time.Time
	// ExpiresAt is when the record expires, in whole seconds; zero if it does not
	// expire.
	ExpiresAt time.Time
	// Fingerprint is the hash of the payload; empty in records of other
	// writers.
	Fingerprint []byte
	// Item is the record as it is stored.
	Item table.Item
}

// maxSeconds is more than any clock will show.
const maxSeconds = 1 << 50

const timeFormat = "2006-01-02T15:04:05.000Z"

// newRecord returns the record of a request without its result.
func (s *Store) newRecord(r Request, mark string, print [sha256.Size]byte) (table.Item, error) {
	now := s.table.Now()
	end := now.Add(cmp.Or(r.TTL, s.o.TTL))
	expires := end.Unix()
	if end.Nanosecond() > 0 {
		expires++ // the last second counts in full
	}
	if expires < 1 || expires >= maxSeconds || end.Before(now) {
		return nil, fmt.Errorf("%w: by the table's clock, the record expires in second %d since 1970, "+
			"which counts as never", errInvalidStore, expires)
	}
	return table.Item{
		s.schema.TypeAttribute: &types.AttributeValueMemberS{Value: recordType},
		s.schema.TTLAttribute:  &types.AttributeValueMemberN{Value: strconv.FormatInt(expires, 10)},
		createdAt:              &types.AttributeValueMemberS{Value: now.UTC().Format(timeFormat)},
		fingerprint:            &types.AttributeValueMemberB{Value: print[:]},
		attemptMark:            &types.AttributeValueMemberS{Value: mark},
	}, nil
}

// recordOf reads a recordOf as it is stored. What is missing or of another type
// stays zero, since other writers make records too.
func (s *Store) recordOf(attributes table.Item) Record {
	r := Record{
		Key:  keys.Key{PK: keys.PK(item.Text(attributes[s.schema.PK])), SK: keys.SK(item.Text(attributes[s.schema.SK]))},
		Item: attributes,
	}
	if at, err := time.Parse(time.RFC3339Nano, item.Text(attributes[createdAt])); err == nil {
		r.CreatedAt = at.UTC()
	}
	if n, ok := attributes[s.schema.TTLAttribute].(*types.AttributeValueMemberN); ok {
		// As package table has it: it expires with the first whole second that
		// is not before, and not at all if that is less than 1.
		if seconds, err := strconv.ParseFloat(n.Value, 64); err == nil && seconds >= 1 && seconds < maxSeconds {
			r.ExpiresAt = time.Unix(int64(math.Ceil(seconds)), 0).UTC()
		}
	}
	if b, ok := attributes[fingerprint].(*types.AttributeValueMemberB); ok {
		r.Fingerprint = b.Value
	}
	return r
}
