package conformance_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// An index that is added to a table with items is CREATING, then filled, and then ACTIVE but
// refuses searches for a while. Ensure waits for all of it: half a minute on the engine.
func TestEnsureAddsAVectorIndex(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	faults := &tabletest.Faults{}
	client := tabletest.Client(t, faults.Install)
	spec := schema.Table{Name: "Products-" + rand.Text()}
	expect.OK(t, spec.Ensure(t.Context(), client))
	t.Cleanup(func() {
		expect.OK(t, expect.ErrOf(client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &spec.Name})))
	})
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	one := &types.AttributeValueMemberN{Value: "1"}
	for i := range 3 {
		expect.OK(t, expect.ErrOf(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &spec.Name, Item: map[string]types.AttributeValue{
			"pk": text(fmt.Sprint(i)), "sk": text("x"), "tenant": text("acme"), "embedding": &types.AttributeValueMemberL{Value: []types.AttributeValue{one, one, one}},
		}})))
	}
	spec.Vectors = []schema.VectorIndex{{
		Name: "similar", Attribute: "embedding", Dimensions: 3, Partition: schema.Attribute{Name: "tenant"},
	}}
	plan := expect.Value(spec.Plan(t.Context(), client))(t)
	expect.Equal(t, "manual", plan.Manual, []schema.Change{})
	expect.Equal(t, "changes", plan.Changes, []schema.Change{{
		Difference: "vector index similar: is missing",
		Action: "add it; DynamoDB charges by the bytes that it writes, which are those of the vectors and projections of at most 3 items, " +
			"by its count, which is up to about 6 hours old",
	}})
	var seen []string
	see := func(texts ...string) tabletest.Fault {
		return tabletest.After(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			body := expect.Value(io.ReadAll(resp.Body))(t)
			resp.Body = io.NopCloser(bytes.NewReader(body))
			for _, text := range texts {
				if bytes.Contains(body, []byte(text)) && !slices.Contains(seen, text) {
					seen = append(seen, text)
				}
			}
			return resp, err
		})
	}
	states := []string{`"CREATING","Backfilling":false`, `"CREATING","Backfilling":true`, `"ACTIVE","IndexSizeBytes"`, "Cannot search", "SearchResults"}
	faults.Always("DescribeTable", see(states[:3]...))
	faults.Always("SearchVectors", see(states[3:]...))
	expect.OK(t, spec.Ensure(t.Context(), client))
	expect.Equal(t, "states", seen, states)
	expect.Equal(t, "updates", len(faults.Requests("UpdateTable")), 1)
	out := expect.Value(client.SearchVectors(t.Context(), &dynamodb.SearchVectorsInput{
		TableName: &spec.Name, IndexName: aws.String("similar"), TopK: aws.Int32(10), SearchVector: []types.AttributeValue{one, one, one},
		SearchConditionExpression: aws.String("tenant = :t"), ExpressionAttributeValues: map[string]types.AttributeValue{":t": text("acme")},
	}))(t)
	expect.Equal(t, "items that a search finds", len(out.SearchResults), 3)
}
