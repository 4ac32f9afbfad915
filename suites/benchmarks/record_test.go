package main_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
)

// record is the item of all benchmarks. It holds its own key, since the SDK and
// guregu write no other.
type record struct {
	PK        string    `dynamodbav:"pk" dynamo:"pk"`
	SK        string    `dynamodbav:"sk" dynamo:"sk"`
	Type      string    `dynamodbav:"entityType" dynamo:"entityType"`
	ID        string    `dynamodbav:"id" dynamo:"id"`
	UserID    string    `dynamodbav:"userId" dynamo:"userId"`
	Amount    int64     `dynamodbav:"amount" dynamo:"amount"`
	Status    string    `dynamodbav:"status" dynamo:"status"`
	CreatedAt time.Time `dynamodbav:"createdAt" dynamo:"createdAt"`
	Tags      []string  `dynamodbav:"tags" dynamo:"tags"`
	Note      string    `dynamodbav:"note" dynamo:"note"`
	Revision  string    `dynamodbav:"revision" dynamo:"revision"`
}

const (
	user     = "u-123"
	pageSize = 100
	records  = pageSize + 20
	stamp    = "2006-01-02T15:04:05.000Z"

	recordType = "Transaction"
)

var spec = schema.Table{Name: "Benchmarks"}

var started = time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)

// recordAt returns the nth record of the user.
func recordAt(n int) record {
	at := started.Add(time.Duration(n) * time.Second)
	id := fmt.Sprintf("tx-%06d", n)
	return record{
		PK:        "USER#" + user,
		SK:        "TX#" + at.Format(stamp) + "#" + id,
		Type:      recordType,
		ID:        id,
		UserID:    user,
		Amount:    int64(100_000 + n),
		Status:    "open",
		CreatedAt: at,
		Tags:      []string{"groceries", "card", "weekly"},
		Note:      strings.Repeat("paid at the market, ", 14),
		Revision:  fmt.Sprintf("R%025d", n),
	}
}

// newestPage returns what every library has to return for the first page.
func newestPage() []record {
	page := make([]record, pageSize)
	for i := range page {
		page[i] = recordAt(records - 1 - i)
	}
	return page
}

// unkeyed returns the nth record as an application has it: whoever writes it gives
// it its key, its type and its revision.
func unkeyed(n int) record {
	r := recordAt(n)
	r.PK, r.SK, r.Type, r.Revision = "", "", "", ""
	return r
}

// hundred returns as many records as a transaction takes.
func hundred() []record {
	records := make([]record, 100)
	for i := range records {
		records[i] = unkeyed(i)
		records[i].ID = "new"
	}
	return records
}

// keyed returns the record with its key and type, as it is stored, but for the
// revision.
func keyed(r record) record {
	r.PK, r.SK = "USER#"+r.UserID, "TX#"+r.CreatedAt.Format(stamp)+"#"+r.ID
	r.Type = recordType
	return r
}

// copied returns the copy of a stored record, which is under its id.
func copied(r record) record {
	r.PK, r.SK = "TX#"+r.ID, "METADATA"
	return r
}

func marshal(r record) map[string]types.AttributeValue {
	item, err := attributevalue.MarshalMap(r)
	if err != nil {
		panic(err)
	}
	return item
}
