package main_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// BenchmarkMiddleware shows what middleware costs of which the table does not know that it
// changes nothing. It does nothing at all.
func BenchmarkMiddleware(b *testing.B) {
	p := stubPlace(b)
	for _, c := range []struct {
		name string
		open func(*dynamodb.Client) library
	}{
		{"none", func(c *dynamodb.Client) library { return openRepo(c, p.table) }},
		{"unknown", func(c *dynamodb.Client) library { return openReposOf(newTable(idle(c), p.table)) }},
		{"sdk", func(c *dynamodb.Client) library { return openSDK(idle(c), p.table) }},
	} {
		lib := c.open(p.client)
		for _, j := range jobs() {
			b.Run("op="+j.name+"/middleware="+c.name, func(b *testing.B) {
				measure(b, func() error { return j.do(b.Context(), lib) })
			})
		}
	}
}

// idle returns a client with middleware that does nothing.
func idle(c *dynamodb.Client) *dynamodb.Client {
	return dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Idle", func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (middleware.InitializeOutput, middleware.Metadata, error) {
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
		})
	})
}
