package main_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table/tabletest"
)

// stubPlace responds from memory. It keeps nothing, so it only sees that a write
// takes one request; what is in the request of each library, the engine shows.
func stubPlace(testing.TB) place {
	s := newStub(spec.Name, nil)
	return place{client: s.client(), table: spec.Name, mustWrite: func(tb testing.TB, operation string, _ []record, op func() error) {
		tb.Helper()
		before := s.requests[operation]
		must(tb, op())
		mustEqual(tb, s.requests[operation]-before, 1)
	}}
}

// enginePlace is a new table with the records on the local engine. The first of
// them has a copy.
func enginePlace(tb testing.TB) place {
	tb.Helper()
	client := tabletest.Client(tb)
	name := tabletest.New(tb, spec, nil).Schema().Name
	put(tb, client, name, copied(recordAt(0)))
	for n := range records {
		put(tb, client, name, recordAt(n))
	}
	return place{client: client, table: name, mustWrite: func(tb testing.TB, _ string, want []record, op func() error) {
		tb.Helper()
		before := map[string]bool{"": true}
		for _, r := range want {
			before[read(tb, client, name, r).Revision] = true
		}
		must(tb, op())
		for _, r := range want {
			got := read(tb, client, name, r)
			if before[got.Revision] {
				tb.Errorf("revision %q was there before", got.Revision)
			}
			got.Revision = r.Revision
			mustEqual(tb, got, r)
		}
	}}
}

func put(tb testing.TB, client *dynamodb.Client, tableName string, r record) {
	tb.Helper()
	_, err := client.PutItem(tb.Context(), &dynamodb.PutItemInput{TableName: &tableName, Item: marshal(r)})
	must(tb, err)
}

// read returns the record that has the key of r.
func read(tb testing.TB, client *dynamodb.Client, tableName string, r record) record {
	tb.Helper()
	out, err := client.GetItem(tb.Context(), &dynamodb.GetItemInput{
		TableName: &tableName, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": stringValue(r.PK), "sk": stringValue(r.SK)},
	})
	must(tb, err)
	var got record
	must(tb, attributevalue.UnmarshalMap(out.Item, &got))
	return got
}
