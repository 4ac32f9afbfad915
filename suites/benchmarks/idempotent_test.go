package main_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// BenchmarkIdempotentCreate carries out requests that create records, each once,
// and stores the result, which is the first record.
//
// protocol=claim-complete is how libraries do it that keep their record beside
// the work: claim the key with a lease, do the work, complete the record with the
// result. It takes three requests, and a process that dies in between leaves a
// claim that blocks the key until the lease ends, with or without the effect.
// protocol=one-transaction is package idempotency.
//
// With net=5ms every response is that much later, as it is with DynamoDB.
func BenchmarkIdempotentCreate(b *testing.B) {
	for _, items := range []int{1, 3} {
		for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
			b.Run(fmt.Sprintf("items=%d/net=%v", items, delay), func(b *testing.B) {
				for _, protocol := range []struct {
					name string
					open func(*testing.B, *dynamodb.Client, string, *float64) creator
				}{
					{"claim-complete", openClaims},
					{"one-transaction", openIdempotency},
				} {
					b.Run("protocol="+protocol.name, func(b *testing.B) {
						var meter requestMeter
						client := tabletest.Client(b, meter.install(delay))
						units := 0.0
						spec := schema.Table{TTLAttribute: "expiresAt"}
						tbl := tabletest.New(b, spec, nil)
						benchmarkCreate(b, items, &meter, &units, protocol.open(b, client, tbl.Schema().Name, &units))
					})
				}
			})
		}
	}
}

// creator carries out the request with the key once.
type creator func(ctx context.Context, key string, records []record) (result record, replayed bool, err error)

func benchmarkCreate(b *testing.B, items int, meter *requestMeter, units *float64, create creator) {
	n := 0
	op := func() error {
		n++
		_, replayed, err := create(b.Context(), "key-"+strconv.Itoa(n), recordsOf(n, items))
		if replayed {
			return errors.New("it was carried out before")
		}
		return err
	}
	must(b, op())
	again, replayed, err := create(b.Context(), "key-1", recordsOf(99, items))
	must(b, err)
	mustEqual(b, replayed, true)
	mustEqual(b, again.ID, recordsOf(1, items)[0].ID)

	requests, spent := meter.n, *units
	measure(b, op)
	b.ReportMetric(float64(meter.n-requests)/float64(b.N), "requests/op")
	b.ReportMetric((*units-spent)/float64(b.N), "WCU/op")
}

// recordsOf returns the records of the nth request.
func recordsOf(n, items int) []record {
	records := make([]record, items)
	for i := range records {
		records[i] = recordAt(i)
		records[i].ID = fmt.Sprintf("%s-%d", records[i].ID, n)
		records[i].PK, records[i].SK = "", ""
	}
	return records
}

// requestMeter counts the requests of a client.
type requestMeter struct {
	next  dynamodb.HTTPClient
	delay time.Duration
	n     int
}

func (m *requestMeter) install(delay time.Duration) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) { m.next, m.delay, o.HTTPClient = o.HTTPClient, delay, m }
}

// Do passes a request on and returns its response after the delay.
func (m *requestMeter) Do(r *http.Request) (*http.Response, error) {
	m.n++
	resp, err := m.next.Do(r)
	if m.delay > 0 {
		time.Sleep(m.delay)
	}
	return resp, err
}

func openIdempotency(b *testing.B, client *dynamodb.Client, name string, units *float64) creator {
	tbl, err := table.New(client, schema.Table{Name: name, TTLAttribute: "expiresAt"}, &table.Options{
		Observe: func(_ context.Context, e table.Event) { *units += e.Capacity },
	})
	must(b, err)
	store, err := idempotency.New(tbl, nil)
	must(b, err)
	return func(ctx context.Context, key string, records []record) (record, bool, error) {
		result, err := idempotency.Do(ctx, store, idempotency.Request{Scope: user, Key: key, Payload: idempotency.Text(`{"amount":1}`)},
			func(context.Context) (idempotency.Plan[record], error) {
				ops := make([]table.Op, len(records))
				for i, r := range records {
					ops[i] = table.Create(txKey(r.UserID, r.CreatedAt, r.ID), r)
				}
				return idempotency.Snapshot(records[0], ops...), nil
			})
		return result.Value, result.Replayed, err
	}
}

