package main_test

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// place is where the libraries do their jobs.
type place struct {
	client *dynamodb.Client
	table  string
	// mustWrite fails the benchmark unless op writes the records, each with
	// another revision than before, by one request of the operation.
	mustWrite func(tb testing.TB, operation string, want []record, op func() error)
}

// stubPlace responds from memory. It keeps nothing, so it only sees that a write
// takes one request; what is in the request of each library, the engine shows.
func stubPlace(tb testing.TB) place {
	tb.Helper()
	s := newStub(tb, nil)
	return place{client: s.client, table: s.table, mustWrite: func(tb testing.TB, operation string, _ []record, op func() error) {
		tb.Helper()
		before := s.requests[operation]
		must(tb, op())
		mustEqual(tb, s.requests[operation]-before, 1)
	}}
}

// enginePlace is a new table with the records on the local engine.
func enginePlace(tb testing.TB) place {
	tb.Helper()
	client, name := tabletest.Client(tb), filled(tb, nil)
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

// filled returns the name of a new table with the records, which have the attributes of
// further, too. The first record has a copy.
func filled(tb testing.TB, further map[string]types.AttributeValue) string {
	tb.Helper()
	tbl := tabletest.New(tb, spec, nil)
	all := []record{copied(recordAt(0))}
	for n := range records {
		all = append(all, recordAt(n))
	}
	ops := make([]table.Op, len(all))
	for i, r := range all {
		item := marshal(r)
		maps.Copy(item, further)
		ops[i] = table.Put(keys.Key{PK: keys.PK(r.PK), SK: keys.SK(r.SK)}, item)
	}
	must(tb, tbl.BatchWrite(tb.Context(), ops...))
	return tbl.Schema().Name
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
