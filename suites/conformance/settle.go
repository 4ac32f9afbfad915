package conformance

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// newClient is the form of [Harness].Client.
type newClient = func(testing.TB, ...func(*dynamodb.Options)) *dynamodb.Client

// settling returns clients whose writes end when reads show them that may lag
// behind: those of global indexes, and eventually consistent ones. A write that
// is not shown within the bound fails the test. The reads go by themselves: the
// test's own client and its faults do not notice them.
func settling(client newClient, bound time.Duration) newClient {
	var tables sync.Map // descriptions by name
	return func(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
		tb.Helper()
		s := settler{tb: tb, client: client(tb), bound: bound, tables: &tables}
		return client(tb, append(optFns, func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
				return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("settle", s.handle), middleware.Before)
			})
		})...)
	}
}

type settler struct {
	tb     testing.TB
	client *dynamodb.Client
	bound  time.Duration
	tables *sync.Map
}

// item is a key of a table as it is stored.
type item = map[string]types.AttributeValue

// place is an item's place in a table.
type place struct {
	table *types.TableDescription
	key   item
}

func (s settler) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	// What the call was told to give up is written all the same.
	own := context.WithoutCancel(ctx)
	places := s.places(own, in.Parameters)
	before := make([]item, len(places))
	for i, p := range places {
		before[i], _ = s.get(own, p, true)
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	var group sync.WaitGroup
	for i, p := range places {
		group.Go(func() { s.settle(own, p, before[i]) })
	}
	group.Wait()
	return out, metadata, err
}

// places returns what a request writes. A table that cannot be described has
// nothing to wait for.
func (s settler) places(ctx context.Context, parameters any) []place {
	var all []place
	add := func(name *string, attributes item) {
		if table := s.describe(ctx, aws.ToString(name)); table != nil {
			all = append(all, place{table, keyOf(table.KeySchema, attributes)})
		}
	}
	switch in := parameters.(type) {
	case *dynamodb.PutItemInput:
		add(in.TableName, in.Item)
	case *dynamodb.UpdateItemInput:
		add(in.TableName, in.Key)
	case *dynamodb.DeleteItemInput:
		add(in.TableName, in.Key)
	case *dynamodb.BatchWriteItemInput:
		for name, requests := range in.RequestItems {
			for _, r := range requests {
				if r.PutRequest != nil {
					add(&name, r.PutRequest.Item)
				} else if r.DeleteRequest != nil {
					add(&name, r.DeleteRequest.Key)
				}
			}
		}
	case *dynamodb.TransactWriteItemsInput:
		for _, op := range in.TransactItems {
			switch {
			case op.Put != nil:
				add(op.Put.TableName, op.Put.Item)
			case op.Update != nil:
				add(op.Update.TableName, op.Update.Key)
			case op.Delete != nil:
				add(op.Delete.TableName, op.Delete.Key)
			}
		}
	}
	return all
}

func (s settler) describe(ctx context.Context, name string) *types.TableDescription {
	if known, ok := s.tables.Load(name); ok {
		return known.(*types.TableDescription)
	}
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return nil
	}
	s.tables.Store(name, out.Table)
	return out.Table
}

// inARow is how many reads must agree: each may be served by another replica.
const inARow = 3

// settle waits until lagging reads show the item as it is, and no index shows it
// where it was before.
func (s settler) settle(ctx context.Context, p place, before item) {
	deadline := time.Now().Add(s.bound)
	now, err := s.get(ctx, p, true)
	for agreed := 0; agreed < inARow; {
		reason := fmt.Sprint(err)
		if err == nil {
			reason = s.lags(ctx, p, before, now)
		}
		if reason == "" {
			agreed++
			continue
		}
		agreed = 0
		if time.Now().After(deadline) {
			s.tb.Errorf("a write to %s is not shown after %v: %s", aws.ToString(p.table.TableName), s.bound, reason)
			return
		}
		<-time.After(10 * time.Millisecond)
		// Another client may have written it concurrently.
		now, err = s.get(ctx, p, true)
	}
}

// lags says which read does not show the item as it is now, "" if all do.
func (s settler) lags(ctx context.Context, p place, before, now item) string {
	if seen, err := s.get(ctx, p, false); err != nil || len(seen) != len(now) || !agrees(seen, now) {
		return fmt.Sprintf("an eventually consistent read differs (%v)", err)
	}
	for _, index := range p.table.GlobalSecondaryIndexes {
		at, was := keyOf(index.KeySchema, now), keyOf(index.KeySchema, before)
		complete := len(at) == len(index.KeySchema)
		if complete {
			seen, err := s.find(ctx, p, index, at)
			if err != nil || seen == nil || !agrees(seen, now) {
				return fmt.Sprintf("index %s does not show it (%v)", aws.ToString(index.IndexName), err)
			}
		}
		if len(was) == len(index.KeySchema) && (!complete || !agrees(was, at)) {
			if seen, err := s.find(ctx, p, index, was); err != nil || seen != nil {
				return fmt.Sprintf("index %s shows it where it was (%v)", aws.ToString(index.IndexName), err)
			}
		}
	}
	return ""
}

func (s settler) get(ctx context.Context, p place, consistent bool) (item, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: p.table.TableName, Key: p.key, ConsistentRead: &consistent})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// find returns the item as an index shows it under an index key, nil if it does
// not.
func (s settler) find(ctx context.Context, p place, index types.GlobalSecondaryIndexDescription, at item) (item, error) {
	in := &dynamodb.QueryInput{
		TableName: p.table.TableName, IndexName: index.IndexName,
		ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: item{},
	}
	condition := ""
	for i, element := range index.KeySchema {
		name := aws.ToString(element.AttributeName)
		in.ExpressionAttributeNames[fmt.Sprint("#k", i)] = name
		in.ExpressionAttributeValues[fmt.Sprint(":k", i)] = at[name]
		if i > 0 {
			condition += " AND "
		}
		condition += fmt.Sprintf("#k%d = :k%d", i, i)
	}
	in.KeyConditionExpression = &condition
	pages := dynamodb.NewQueryPaginator(s.client, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, found := range page.Items {
			if agrees(p.key, found) {
				return found, nil
			}
		}
	}
	return nil, nil
}

// agrees reports whether every attribute of part is in whole as well. Sets are
// left out, since they have no order.
func agrees(part, whole item) bool {
	for name, value := range part {
		switch value.(type) {
		case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
			continue
		}
		if !reflect.DeepEqual(value, whole[name]) {
			return false
		}
	}
	return true
}

// keyOf returns those attributes that are the key by a key schema.
func keyOf(spec []types.KeySchemaElement, attributes item) item {
	key := item{}
	for _, element := range spec {
		name := aws.ToString(element.AttributeName)
		if value, ok := attributes[name]; ok {
			key[name] = value
		}
	}
	return key
}
