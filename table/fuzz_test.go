package table_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// cannedTimes responds to the next n requests with that status and body, and to
// later ones with an empty response. It sends none of them.
func cannedTimes(n int32, status int, kind, body string) tabletest.Fault {
	var sent atomic.Int32
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		if sent.Add(1) > n {
			return expect.Response(r, http.StatusOK, "", "{}"), nil
		}
		return expect.Response(r, status, kind, body), nil
	}
}

// canned responds without sending the request.
func canned(status int, kind, body string) tabletest.Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return expect.Response(r, status, kind, body), nil
	}
}

// faultyTable returns a table all of whose requests meet the fault. Nothing is
// sent, and nothing is retried.
func faultyTable(tb testing.TB, spec schema.Table, fault tabletest.Fault) (*table.Table, *dynamodb.Client, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	faults.Always("", fault)
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://faulty.invalid"), Region: "us-east-1",
		Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{},
	}, faults.Install)
	o := options()
	o.MaxAttempts, o.MaxRounds, o.MaxElapsed = 1, 2, 50*time.Millisecond
	tbl := expect.Value(table.New(client, spec, o))(tb)
	return tbl, client, faults
}

// wellFormed checks what holds for every error: it says where it happened, and
// its message holds no key.
func wellFormed(t *testing.T, what string, err error, secrets ...string) {
	t.Helper()
	if err == nil {
		return
	}
	ours, typed := errors.AsType[*table.Error](err)
	_, described := errors.AsType[*schema.Error](err)
	if !described && (!typed || ours.Op == "" || ours.Err == nil) {
		t.Errorf("%s: %v (%T) is not of this package", what, err, err)
	}
	for _, secret := range secrets {
		// Short ones occur in messages by chance.
		if len(secret) > 20 && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the message holds a key: %v", what, err)
		}
	}
	_ = table.Classify(err)
}

// refused are the errors of what cannot be right.
var refused = []error{
	keys.ErrInvalid, table.ErrInvalid, table.ErrInvalid, table.ErrInvalid, table.ErrTooLarge,
}

func isRefusal(err error, others ...error) bool {
	for _, target := range append(others, refused...) {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// refusedByEngine reports whether the request was sent and found to be wrong.
func refusedByEngine(err error) bool {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && response.HTTPStatusCode() == http.StatusBadRequest
}

// onEngine returns the same table with what stands in between, for one run.
func onEngine(tb testing.TB, spec schema.Table) (*table.Table, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	tbl := expect.Value(table.New(tabletest.Client(tb, faults.Install), spec, options()))(tb)
	return tbl, faults
}
