package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/paginate"
)

// hostile has what a terminal would obey or hide: an escape sequence, DEL, a C1
// control, a carriage return, bidirectional controls, and characters without width
// inside and outside the basic plane.
const hostile = "a\x1b]0;title\x07\x7f\u009b31m\rb\u202ec\u2066d\u200be\U000e0041"

// clean fails the test if the output has anything that is not printable.
func clean(t *testing.T, got result) {
	t.Helper()
	for name, text := range map[string]string{"standard output": got.stdout, "standard error": got.stderr} {
		if !utf8.ValidString(text) {
			t.Errorf("%s is not UTF-8: %q", name, text)
		}
		for _, r := range text {
			if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
				t.Errorf("%q on %s: %q", r, name, text)
				break
			}
		}
	}
}

// TestHostileText gives each command the text wherever it takes one.
func TestHostileText(t *testing.T) {
	t.Parallel()
	spec := save(t, hostile+".json", `{"`+hostile+"\": 1}")
	position := paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: hostile}}}
	cursor, err := paginate.Insecure().Seal(position, nil)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		stdin string
		args  []string
	}{
		{"", []string{hostile}},
		{"", []string{"help", hostile}},
		{"", []string{"explain", "-" + hostile}},
		{"", []string{"explain", "-json=" + hostile, "x"}},
		{"", []string{"explain", hostile, hostile}},
		{"", []string{"explain", "-json", hostile, hostile}},
		{"", []string{"cursor", cursor}},
		{"", []string{"cursor", "-json", cursor}},
		{"", []string{"cursor", "-ttl", hostile, "x"}},
		{"", []string{"cursor", "-keys", hostile, "x"}},
		{"", []string{"cursor", "-keys", spec, "x"}},
		{"", []string{"verify", hostile}},
		{"", []string{"verify", spec}},
		{hostile, []string{"verify", "-"}},
		{`{` + string(quoted) + `: 1}`, []string{"verify", "-"}},
		{`{` + string(quoted) + `: 1, ` + string(quoted) + `: 1}`, []string{"verify", "-"}},
		{`{"name": ` + string(quoted) + `}`, []string{"verify", "-"}},
		{`{"name": "AppCore", "pk": ` + string(quoted) + `, "ttl": ` + string(quoted) + `}`, []string{"verify", "-"}},
		{`{"name": "AppCore"}`, []string{"verify", "-table", hostile, "-"}},
		{"", []string{"plan", hostile}},
		{`{"name": ` + string(quoted) + `}`, []string{"plan", "-"}},
		{"", []string{"ensure", hostile}},
		{"", []string{"ensure", "-wait", hostile, "-"}},
		{"", []string{"schema", hostile}},
		{"", []string{"engine", hostile}},
		{"", []string{"engine", "-port", hostile}},
		{"", []string{"engine", "-" + hostile}},
	} {
		t.Run(fmt.Sprintf("%.40q", tt.args), func(t *testing.T) {
			t.Parallel()
			clean(t, run(t, nil, tt.stdin, tt.args...))
		})
	}
}

// TestHostileEndpoint verifies against an endpoint that puts the text into every
// place of a response that it can.
func TestHostileEndpoint(t *testing.T) {
	quoted, err := json.Marshal(hostile + "\nsingletable verify: forged")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		verify int
		plan   int
	}{
		"error":     {http.StatusBadRequest, `{"__type": "AccessDeniedException", "message": TEXT}`, exitTrouble, exitTrouble},
		"code":      {http.StatusBadRequest, `{"__type": TEXT, "message": "no"}`, exitTrouble, exitTrouble},
		"not found": {http.StatusBadRequest, `{"__type": "ResourceNotFoundException", "message": TEXT}`, exitNo, exitNo},
		"no JSON":   {http.StatusOK, hostile, exitTrouble, exitTrouble},
		"table": {http.StatusOK, `{
			"Table": {
				"KeySchema": [{"KeyType": TEXT, "AttributeName": TEXT}],
				"AttributeDefinitions": [{"AttributeName": TEXT, "AttributeType": TEXT}],
				"GlobalSecondaryIndexes": [{"IndexName": "GSI1", "Projection": {"ProjectionType": TEXT}}]
			},
			"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": TEXT}
		}`, exitNo, exitManual},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", "not a date\u009b31m")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, strings.ReplaceAll(tt.body, "TEXT", string(quoted)))
			}))
			defer server.Close()
			t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", server.URL)
			check := func(code int, got result) {
				t.Helper()
				if got.code != code {
					t.Errorf("exit %d, want %d", got.code, code)
				}
				clean(t, got)
				if strings.Contains(got.stdout+got.stderr, "\nsingletable verify: forged") {
					t.Errorf("a line of the endpoint looks like one of the program: %+v", got)
				}
				if !strings.Contains(got.stderr, "failed to parse response Date") {
					t.Errorf("standard error lacks the SDK's warning: %s", got.stderr)
				}
			}
			for _, asJSON := range []string{"-json=false", "-json"} {
				check(tt.verify, run(t, nil, encode(t, appCore()), "verify", asJSON, "-"))
				check(tt.plan, run(t, nil, encode(t, appCore()), "plan", asJSON, "-"))
			}
			check(exitTrouble, run(t, nil, "", "schema", "AppCore"))
		})
	}
}

// FuzzPrintJSON prints arbitrary text as JSON. The value stays, and no character
// of it reaches the terminal unless it is printable.
func FuzzPrintJSON(f *testing.F) {
	f.Add(hostile)
	f.Add("\\u001b \\\x1b \U0010ffff \ufffd <&> \u2028\n\t")
	f.Add("\xff\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		var out strings.Builder
		p := program{stdout: escaper{&out}}
		if err := p.printJSON(map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		clean(t, result{stdout: out.String()})
		var got map[string]string
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		text = string([]rune(text)) // U+FFFD for each byte that is not UTF-8, as package json does.
		if diff := cmp.Diff(map[string]string{text: text}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzVerify reads arbitrary schema files and names. Verify always ends, and what
// it prints is printable.
func FuzzVerify(f *testing.F) {
	f.Add(`{"name": "a"}`, hostile)
	f.Add(`{"ſk": 1, "sk": 2}`, "")
	f.Add(strings.Repeat("[", 20), "AppCore")
	f.Fuzz(func(t *testing.T, spec, name string) {
		var stdout, stderr strings.Builder
		p := program{stdin: strings.NewReader(spec), stdout: &stdout, stderr: &stderr}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // Nothing is sent for a valid schema.
		code := p.run(ctx, []string{"verify", "-table=" + name, "-"})
		clean(t, result{stdout: stdout.String(), stderr: stderr.String()})
		if code != exitTrouble {
			t.Errorf("exit %d", code)
		}
	})
}
