package tabletest

import (
	"encoding/json"
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
func Unprocessed(n int) Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		body, err := readBody(r)
		if err != nil {
			return nil, err
		}
		b, err := splitBatch(operationName(r), body, n)
		if err != nil {
			return nil, fmt.Errorf("tabletest: Unprocessed: %w", err)
		}
		response, header := map[string]json.RawMessage{}, http.Header{}
		if b.sent != nil {
			resp, err := next.RoundTrip(withBody(r, b.sent))
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
			if err := json.Unmarshal(got, &response); err != nil {
				return nil, fmt.Errorf("tabletest: Unprocessed: %w", err)
			}
			header = resp.Header
		}
		if b.kept != nil {
			response[b.member] = b.kept
		}
		whole, err := json.Marshal(response)
		if err != nil {
			return nil, fmt.Errorf("tabletest: Unprocessed: %w", err)
		}
		resp := respond(r, http.StatusOK, whole)
		if id := header.Get("X-Amzn-Requestid"); id != "" {
			resp.Header.Set("X-Amzn-Requestid", id)
		}
		return resp, nil
	}
}

// batch is a batch request in two parts.
type batch struct {
	sent   []byte          // The body of the part to carry out; nil if there is none.
	kept   json.RawMessage // The other part, as the response has it; nil if there is none.
	member string          // The response's member for it.
}

// splitBatch takes the last n entries out of a batch request.
func splitBatch(operation string, body []byte, n int) (batch, error) {
	var request, tables map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return batch{}, err
	}
	if err := json.Unmarshal(request["RequestItems"], &tables); err != nil {
		return batch{}, fmt.Errorf("RequestItems of %q: %w", operation, err)
	}
	var b batch
	var split func(table json.RawMessage, n int) (parts, error)
	switch operation {
	case "BatchWriteItem":
		b.member, split = "UnprocessedItems", splitWrites
	case "BatchGetItem":
		b.member, split = "UnprocessedKeys", splitKeys
	default:
		return batch{}, fmt.Errorf("%q is not a batch", operation)
	}

	sent, kept := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	names := slices.Sorted(maps.Keys(tables))
	slices.Reverse(names) // The last entries are the first to be kept.
	for _, name := range names {
		p, err := split(tables[name], max(n, 0))
		if err != nil {
			return batch{}, fmt.Errorf("RequestItems of %q: %w", operation, err)
		}
		n -= p.n
		if p.sent != nil {
			sent[name] = p.sent
		}
		if p.kept != nil {
			kept[name] = p.kept
		}
	}
	var err error
	if len(kept) > 0 {
		if b.kept, err = json.Marshal(kept); err != nil {
			return batch{}, err
		}
	}
	if len(sent) > 0 {
		if request["RequestItems"], err = json.Marshal(sent); err != nil {
			return batch{}, err
		}
		b.sent, err = json.Marshal(request)
	}
	return b, err
}

// parts is one table's share of a batch in two parts, either of which may be
// missing. n entries are kept.
type parts struct {
	sent, kept json.RawMessage
	n          int
}

// splitWrites splits the writes of a table, a list.
func splitWrites(table json.RawMessage, n int) (parts, error) {
	return splitList(table, n, func(entries []json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(entries)
	})
}

// splitKeys splits the keys of a table. What else is said of the table, such as
// its projection, goes with both parts.
func splitKeys(table json.RawMessage, n int) (parts, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(table, &members); err != nil {
		return parts{}, err
	}
	return splitList(members["Keys"], n, func(entries []json.RawMessage) (json.RawMessage, error) {
		keys, err := json.Marshal(entries)
		if err != nil {
			return nil, err
		}
		with := maps.Clone(members)
		with["Keys"] = keys
		return json.Marshal(with)
	})
}

// splitList splits a list before its last n entries and makes each part that is
// not empty into a table's share.
func splitList(list json.RawMessage, n int, share func([]json.RawMessage) (json.RawMessage, error)) (parts, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return parts{}, err
	}
	n = min(n, len(entries))
	p := parts{n: n}
	var err error
	if sent := entries[:len(entries)-n]; len(sent) > 0 {
		if p.sent, err = share(sent); err != nil {
			return parts{}, err
		}
	}
	if kept := entries[len(entries)-n:]; len(kept) > 0 {
		p.kept, err = share(kept)
	}
	return p, err
}
