package benchmarks_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// record is the item of all benchmarks. It holds its own key, since two of the
// libraries write no other.
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
}

const (
	user     = "u-123"
	pageSize = 100
	stored   = pageSize + 20
	stamp    = "2006-01-02T15:04:05.000Z"
)

var schema = table.Schema{Name: "Benchmarks"}

var started = time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)

// recordAt returns the nth record of the user.
func recordAt(n int) record {
	at := started.Add(time.Duration(n) * time.Second)
	id := fmt.Sprintf("tx-%06d", n)
	return record{
		PK:        "USER#" + user,
		SK:        "TX#" + at.Format(stamp) + "#" + id,
		Type:      "Transaction",
		ID:        id,
		UserID:    user,
		Amount:    int64(100_000 + n),
		Status:    "open",
		CreatedAt: at,
		Tags:      []string{"groceries", "card", "weekly"},
		Note:      strings.Repeat("paid at the market, ", 14),
	}
}

// newestPage returns what every library has to return for the first page.
func newestPage() []record {
	page := make([]record, pageSize)
	for i := range page {
		page[i] = recordAt(stored - 1 - i)
	}
	return page
}

// change is what one transaction writes: a record that must be new, one that
// may replace another, and the amount and note of a third one, account, if its
// status is open. Whoever writes a record gives it its key.
type change struct {
	created, put, account record
}

func newChange() change {
	c := change{created: recordAt(0), put: recordAt(1), account: recordAt(2)}
	c.put.Status = "done"
	c.account.Note = "changed"
	for _, r := range []*record{&c.created, &c.put, &c.account} {
		r.PK, r.SK = "", ""
	}
	return c
}

// numbered returns the nth change of a series: it creates another record, and
// writes other values to the same two.
func (c change) numbered(n int) change {
	c.created.ID = "new-" + strconv.Itoa(n)
	c.put.Amount, c.account.Amount = int64(n), int64(n)
	return c
}

// stored returns the items that the change leaves, with their keys.
func (c change) stored() []record {
	return keyed(c.created, c.put, c.account)
}

// trio is what the other transaction creates: three records that must be new.
// Whoever writes a record gives it its key.
type trio [3]record

func newTrio() trio {
	var records trio
	for i := range records {
		records[i] = recordAt(i)
		records[i].PK, records[i].SK = "", ""
	}
	return records
}

// numbered returns the nth trio of a series.
func (records trio) numbered(n int) trio { return records.named("trio-" + strconv.Itoa(n)) }

// named returns the trio with another id, which makes it other records.
func (records trio) named(id string) trio {
	for i := range records {
		records[i].ID = id
	}
	return records
}

// stored returns the items that the trio becomes, with their keys.
func (records trio) stored() []record { return keyed(records[:]...) }

// keyed returns the records with their keys.
func keyed(records ...record) []record {
	all := slices.Clone(records)
	for i := range all {
		r := &all[i]
		r.PK = "USER#" + r.UserID
		r.SK = "TX#" + r.CreatedAt.Format(stamp) + "#" + r.ID
	}
	return all
}

func marshal(r record) map[string]types.AttributeValue {
	item, err := attributevalue.MarshalMap(r)
	if err != nil {
		panic(err)
	}
	return item
}
