package tabletest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
)

// Fault handles a request instead of the engine. It may execute the request
// with next, change it before that, and change the response after that. It owns
// the request. Fault functions are called concurrently if requests are.
type Fault func(r *http.Request, next http.RoundTripper) (*http.Response, error)

// After executes the request and puts the fault between the engine and the
// caller: After(Status(…)) is an error of a write that has happened, and
// After(Block(nil)) a response that never arrives.
func After(fault Fault) Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		resp = buffer(resp)
		return fault(r, roundTripper(func(*http.Request) (*http.Response, error) { return resp, nil }))
	}
}

// Match meets those requests with the fault for which match is true, and lets the
// others pass. It is meant for [Faults.Always]: by [Faults.Next], a request that
// passes has used its place in the line.
func Match(match func(Request) bool, fault Fault) Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		body, err := readBody(r)
		if err != nil {
			return nil, err
		}
		passed := withBody(r, body)
		if !match(Request{Operation: operationName(r), Body: body}) {
			return next.RoundTrip(passed)
		}
		return fault(passed, next)
	}
}

// DropRequest breaks the connection before the request has reached the engine.
func DropRequest() Fault {
	return func(*http.Request, http.RoundTripper) (*http.Response, error) {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
}

// DropResponse executes the request and breaks the connection before the
// response arrives. It is After(DropRequest()).
func DropResponse() Fault { return After(DropRequest()) }

// Truncate executes the request and breaks the connection in the middle of the
// response.
func Truncate() Fault {
	return changed(func(_ *http.Request, resp *http.Response, body []byte) (*http.Response, error) {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), failingReader{io.ErrUnexpectedEOF}))
		return resp, nil
	})
}

// changed executes the request and responds with what change makes of the response.
func changed(change func(r *http.Request, resp *http.Response, body []byte) (*http.Response, error)) Fault {
	return After(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, _ := next.RoundTrip(r) // the response, which has arrived
		body, err := readResponse(resp)
		if err != nil {
			return nil, err
		}
		return change(r, resp, body)
	})
}

// Corrupt executes the request and responds with text that is not JSON, like a
// failed proxy that returns a status of success.
func Corrupt() Fault {
	return After(func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return respond(r, http.StatusOK, []byte("<html>Bad gateway")), nil
	})
}

// BadChecksum executes the request, and gives the response a checksum that is not its
// own, as if a byte of it had changed on its way. The response is compressed if the
// client takes it so.
func BadChecksum() Fault {
	return changed(func(r *http.Request, resp *http.Response, body []byte) (*http.Response, error) {
		header := resp.Header.Clone()
		if r.Header.Get("Accept-Encoding") == "gzip" && header.Get("Content-Encoding") == "" {
			var compressed bytes.Buffer
			w := gzip.NewWriter(&compressed)
			_, _ = w.Write(body) // to memory
			_ = w.Close()
			body = compressed.Bytes()
			header.Set("Content-Encoding", "gzip")
		}
		header.Set("Content-Length", strconv.Itoa(len(body)))
		header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(^crc32.ChecksumIEEE(body)), 10))
		damaged := respond(r, resp.StatusCode, body)
		damaged.Header = header
		return damaged, nil
	})
}

// Block keeps the request back until release is closed, or until the request's
// context ends, which is its error then. With nil only the latter ends it.
func Block(release <-chan struct{}) Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-release:
			return next.RoundTrip(r)
		}
	}
}

// Status returns an error instead of executing the request: the HTTP status and
// the exception's type, such as 500 and InternalServerError.
func Status(code int, typ, message string) Fault {
	return respondJSON(code, map[string]any{"__type": errorType(typ), "message": message})
}

// Throttle returns the error for exceeded capacity, with DynamoDB's reasons if
// any are given, such as TableWriteKeyRangeThroughputExceeded. AWS: ThrottlingReason,
// Amazon DynamoDB API Reference; "Diagnosing throttling", Amazon DynamoDB Developer
// Guide.
func Throttle(reasons ...string) Fault {
	all := make([]map[string]string, len(reasons))
	for i, r := range reasons {
		all[i] = map[string]string{"reason": r}
	}
	return respondJSON(http.StatusBadRequest, map[string]any{
		"__type":            errorType("ProvisionedThroughputExceededException"),
		"message":           "The level of configured provisioned throughput for the table was exceeded.",
		"ThrottlingReasons": all,
	})
}

// CancelTransaction returns the error for a cancelled transaction, with a
// reason for each operation in it: TransactionConflict, ConditionalCheckFailed,
// ThrottlingError, ValidationError and so on, and None for an operation that
// was not at fault.
func CancelTransaction(codes ...string) Fault {
	reasons := make([]map[string]string, len(codes))
	for i, code := range codes {
		reasons[i] = map[string]string{"Code": code}
		if code != "None" {
			reasons[i]["Message"] = "Injected " + code + "."
		}
	}
	return respondJSON(http.StatusBadRequest, map[string]any{
		"__type":              errorType("TransactionCanceledException"),
		"Message":             "Transaction cancelled, see the reasons [" + strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	})
}

// errorType returns the name of an exception on the wire.
func errorType(typ string) string { return "com.amazonaws.dynamodb.v20120810#" + typ }

// respondJSON returns a fault that responds with a JSON value.
func respondJSON(code int, value any) Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		body, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("tabletest: %w", err)
		}
		return respond(r, code, body), nil
	}
}

// respond makes a response. It has no checksum: the SDK compares one only if
// it is there.
func respond(r *http.Request, code int, body []byte) *http.Response {
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", code, http.StatusText(code)),
		StatusCode:    code,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       r,
	}
}

// readResponse reads and closes the response's body.
func readResponse(resp *http.Response) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("tabletest: read the response: %w", err)
	}
	return body, nil
}
