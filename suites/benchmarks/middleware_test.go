package main_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/table"
)

// BenchmarkMiddleware shows what it costs not to say that the middleware of a client
// changes nothing. The middleware does nothing at all.
func BenchmarkMiddleware(b *testing.B) {
	r, all := unkeyed(0), hundred()
	for _, c := range []struct {
		name string
		open func(*dynamodb.Client) library
	}{
		{"none", func(c *dynamodb.Client) library { return openRepo(c, spec.Name) }},
		{"read-only", func(c *dynamodb.Client) library {
			return openReposOf(newTable(idle(c), spec.Name, &table.Options{ReadOnlyMiddleware: true}))
		}},
		{"unknown", func(c *dynamodb.Client) library { return openReposOf(newTable(idle(c), spec.Name, nil)) }},
		{"sdk", func(c *dynamodb.Client) library { return openSDK(idle(c), spec.Name) }},
	} {
		lib := c.open(stubPlace(b).client)
		for _, op := range []struct {
			name string
			do   func(context.Context) error
		}{
			{"Get", func(ctx context.Context) error { _, err := lib.get(ctx, r.UserID, r.CreatedAt, r.ID); return err }},
			{"Query", func(ctx context.Context) error { _, _, err := lib.page(ctx, user); return err }},
			{"Create", func(ctx context.Context) error { return lib.create(ctx, r) }},
			{"Update", func(ctx context.Context) error { return lib.update(ctx, r.UserID, r.CreatedAt, r.ID, 7) }},
			{"TransactCreate", func(ctx context.Context) error { return lib.transactCreate(ctx, all) }},
		} {
			b.Run("op="+op.name+"/middleware="+c.name, func(b *testing.B) {
				measure(b, func() error { return op.do(b.Context()) })
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
