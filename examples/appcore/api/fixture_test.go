package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	ana   = "u-123"
	bruno = "u-456"
	eur   = `{"amount":500,"currency":"EUR"}`
)

// issuer is the user pool of all tests.
var issuer = sync.OnceValues(func() (*auth.Issuer, error) { return auth.NewIssuer(nil) })

// cursorKey is one for all tests, so that a server that is started anew opens
// the tokens of the one before.
var cursorKey = paginate.NewKey()

// app is the API behind a real server, on a table of its own.
type app struct {
	*httptest.Server
	service *core.Service
	faults  *tabletest.Faults
	log     *logs
}

// newApp returns the application on a new table of the engine that all tests
// share.
func newApp(tb testing.TB) *app {
	tb.Helper()
	a := &app{faults: &tabletest.Faults{}}
	tbl := tabletest.NewWith(tb, tabletest.Client(tb, a.faults.Install), core.Schema("any"), tableOptions(tb))
	a.serve(tb, tbl)
	return a
}

func tableOptions(tb testing.TB) *table.Options {
	tb.Helper()
	codec, err := paginate.New([]paginate.Key{cursorKey}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &table.Options{Cursors: codec, Observe: api.Observe}
}

// startApp returns the application on an existing table.
func startApp(tb testing.TB, client *dynamodb.Client, schema table.Schema) *app {
	tb.Helper()
	tbl, err := table.New(client, schema, tableOptions(tb))
	if err != nil {
		tb.Fatal(err)
	}
	a := &app{faults: &tabletest.Faults{}}
	a.serve(tb, tbl)
	return a
}

func (a *app) serve(tb testing.TB, tbl *table.Table) {
	tb.Helper()
	var err error
	if a.service, err = core.New(tbl); err != nil {
		tb.Fatal(err)
	}
	a.log = &logs{}
	a.Server = httptest.NewServer(newAPI(tb, a.service, a.log).Handler(nil))
	tb.Cleanup(a.Close)
}

func newAPI(tb testing.TB, service *core.Service, log io.Writer) *api.API {
	tb.Helper()
	i, err := issuer()
	if err != nil {
		tb.Fatal(err)
	}
	verifier, err := auth.NewCognito(i.Config())
	if err != nil {
		tb.Fatal(err)
	}
	return api.New(service, always(service), verifier, newLogger(log))
}

// always returns the service for lists.
func always(service *core.Service) api.Lists {
	return func(context.Context) (*core.Service, error) { return service, nil }
}

func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

// request is a request to be made. User is whose token it carries; empty for
// none.
type request struct {
	Method, Path, User, Key, Body string
	Header                        http.Header
}

// answer is what came back.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

func (a *app) do(tb testing.TB, r request) answer {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), r.Method, a.URL+r.Path, strings.NewReader(r.Body))
	if err != nil {
		tb.Fatal(err)
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if r.User != "" {
		req.Header.Set("Authorization", "Bearer "+token(tb, r.User))
	}
	if r.Key != "" {
		req.Header.Set("Idempotency-Key", r.Key)
	}
	return a.send(tb, req)
}

func (a *app) send(tb testing.TB, req *http.Request) answer {
	tb.Helper()
	resp, err := a.Client().Do(req)
	if err != nil {
		tb.Error(err)
		return answer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Error(err)
	}
	if sniff := resp.Header.Get("X-Content-Type-Options"); sniff != "nosniff" {
		tb.Errorf("%s %s: X-Content-Type-Options is %q", req.Method, req.URL, sniff)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func (a *app) get(tb testing.TB, user, path string) answer {
	tb.Helper()
	return a.do(tb, request{Method: http.MethodGet, Path: path, User: user})
}

func (a *app) post(tb testing.TB, user, key, body string) answer {
	tb.Helper()
	return a.do(tb, request{Method: http.MethodPost, Path: "/transactions", User: user, Key: key, Body: body})
}

// create makes a transaction and returns its id.
func (a *app) create(tb testing.TB, user, key string) string {
	tb.Helper()
	got := a.post(tb, user, key, eur)
	if got.Status != http.StatusCreated {
		tb.Fatalf("status %d: %s", got.Status, got.Body)
	}
	return decode[transaction](tb, got.Body).ID
}

func token(tb testing.TB, user string) string {
	tb.Helper()
	i, err := issuer()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := i.Token(user)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// What clients see.
type (
	transaction struct {
		ID        string `json:"txId"`
		User      string `json:"userId"`
		Amount    int64  `json:"amount"`
		Currency  string `json:"currency"`
		Status    string `json:"status"`
		Note      string `json:"note"`
		CreatedAt string `json:"createdAt"`
	}
	notification struct {
		ID        string `json:"notifId"`
		User      string `json:"userId"`
		TxID      string `json:"txId"`
		Text      string `json:"text"`
		CreatedAt string `json:"createdAt"`
	}
	page[T any] struct {
		Items   []T    `json:"items"`
		LastKey string `json:"lastKey"`
	}
	failure struct {
		Error struct{ Code, Message string } `json:"error"`
	}
)

// decode reads an answer strictly: a field that clients do not know is a fault.
func decode[T any](tb testing.TB, body string) (v T) {
	tb.Helper()
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		tb.Fatalf("%v: %s", err, body)
	}
	return v
}

// walk follows a list from page to page to its end. The path has a query.
func walk[T any](tb testing.TB, a *app, user, path string) iter.Seq[T] {
	return func(yield func(T) bool) {
		for next := path; ; {
			got := a.get(tb, user, next)
			if got.Status != http.StatusOK {
				tb.Fatalf("%s: status %d: %s", next, got.Status, got.Body)
			}
			p := decode[page[T]](tb, got.Body)
			for _, v := range p.Items {
				if !yield(v) {
					return
				}
			}
			if p.LastKey == "" {
				return
			}
			next = path + "&lastKey=" + url.QueryEscape(p.LastKey)
		}
	}
}

// logs keeps what was logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
