package backfill

import (
	"cmp"
	"context"
	"crypto/rand"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// loop is what a program does with the SDK alone: it scans in segments and updates each
// item on the condition that its revision is the one that was read. It has no progress
// and does not read an item again that has changed.
func loop(ctx context.Context, engine *tabletest.Engine, spec schema.Table) (units, error) {
	client := engine.Client()
	next := make(chan int)
	go func() {
		defer close(next)
		for n := range segments {
			next <- n
		}
	}()
	var mu sync.Mutex
	var sum units
	var failed error
	var group sync.WaitGroup
	for range concurrency {
		group.Go(func() {
			for n := range next {
				u, err := loopSegment(ctx, client, spec.Name, n)
				mu.Lock()
				sum.read += u.read
				sum.written += u.written
				failed = cmp.Or(failed, err)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return sum, failed
}

func loopSegment(ctx context.Context, client *dynamodb.Client, name string, n int) (u units, err error) {
	scan := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{
		TableName: &name, Segment: aws.Int32(int32(n)), TotalSegments: aws.Int32(segments), Limit: aws.Int32(pageSize),
		ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	for scan.HasMorePages() {
		page, err := scan.NextPage(ctx)
		if err != nil {
			return u, err
		}
		u.read += *page.ConsumedCapacity.CapacityUnits
		for _, item := range page.Items {
			in, err := update(name, item)
			if err != nil {
				return u, err
			}
			if in == nil {
				continue
			}
			out, err := client.UpdateItem(ctx, in)
			if err != nil {
				return u, err
			}
			u.written += *out.ConsumedCapacity.CapacityUnits
		}
	}
	return u, nil
}

// update returns the request that brings an item to the present shape, nil if it has
// it.
func update(name string, item map[string]types.AttributeValue) (*dynamodb.UpdateItemInput, error) {
	shape, _ := item["entityShape"].(*types.AttributeValueMemberN)
	if shape != nil && shape.Value == "2" {
		return nil, nil
	}
	set, remove := "SET remark = :remark, tier = :tier, entityShape = :shape, revision = :next", " REMOVE note"
	values := map[string]types.AttributeValue{
		":remark": item["note"], ":tier": str("basic"), ":shape": num(2), ":next": str(rand.Text()), ":revision": item["revision"],
	}
	var names map[string]string
	if shape == nil {
		if err := split(item); err != nil {
			return nil, err
		}
		set += ", amount = :amount, currency = :currency"
		remove += ", #total" // a reserved word
		names = map[string]string{"#total": "total"}
		values[":amount"], values[":currency"] = item["amount"], item["currency"]
	}
	return &dynamodb.UpdateItemInput{
		TableName: &name, Key: map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]},
		UpdateExpression: aws.String(set + remove), ConditionExpression: aws.String("revision = :revision"),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}, nil
}
