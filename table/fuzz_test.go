package table_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// cannedTimes responds to the next n requests with that status and body, and to
// later ones with an empty response. It sends none of them.
func cannedTimes(n int32, status int, kind, body string) tabletest.Fault {
	var sent atomic.Int32
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		if sent.Add(1) > n {
			return response(r, http.StatusOK, "", "{}"), nil
		}
		return response(r, status, kind, body), nil
	}
}

func response(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Errortype": {kind}},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// faultyTable returns a table all of whose requests meet the fault. Nothing is
// sent, and nothing is retried.
func faultyTable(tb testing.TB, schema table.Schema, fault tabletest.Fault) (*table.Table, *dynamodb.Client, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	for _, operation := range []string{
		"", "CreateTable", "DescribeTable", "UpdateTable", "DescribeTimeToLive", "UpdateTimeToLive",
		"DescribeContinuousBackups", "UpdateContinuousBackups",
	} {
		faults.Always(operation, fault)
	}
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://faulty.invalid"), Region: "us-east-1",
		Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{},
	}, faults.Install)
	o := options()
	o.MaxAttempts, o.MaxRounds, o.MaxElapsed = 1, 2, 50*time.Millisecond
	tbl := expect.Value(table.New(client, schema, o))(tb)
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
	_, schema := errors.AsType[*table.SchemaError](err)
	if !schema && (!typed || ours.Op == "" || ours.Err == nil) {
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
func onEngine(tb testing.TB, schema table.Schema) (*table.Table, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	tbl := expect.Value(table.New(tabletest.Client(tb, faults.Install), schema, options()))(tb)
	return tbl, faults
}
