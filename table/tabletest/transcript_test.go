package tabletest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTranscript(t *testing.T) {
	t.Parallel()
	request := func(operation, body string) tabletest.Request {
		return tabletest.Request{Operation: operation, Body: json.RawMessage(body)}
	}
	for name, tt := range map[string]struct {
		requests []tabletest.Request
		replacer *strings.Replacer
		want     string
	}{
		"none": {},
		"members in order": {
			requests: []tabletest.Request{request("Query", `{"TableName":"T-1","Limit":12345678901234567890,"Key":"#a >= :b"}`)},
			want: `{
  "Query": {
    "Key": "#a >= :b",
    "Limit": 12345678901234567890,
    "TableName": "T-1"
  }
}
`,
		},
		"replaced": {
			requests: []tabletest.Request{
				request("TransactWriteItems", `{"ClientRequestToken":"ABC","TableName":"T-1"}`),
				request("GetItem", `{"TableName":"T-1"}`),
			},
			replacer: strings.NewReplacer("T-1", "Orders"),
			want: `{
  "TransactWriteItems": {
    "ClientRequestToken": "TOKEN",
    "TableName": "Orders"
  }
}
{
  "GetItem": {
    "TableName": "Orders"
  }
}
`,
		},
		"not JSON": {
			requests: []tabletest.Request{request("GetItem", `{"half":`), request("GetItem", "")},
			want: `{
  "GetItem": "{\"half\":"
}
{
  "GetItem": ""
}
`,
		},
	} {
		expect.Equal(t, name, tabletest.Transcript(tt.requests, tt.replacer), tt.want)
	}
}

// FuzzTranscript shows that any body becomes JSON, and that the transcript of it is
// the same again.
func FuzzTranscript(f *testing.F) {
	for _, body := range []string{`{"A":1e400,"B":"\u003c"}`, `{"ClientRequestToken":"x"}`, `[`, "", "\xff", `{"a":{"ClientRequestToken":"x"}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text := tabletest.Transcript([]tabletest.Request{{Operation: "Query", Body: body}}, nil)
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again := got["Query"]
		if again[0] == '"' {
			return // it was a text, or no JSON and became one
		}
		if twice := tabletest.Transcript([]tabletest.Request{{Operation: "Query", Body: again}}, nil); twice != text {
			t.Errorf("%q, then %q", text, twice)
		}
	})
}
