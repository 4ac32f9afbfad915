package probes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/internal/warm"
	"github.com/singletable/singletable/table"
)

// The repositories of the Parity Suite, and a fork that holds later states of some files.
const (
	parity = "paritysuite/dynamodb-conformance "
	nubo   = "nubo-db/dynamodb-conformance "
	fork   = "Ketlark/dynamodb-conformance "
)

// claims are probes of one source.
type claims struct {
	// source is a repository and a file of it, date when AWS responded so, as exactly as the
	// source says.
	source, date string
	// table is what the probes are about; by default payments.
	table  schema.Table
	probes []probe
}

// probe is a request that the library can make, and how DynamoDB responds to it.
type probe struct {
	id   string
	call func(ctx context.Context, t *table.Table) error
	aws  response
	want want
}

// response is a response of DynamoDB. The zero value accepts the request.
type response struct {
	code, message string
	// reasons are those of a cancelled transaction, one for each action.
	reasons []reason
	// body is the whole response, if more than the code matters.
	body string
}

// reason is why an action of a transaction was cancelled; None if it was not.
type reason struct {
	Code    string
	Message string          `json:",omitempty"`
	Item    json.RawMessage `json:",omitempty"`
}

// accepts is a response that takes the request.
var accepts = response{body: "{}"}

// refuses is the response of a ValidationException.
func refuses(message string) response { return fails("ValidationException", message) }

func fails(code, message string) response { return response{code: code, message: message} }

// cancels is the response to a transaction that is cancelled.
func cancels(reasons ...reason) response {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	return response{
		code:    "TransactionCanceledException",
		message: "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		reasons: reasons,
	}
}

// want is what is expected of the library.
type want struct {
	// is are what the error matches; empty means that there is none, unless a class is
	// expected.
	is    []error
	class table.Class
	// unsent means that no request is made.
	unsent bool
	// sends is a part of the request, as [text] writes it.
	sends string
	fails bool
}

// unsent expects that the call is refused before a request is made.
func unsent(is ...error) want {
	return want{is: is, class: table.Permanent, unsent: true, fails: true}
}

// returns expects an error of the response.
func returns(class table.Class, is ...error) want { return want{is: is, class: class, fails: true} }

// sends expects that the request is made, with this in it.
func sends(text string) want { return want{sends: text} }

// warmed are the tables of all probes.
var warmed warm.Tables

func TestMain(m *testing.M) { warm.Main(m, &warmed) }

func TestProbes(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, c := range all() {
		if c.source == "" || !regexp.MustCompile(`^202\d-\d\d(-\d\d)?$`).MatchString(c.date) {
			t.Errorf("source %q, date %q", c.source, c.date)
		}
		for _, p := range c.probes {
			if ids[p.id] {
				t.Errorf("probe %s stands twice", p.id)
			}
			ids[p.id] = true
			t.Run(p.id, func(t *testing.T) {
				t.Parallel()
				p.run(t, c.table)
			})
		}
	}
}

func (p probe) run(t *testing.T, s schema.Table) {
	if s.Name == "" {
		s = payments
	}
	service := &service{response: p.aws}
	db, err := warmed.New(service.client(), s, &table.Options{MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	err = p.call(t.Context(), db)
	switch {
	case (err != nil) != p.want.fails:
		t.Fatalf("error %v, DynamoDB: %+v", err, p.aws)
	case p.want.unsent && len(service.requests) > 0:
		t.Errorf("sent, and DynamoDB refuses it: %s", service.requests)
	case !p.want.unsent && len(service.requests) == 0:
		t.Errorf("not sent: %v", err)
	case table.Classify(err) != p.want.class:
		t.Errorf("%v is %v, want %v", err, table.Classify(err), p.want.class)
	case !strings.Contains(strings.Join(service.requests, "\n"), p.want.sends):
		t.Errorf("sent %s, want %s", service.requests, p.want.sends)
	}
	for _, target := range p.want.is {
		if !errors.Is(err, target) {
			t.Errorf("error %v is not %v", err, target)
		}
	}
}

// service responds to every request as AWS did. Large batches send several at once.
type service struct {
	response response
	mu       sync.Mutex
	requests []string
	bytes    int // of the largest request
}

func (s *service) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-west-2",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
		HTTPClient:       s,
		RetryMaxAttempts: 1,
		BaseEndpoint:     aws.String("http://dynamodb"),
	})
}

// Do records a request and returns the response.
func (s *service) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	request, err := text(body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.bytes, s.requests = max(s.bytes, len(body)), append(s.requests, operation+" "+request)
	s.mu.Unlock()
	status, out := http.StatusOK, []byte(s.response.body)
	if s.response.code != "" {
		status = http.StatusBadRequest
		members := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + s.response.code, "message": s.response.message}
		if s.response.reasons != nil {
			members["CancellationReasons"] = s.response.reasons
		}
		if s.response.body != "" {
			members["Item"] = json.RawMessage(s.response.body)
		}
		if out, err = json.Marshal(members); err != nil {
			return nil, err
		}
	}
	h := http.Header{}
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(out)), 10))
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(bytes.NewReader(out)), Request: r}, nil
}

// text returns a request's JSON with the names and values of its expressions in their
// places.
func text(body []byte) (string, error) {
	var request any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&request); err != nil {
		return "", err
	}
	resolve(request)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(request)
	return strings.TrimSpace(b.String()), err
}

var placeholder = regexp.MustCompile(`[#:]\w+`)

// resolve writes names and values into the expressions of a request and of its parts.
func resolve(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			resolve(e)
		}
	case map[string]any:
		names, _ := v["ExpressionAttributeNames"].(map[string]any)
		values, _ := v["ExpressionAttributeValues"].(map[string]any)
		for _, member := range slices.Sorted(maps.Keys(v)) {
			expression, is := v[member].(string)
			if !is || !strings.HasSuffix(member, "Expression") {
				resolve(v[member])
				continue
			}
			v[member] = strings.TrimSpace(placeholder.ReplaceAllStringFunc(strings.ReplaceAll(expression, "\n", " "), func(p string) string {
				if name, has := names[p]; has {
					return name.(string)
				}
				return short(values[p])
			}))
		}
		delete(v, "ExpressionAttributeNames")
		delete(v, "ExpressionAttributeValues")
	}
}

// short writes a value as expressions in a text do: 'x', 5, {"SS":["a"]}.
func short(v any) string {
	m, _ := v.(map[string]any)
	if s, is := m["S"].(string); is {
		return "'" + s + "'"
	}
	if n, is := m["N"].(string); is {
		return n
	}
	b, _ := json.Marshal(v)
	return strings.ReplaceAll(string(b), `"`, "'")
}

func (r response) String() string {
	if r.code == "" {
		return "accepts"
	}
	return fmt.Sprintf("%s: %s", r.code, r.message)
}
