package main_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// BenchmarkCondition writes an item on a condition that is made for each request: by the SDK's
// builder, and as text.
func BenchmarkCondition(b *testing.B) {
	for _, by := range []struct {
		name string
		make func(n int) expression.ConditionBuilder
	}{
		{"builder", func(n int) expression.ConditionBuilder {
			return expression.Name("closing").Equal(expression.Value(false)).And(expression.Name("seats").GreaterThanEqual(expression.Value(n)))
		}},
		{"If", func(n int) expression.ConditionBuilder { return table.If("closing = ? AND seats >= ?", false, n) }},
	} {
		b.Run("by="+by.name, func(b *testing.B) {
			local := tabletest.Client(b).Options()
			client := dynamodb.New(dynamodb.Options{Region: local.Region, Credentials: local.Credentials, HTTPClient: writing{}})
			t, err := table.New(client, spec, nil)
			must(b, err)
			r, n := recordAt(0), 0
			put := table.Put(txKey(r.UserID, r.CreatedAt, r.ID), r)
			write := func() error { n++; return t.Do(b.Context(), put.If(by.make(n))) }
			for range 2 {
				must(b, write())
			}
			measure(b, write)
		})
	}
}
