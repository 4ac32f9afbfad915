package tabletest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table/tabletest"
)

func TestUnprocessedWrites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n    int
		want []string // The keys that come back.
	}{
		{-1, nil},
		{0, nil},
		{2, []string{"2", "3"}},
		{4, []string{"0", "1", "2", "3"}},
		{9, []string{"0", "1", "2", "3"}},
	} {
		t.Run(fmt.Sprint(tt.n), func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			client := tabletest.Client(t, faults.Install, noRetries)
			name := createTable(t, client)
			faults.Next("BatchWriteItem", tabletest.Unprocessed(tt.n))
			var writes []types.WriteRequest
			for i := range 4 {
				writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(fmt.Sprint(i))}})
			}

			out, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{name: writes},
			})
			expect.OK(t, err)
			var got []string
			for _, w := range out.UnprocessedItems[name] {
				got = append(got, text(w.PutRequest.Item["pk"]))
			}
			expect.Equal(t, "unprocessed", got, tt.want)
			for i := range 4 {
				if want := i < 4-len(tt.want); has(t, client, name, fmt.Sprint(i)) != want {
					t.Errorf("item %d written: %t, want %t", i, !want, want)
				}
			}
		})
	}
}

func TestUnprocessedKeys(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, noRetries)
	name := createTable(t, client)
	var keys []map[string]types.AttributeValue
	for i := range 4 {
		put(t, client, name, fmt.Sprint(i))
		keys = append(keys, item(fmt.Sprint(i)))
	}
	projection := "pk"
	request := map[string]types.KeysAndAttributes{name: {Keys: keys, ProjectionExpression: &projection}}

	faults.Next("BatchGetItem", tabletest.Unprocessed(1), nil, tabletest.Unprocessed(4))
	var found []string
	for _, want := range []int{1, 0, 4} {
		out := expect.Value(client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: request}))(t)
		for _, i := range out.Responses[name] {
			found = append(found, text(i["pk"]))
		}
		rest := out.UnprocessedKeys[name]
		if len(rest.Keys) != want {
			t.Fatalf("%d unprocessed keys, want %d", len(rest.Keys), want)
		}
		switch want {
		case 1:
			if rest.ProjectionExpression == nil || *rest.ProjectionExpression != projection {
				t.Error("the projection is lost")
			}
			request = out.UnprocessedKeys
		case 0:
			request = map[string]types.KeysAndAttributes{name: {Keys: keys}}
		}
	}
	expect.Equal(t, "found", set(found), map[string]bool{"0": true, "1": true, "2": true, "3": true})
}

func TestUnprocessedOfSeveralTables(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, noRetries)
	faults.Next("BatchWriteItem", tabletest.Unprocessed(3))
	write := func(pk string) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: item(pk)}}
	}
	a, b := createTable(t, client), createTable(t, client)
	if a > b {
		a, b = b, a
	}

	out, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{a: {write("1"), write("2")}, b: {write("1"), write("2")}},
	})
	expect.OK(t, err)
	got := map[string]int{a: len(out.UnprocessedItems[a]), b: len(out.UnprocessedItems[b])}
	expect.Equal(t, "unprocessed", got, map[string]int{a: 1, b: 2})
}

func TestUnprocessedReturnsErrorsUnchanged(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, noRetries)
	name := createTable(t, client)
	faults.Next("BatchWriteItem", tabletest.Unprocessed(1))
	bad := types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{}}}
	_, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{name: {bad, bad}},
	})
	if err := isAny(err); err != nil {
		t.Error(err)
	}

	faults.Next("BatchWriteItem", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return tabletest.Unprocessed(1)(r, broken{})
	})
	good := types.WriteRequest{PutRequest: &types.PutRequest{Item: item("1")}}
	_, err = client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{name: {good, good}},
	})
	if err := is(http.ErrHandlerTimeout)(err); err != nil {
		t.Error(err)
	}
}

// broken carries nothing out.
type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }

func text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }

func set(s []string) map[string]bool {
	m := map[string]bool{}
	for _, v := range s {
		m[v] = true
	}
	return m
}
