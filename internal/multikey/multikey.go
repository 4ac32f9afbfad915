// Package multikey queries indexes whose keys have several attributes, for engines that
// cannot. The engine stores the items, and a query reads them all by a scan of the table. The
// rules are those of AWS: "Multi-attribute keys pattern", Amazon DynamoDB Developer Guide.
// The Parity Suite has tried them on AWS, with one attribute for the partition and four to
// sort by (October 2026).
package multikey

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Client is a client whose queries of such indexes are executed here. Filters
// and projections of these are ignored.
type Client struct {
	*dynamodb.Client
	tb testing.TB
	// created is the request that creates the table with its indexes.
	created *dynamodb.CreateTableInput
}

// New returns a client of an engine for a table of the schema.
func New(tb testing.TB, client *dynamodb.Client, spec schema.Table) Client {
	tb.Helper()
	return Client{client, tb, expect.Value(spec.CreateTableInput())(tb)}
}

// Table returns a new table of the schema, which is dropped when the test ends. The engine
// may have it without the indexes that are queried here.
func Table(tb testing.TB, client *dynamodb.Client, spec schema.Table, options *table.Options) *table.Table {
	tb.Helper()
	spec.Name += "-" + rand.Text()
	if err := spec.Ensure(tb.Context(), client); err != nil && !errors.Is(err, schema.ErrUnsupported) {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		expect.OK(tb, expect.ErrOf(client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &spec.Name})))
	})
	return expect.Value(table.NewWithClient(New(tb, client, spec), spec, options))(tb)
}

type attributes = map[string]types.AttributeValue

// Query is that of the engine, except for indexes with several key attributes.
func (c Client) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	q, ok := c.query(in)
	if !ok {
		return c.Client.Query(ctx, in, o...)
	}
	conditions, err := parse(in)
	if err == nil {
		err = check(conditions, q.partition, q.sort)
	}
	if err != nil {
		c.tb.Errorf("DynamoDB refuses the query %q: %v", *in.KeyConditionExpression, err)
		return nil, err
	}
	q.conditions = conditions
	return q.run(ctx, c.Client)
}

// Scan is that of the engine, except for indexes with several key attributes.
func (c Client) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	q, ok := c.query(&dynamodb.QueryInput{
		TableName: in.TableName, IndexName: in.IndexName, Limit: in.Limit, ExclusiveStartKey: in.ExclusiveStartKey,
	})
	if !ok {
		return c.Client.Scan(ctx, in, o...)
	}
	out, err := q.run(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	return &dynamodb.ScanOutput{
		Items: out.Items, Count: out.Count, ScannedCount: out.ScannedCount,
		LastEvaluatedKey: out.LastEvaluatedKey, ConsumedCapacity: out.ConsumedCapacity,
	}, nil
}

// query returns the query of an index with several attributes in a key; false for others.
func (c Client) query(in *dynamodb.QueryInput) (query, bool) {
	i := slices.IndexFunc(c.created.GlobalSecondaryIndexes, func(x types.GlobalSecondaryIndex) bool {
		return in.IndexName != nil && *x.IndexName == *in.IndexName
	})
	if i < 0 {
		return query{}, false
	}
	partition, sort := split(c.created.GlobalSecondaryIndexes[i].KeySchema)
	own, ownSort := split(c.created.KeySchema)
	return query{in: in, partition: partition, sort: sort, order: slices.Concat(sort, own, ownSort)}, max(len(partition), len(sort)) > 1
}

func split(spec []types.KeySchemaElement) (partition, sort []string) {
	for _, e := range spec {
		if e.KeyType == types.KeyTypeHash {
			partition = append(partition, *e.AttributeName)
		} else {
			sort = append(sort, *e.AttributeName)
		}
	}
	return partition, sort
}

// condition is one of a key condition expression.
type condition struct {
	name, operator string
	values         []types.AttributeValue
}

// parse reads a key condition expression.
func parse(in *dynamodb.QueryInput) ([]condition, error) {
	text := strings.NewReplacer("(", " ", ")", " ", ",", " ").Replace(*in.KeyConditionExpression)
	words := strings.Fields(text)
	var all []condition
	take := func() (word string) {
		if len(words) > 0 {
			word, words = words[0], words[1:]
		}
		return word
	}
	for len(words) > 0 {
		c := condition{}
		first := take()
		if first == "begins_with" {
			c.operator, first = first, take()
		} else {
			c.operator = take()
		}
		c.name = in.ExpressionAttributeNames[first]
		c.values = append(c.values, in.ExpressionAttributeValues[take()])
		if c.operator == "BETWEEN" {
			take()
			c.values = append(c.values, in.ExpressionAttributeValues[take()])
		}
		if c.name == "" || slices.Contains(c.values, nil) {
			return nil, fmt.Errorf("cannot read the condition at %q", first)
		}
		if all = append(all, c); len(words) > 0 && take() != "AND" {
			return nil, errors.New("conditions are not joined by AND")
		}
	}
	return all, nil
}