// claims is the protocol of claim and complete, by the SDK alone.
type claims struct {
	client *dynamodb.Client
	table  *string
	units  *float64
}

func openClaims(_ *testing.B, client *dynamodb.Client, name string, units *float64) creator {
	return claims{client, &name, units}.create
}

// lease is how long a claim keeps others away, keep how long the result is kept.
const (
	lease = time.Minute
	keep  = 24 * time.Hour
)

func (c claims) create(ctx context.Context, key string, records []record) (record, bool, error) {
	hash := sha256.Sum256([]byte(`{"amount":1}`))
	id := map[string]types.AttributeValue{"pk": stringValue("IDE#" + user + "#" + key), "sk": stringValue("METADATA")}
	if result, done, err := c.claim(ctx, id, hash[:]); done || err != nil {
		return result, done, err
	}
	if err := c.work(ctx, records); err != nil {
		return record{}, false, err // the claim is to be given up here, by a fourth request
	}
	return records[0], false, c.complete(ctx, id, records[0])
}

func epoch(at time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
}

// claim takes the key, or returns the result of the call that had it before.
func (c claims) claim(ctx context.Context, id map[string]types.AttributeValue, hash []byte) (result record, done bool, err error) {
	now := time.Now()
	out, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: c.table,
		Item: map[string]types.AttributeValue{
			"pk": id["pk"], "sk": id["sk"], "entityType": stringValue("IDEMPOTENCY"),
			"status": stringValue("IN_PROGRESS"), "fingerprint": &types.AttributeValueMemberB{Value: hash},
			"leaseUntil": epoch(now.Add(lease)), "expiresAt": epoch(now.Add(keep)),
		},
		ConditionExpression: aws.String("attribute_not_exists(pk) OR expiresAt <= :now" +
			" OR (#status = :inProgress AND leaseUntil <= :now)"),
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now": epoch(now), ":inProgress": stringValue("IN_PROGRESS"),
		},
		ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		if status, _ := failed.Item["status"].(*types.AttributeValueMemberS); status == nil || status.Value != "COMPLETED" {
			return result, false, errors.New("another call is at it")
		}
		err := attributevalue.Unmarshal(failed.Item["result"], &result)
		return result, true, err
	}
	if err == nil {
		*c.units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	return result, false, err
}

// work creates the records.
func (c claims) work(ctx context.Context, records []record) error {
	puts := make([]types.TransactWriteItem, len(records))
	for i, r := range records {
		r.PK, r.SK = userPK(r.UserID), txSK(r.CreatedAt, r.ID)
		item, err := attributevalue.MarshalMap(r)
		if err != nil {
			return err
		}
		puts[i].Put = &types.Put{TableName: c.table, Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	}
	if len(puts) == 1 {
		out, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: c.table, Item: puts[0].Put.Item, ConditionExpression: puts[0].Put.ConditionExpression,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err == nil {
			*c.units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
		}
		return err
	}
	out, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: puts, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err == nil {
		for _, consumed := range out.ConsumedCapacity {
			*c.units += aws.ToFloat64(consumed.CapacityUnits)
		}
	}
	return err
}

// complete stores the result.
func (c claims) complete(ctx context.Context, id map[string]types.AttributeValue, result record) error {
	value, err := attributevalue.Marshal(result)
	if err != nil {
		return err
	}
	out, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: c.table, Key: id,
		UpdateExpression:         aws.String("SET #status = :completed, #result = :result REMOVE leaseUntil"),
		ExpressionAttributeNames: map[string]string{"#status": "status", "#result": "result"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":completed": stringValue("COMPLETED"), ":result": value,
		},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err == nil {
		*c.units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	return err
}
