package typeless

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// EventSchema is the table of castore.
var EventSchema = schema.Table{
	Name: "events", PK: "aggregateId", SK: "version", SKType: types.ScalarAttributeTypeN,
	Kinds: []schema.Kind{{Type: "ORDERS", PK: "ORDERS#"}}, // the eventStoreId
}

// Event is one of castore's.
type Event struct {
	Aggregate string         `dynamodbav:"aggregateId"` // with the eventStoreId: ORDERS#o-1
	Version   int            `dynamodbav:"version"`
	Type      string         `dynamodbav:"type"`
	Timestamp table.ISOTime  `dynamodbav:"timestamp"`
	Payload   map[string]any `dynamodbav:"payload"`
}

var eventEntity = repo.Entity[Event]{
	Type:   "ORDERS",
	Key:    func(e Event) keys.Key { return keys.Key{PK: keys.PK(e.Aggregate), SK: number(e.Version)} },
	Shared: &repo.Shared[Event]{},
}

func number(version int) keys.SK { return keys.SK(strconv.Itoa(version)) }

// Since returns the events of an aggregate from a version on.
func Since(ctx context.Context, events *repo.Repo[Event], id string, version int) (table.Page[Event], error) {
	return events.Query(ctx, table.Query{PK: keys.PK("ORDERS#" + id), Range: keys.Range{From: number(version)}, Limit: 100})
}
