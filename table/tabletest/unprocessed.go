package tabletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// Unprocessed executes a BatchWriteItem or BatchGetItem except for its last n
// writes or keys, and returns these as UnprocessedItems or UnprocessedKeys.
// Several tables in a request are in the order of their names. If n is all of
// them or more, the engine sees nothing of the request.
//
// The request that is sent has another body than the one that was signed. Local
// engines do not look; AWS refuses it.
//
// AWS: "AWS Signature Version 4 for API requests", IAM User Guide.
func Unprocessed(n int) Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		body, err := readBody(r)
		if err != nil {
			return nil, err
		}
		member, ok := map[string]string{"BatchWriteItem": "UnprocessedItems", "BatchGetItem": "UnprocessedKeys"}[operationName(r)]
		request, _ := decoded(body).(map[string]any)
		tables, isBatch := request["RequestItems"].(map[string]any)
		if !ok || !isBatch {
			return nil, fmt.Errorf("tabletest: Unprocessed: %q is not a batch", operationName(r))
		}
		sent, kept := splitBatch(tables, n)
		response, header := map[string]any{}, http.Header{}
		if len(sent) > 0 {
			request["RequestItems"] = sent
			part, _ := json.Marshal(request) // which was JSON
			resp, err := next.RoundTrip(withBody(r, part))
			if err != nil {
				return nil, err
			}
			got, err := readResponse(resp)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode != http.StatusOK {
				return respond(r, resp.StatusCode, got), nil
			}
			if response, ok = decoded(got).(map[string]any); !ok {
				return nil, errors.New("tabletest: Unprocessed: the response is not an object")
			}
			header = resp.Header
		}
		if len(kept) > 0 {
			response[member] = kept
		}
		whole, _ := json.Marshal(response)
		resp := respond(r, http.StatusOK, whole)
		if id := header.Get("X-Amzn-Requestid"); id != "" {
			resp.Header.Set("X-Amzn-Requestid", id)
		}
		return resp, nil
	}
}

// splitBatch takes the last n entries out of the tables of a batch request. What else is
// said of the keys of a table, such as a projection, goes with both parts.
func splitBatch(tables map[string]any, n int) (sent, kept map[string]any) {
	sent, kept = map[string]any{}, map[string]any{}
	names := slices.Sorted(maps.Keys(tables))
	slices.Reverse(names) // The last entries are the first to be kept.
	for _, name := range names {
		entries, _ := tables[name].([]any) // writes
		members, ofKeys := tables[name].(map[string]any)
		if ofKeys {
			entries, _ = members["Keys"].([]any)
		}
		at := max(len(entries)-max(n, 0), 0)
		n -= len(entries) - at
		share := func(into map[string]any, part []any) {
			if len(part) == 0 {
				return
			}
			into[name] = part
			if ofKeys {
				with := maps.Clone(members)
				with["Keys"] = part
				into[name] = with
			}
		}
		share(sent, entries[:at])
		share(kept, entries[at:])
	}
	return sent, kept
}

// decoded returns a body as a JSON value. One that is not JSON is text.
func decoded(body []byte) any {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(body)
	}
	return v
}
