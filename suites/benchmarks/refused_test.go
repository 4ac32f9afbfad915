package main_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// BenchmarkRefused creates items that exist already. With lib=table, the request is sent without
// the SDK's client, which is handed the response. With lib=table-sdk, the client makes the call:
// [table.Options].DisableReplay.
func BenchmarkRefused(b *testing.B) {
	for _, job := range []string{"Create", "Transact"} {
		for _, lib := range []struct {
			name    string
			options table.Options
		}{
			{"table-sdk", table.Options{DisableReplay: true}},
			{"table", table.Options{}},
		} {
			b.Run("job="+job+"/lib="+lib.name, func(b *testing.B) {
				create := refused(b, job, lib.options)
				for range 3 { // so that there is a template
					if err := create(b.Context()); !errors.Is(err, table.ErrExists) {
						b.Fatal(err)
					}
				}
				measure(b, func() error { _ = create(b.Context()); return nil })
			})
		}
	}
}

// refused returns what creates items that exist.
func refused(tb testing.TB, job string, options table.Options) func(context.Context) error {
	tb.Helper()
	local := tabletest.Client(tb).Options()
	client := dynamodb.New(dynamodb.Options{Region: local.Region, Credentials: local.Credentials, HTTPClient: refusing{}})
	t, err := table.New(client, spec, &options)
	must(tb, err)
	r := recordAt(0)
	create := table.Create(txKey(r.UserID, r.CreatedAt, r.ID), r)
	if job == "Create" {
		return func(ctx context.Context) error { return t.Do(ctx, create) }
	}
	further := table.Create(copyKey(r.ID), r)
	return func(ctx context.Context) error { return t.Transact(ctx, create, further) }
}

// refusing is a transport that responds as DynamoDB does to a write whose condition is false.
type refusing struct{}

const (
	refusedWrite  = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`
	refusedWrites = `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
		`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [ConditionalCheckFailed, None]",` +
		`"CancellationReasons":[{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"},{"Code":"None"}]}`
)

func (refusing) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	body := refusedWrite
	if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.TransactWriteItems" {
		body = refusedWrites
	}
	return &http.Response{
		Status: "400 Bad Request", StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"A1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q7R8S9T0U1V2W3X4Y5Z6"},
			"Date": {time.Now().UTC().Format(http.TimeFormat)},
		},
		Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)), Request: r,
	}, nil
}
