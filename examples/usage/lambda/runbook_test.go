package lambda_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/generated"
	shared "github.com/singletable/singletable/examples/internal/lambda"
	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheRunbook -update

// What differs from run to run.
var (
	changing = regexp.MustCompile(`"(time|id|requestId|stack)":"(?:[^"\\]|\\.)*"`)
	attempt  = regexp.MustCompile(`RequestID: [^,]*,`)
	anyTable = regexp.MustCompile(`"table":"[^"]*"`)
)

func TestTheRunbookShowsWhatIsLogged(t *testing.T) {
	t.Parallel()
	named := func(count string) string {
		return strings.Replace(designSent, `"count":1`, `"messageId":"p-1","count":`+count, 1)
	}
	denied := tabletest.Status(400, "AccessDeniedException", "User is not authorized to perform: dynamodb:PutItem")
	for _, c := range []struct {
		file, says string
		do         func(f functions, ctx context.Context)
	}{
		{"throttled", `"class":"transient"`, func(f functions, ctx context.Context) {
			f.faults.Always("TransactWriteItems", tabletest.Throttle())
			_, _ = f.count.Invoke(ctx, []byte(messages(t, designSent)))
		}},
		{"denied", `AccessDeniedException`, func(f functions, ctx context.Context) {
			f.faults.Always("TransactWriteItems", denied)
			_, _ = f.count.Invoke(ctx, []byte(messages(t, designSent)))
		}},
		{"later", `schemaVersion is later than 1`, func(f functions, ctx context.Context) {
			_, _ = f.count.Invoke(ctx, []byte(messages(t, `{"schemaVersion":2}`)))
		}},
		{"unknown", `perhaps of a later release`, func(f functions, ctx context.Context) {
			_, _ = f.count.Invoke(ctx, []byte(messages(t, strings.Replace(designSent, "metricId", "metric", 1))))
		}},
		{"dropped", `metering: not valid`, func(f functions, ctx context.Context) {
			_, _ = f.count.Invoke(ctx, []byte(messages(t, strings.Replace(designSent, `"count":1`, `"count":0`, 1))))
		}},
		{"reused", `idempotency key was used for another payload`, func(f functions, ctx context.Context) {
			_, _ = f.count.Invoke(ctx, []byte(messages(t, named("1"), named("2"))))
		}},
		{"failed", `"msg":"invocation failed"`, func(f functions, ctx context.Context) {
			f.faults.Always("Query", tabletest.Throttle())
			_, _ = f.query.Invoke(ctx, []byte(designAsked))
		}},
		{"panic", `"msg":"invocation panicked"`, func(f functions, ctx context.Context) {
			defer func() { _ = recover() }()
			panics := func(context.Context) error { panic("runtime error: index out of range [1] with length 1") }
			_, _ = shared.Logged(panics, lambda.NewLog(f.log, nil)).Invoke(ctx, []byte("{}"))
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			f := newFunctions(t)
			c.do(f, requested(t, "r-1"))
			line := changing.ReplaceAllString(strings.TrimSpace(f.log.String()), `"$1":"…"`)
			line = attempt.ReplaceAllString(line, "RequestID: …,")
			line = anyTable.ReplaceAllString(line, `"table":"usage-dev"`)
			generated.Quoted(t, "../RUNBOOK.md", c.says, "testdata/log/"+c.file+".json", line+"\n")
		})
	}
}
