package stream_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/internal/expect"
)

// lowered is middleware that takes the images of a stream for encrypted ones, and
// decrypts them: it gives their texts in lower case.
func lowered(o *dynamodbstreams.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("Decrypt", func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleFinalize(ctx, in)
			if page, ok := out.Result.(*dynamodbstreams.GetRecordsOutput); ok && err == nil {
				for _, r := range page.Records {
					if text, ok := r.Dynamodb.NewImage["text"].(*streamtypes.AttributeValueMemberS); ok {
						text.Value = strings.ToLower(text.Value)
					}
				}
			}
			return out, metadata, err
		}), middleware.After)
	})
}

// Handlers get the images that middleware of the stream's client has decrypted.
func TestImagesThroughMiddleware(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	r := w.notesReader(t, &l, nil)
	r.Client = dynamodbstreams.New(r.Client.Options(), lowered)
	expect.OK(t, w.notes.Save(t.Context(), &Note{User: "1", Text: "SECRET"}))
	runUntil(t, r, func() bool { return len(l.all()) > 0 })
	expect.Equal(t, "handled", l.take(), []string{"USER#1 secret"})
}
