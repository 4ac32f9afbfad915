package idempotency_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/singletable/singletable/table/tabletest"
)

// changedResponse sends the request and changes its response.
func changedResponse(change func(body map[string]any)) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var body map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			return nil, err
		}
		change(body)
		text, err := json.Marshal(body)
		resp.Body = io.NopCloser(bytes.NewReader(text))
		resp.ContentLength = int64(len(text))
		resp.Header.Del("X-Amz-Crc32")
		resp.Header.Del("Content-Length")
		return resp, err
	}
}

func reasons(body map[string]any) []any {
	all, _ := body["CancellationReasons"].([]any)
	return all
}

// firstFailure is an engine that tells the first failure only, withoutOld one
// that does not return what made a condition fail, and poor one that does both.
func firstFailure(body map[string]any) {
	failed := false
	for _, r := range reasons(body) {
		reason := r.(map[string]any)
		if failed {
			clear(reason)
			reason["Code"] = "None"
		}
		failed = failed || reason["Code"] != "None"
	}
}

func withoutOld(body map[string]any) {
	for _, r := range reasons(body) {
		delete(r.(map[string]any), "Item")
	}
}

func poor(body map[string]any) {
	firstFailure(body)
	withoutOld(body)
}

// engines are the ways in which engines report a cancelled transaction.
var engines = map[string]tabletest.Fault{
	"full response":              nil,
	"first failure only":         changedResponse(firstFailure),
	"no old item":                changedResponse(withoutOld),
	"first failure, no old item": changedResponse(poor),
}

// both is a fault in what another fault leaves.
func both(outer, inner tabletest.Fault) tabletest.Fault {
	if outer == nil {
		return inner
	}
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		return outer(r, roundTripper(func(r *http.Request) (*http.Response, error) { return inner(r, next) }))
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// status is the response of an engine that has failed.
func status(code int) tabletest.Fault {
	return tabletest.Status(code, http.StatusText(code), "Injected.")
}

// cancelled is a cancelled transaction of an order.
func cancelled(codes map[int]string) tabletest.Fault {
	all := make([]string, opCount)
	for i := range all {
		all[i] = "None"
	}
	for i, code := range codes {
		all[i] = code
	}
	return tabletest.CancelTransaction(all...)
}