// check applies the rules, which do not depend on the order of the conditions: the partition
// by equality, the sort key from the left, and nothing behind a comparison that is not an
// equality.
func check(conditions []condition, partition, sort []string) error {
	next := 0
	var given []string
	ended := false
	place := func(c condition) int { return slices.Index(sort, c.name) }
	for _, c := range slices.SortedStableFunc(slices.Values(conditions), func(a, b condition) int { return cmp.Compare(place(a), place(b)) }) {
		if slices.Contains(partition, c.name) {
			if c.operator != "=" || slices.Contains(given, c.name) {
				return fmt.Errorf("partition attribute %q needs one equality", c.name)
			}
			given = append(given, c.name)
			continue
		}
		if ended || next >= len(sort) || sort[next] != c.name {
			return fmt.Errorf("sort attribute %q is out of place", c.name)
		}
		next++
		ended = c.operator != "="
	}
	if len(given) != len(partition) {
		return errors.New("a partition attribute is missing")
	}
	return nil
}

type query struct {
	in         *dynamodb.QueryInput
	partition  []string
	sort       []string
	order      []string // by what items are ordered: the sort key, the table's key
	conditions []condition
}

func (q query) run(ctx context.Context, client *dynamodb.Client) (*dynamodb.QueryOutput, error) {
	var all []attributes
	scan := &dynamodb.ScanInput{TableName: q.in.TableName}
	for more := true; more; {
		out, err := client.Scan(ctx, scan)
		if err != nil {
			return nil, err
		}
		for _, i := range out.Items {
			// An item is in the index only if it has all key attributes.
			if len(q.key(i)) == q.size() && q.matches(i) {
				all = append(all, i)
			}
		}
		scan.ExclusiveStartKey = out.LastEvaluatedKey
		more = len(out.LastEvaluatedKey) > 0
	}
	sign := 1
	if !aws.ToBool(q.in.ScanIndexForward) && q.in.ScanIndexForward != nil {
		sign = -1
	}
	slices.SortFunc(all, func(a, b attributes) int { return sign * q.compare(a, b) })
	if start := q.in.ExclusiveStartKey; start != nil {
		if len(start) != len(q.key(start)) || len(start) != q.size() {
			return nil, fmt.Errorf("the start key has other attributes than the key: %d", len(start))
		}
		if !q.matches(start) {
			return nil, errors.New("the start key is outside of the query")
		}
		all = slices.DeleteFunc(all, func(i attributes) bool { return sign*q.compare(i, start) <= 0 })
	}
	out := &dynamodb.QueryOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(0.5)}}
	if limit := int(aws.ToInt32(q.in.Limit)); limit > 0 && len(all) >= limit {
		all = all[:limit]
		out.LastEvaluatedKey = q.key(all[limit-1])
	}
	out.Items, out.Count, out.ScannedCount = all, int32(len(all)), int32(len(all))
	return out, nil
}

// size returns how many key attributes there are in the index and the table.
func (q query) size() int {
	return len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(q.partition, q.order)))))
}

// key returns the key attributes of an item in the index and the table.
func (q query) key(i attributes) attributes {
	key := attributes{}
	for _, name := range slices.Concat(q.partition, q.order) {
		if v, ok := i[name]; ok {
			key[name] = v
		}
	}
	return key
}

func (q query) compare(a, b attributes) int {
	for _, name := range q.order {
		if c := compare(a[name], b[name]); c != 0 {
			return c
		}
	}
	return 0
}

func (q query) matches(i attributes) bool {
	for _, c := range q.conditions {
		v := i[c.name]
		var holds bool
		switch first := compare(v, c.values[0]); c.operator {
		case "=":
			holds = first == 0
		case ">=":
			holds = first >= 0
		case "<=":
			holds = first <= 0
		case "BETWEEN":
			holds = first >= 0 && compare(v, c.values[1]) <= 0
		case "begins_with":
			holds = strings.HasPrefix(text(v), text(c.values[0]))
		}
		if !holds {
			return false
		}
	}
	return true
}

// compare compares two key attributes of one type; of two types it says less.
func compare(a, b types.AttributeValue) int {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return cmp.Compare(a.Value, b.Value)
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return item.CompareNumbers(item.PlainNumber(a.Value), item.PlainNumber(b.Value))
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value)
		}
	}
	return -1
}

func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return "\x00"
}
