package api_test

import (
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

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	ana   = "u-123"
	bruno = "u-456"
	staff = "u-staff" // in the group backoffice
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
	log     *check.Log
}

// newApp returns the application on a new table of the engine that all tests
// share.
func newApp(tb testing.TB) *app {
	tb.Helper()
	return newAppWith(tb, nil)
}

// newAppWith returns an application with options.
func newAppWith(tb testing.TB, options *api.Options) *app {
	tb.Helper()
	a := &app{faults: &tabletest.Faults{}, log: &check.Log{}}
	tbl := tabletest.NewWith(tb, tabletest.Client(tb, a.faults.Install), core.Schema("any"), tableOptions(tb))
	a.service = check.Must(core.New(tbl, nil))(tb)
	a.Server = httptest.NewServer(newAPI(tb, a.service, a.log, options).Handler(nil))
	tb.Cleanup(a.Close)
	return a
}

// serve returns what a service, a verifier and lists of the test's own make of a server.
func serve(tb testing.TB, service *core.Service, keys api.CursorKeys, by auth.Authenticator) *app {
	tb.Helper()
	a := &app{service: service, log: &check.Log{}}
	a.Server = httptest.NewServer(api.New(service, keys, by, newLogger(a.log), nil).Handler(nil))
	tb.Cleanup(a.Close)
	return a
}

func tableOptions(tb testing.TB) *table.Options {
	tb.Helper()
	codec := check.Must(paginate.New([]paginate.Key{cursorKey}, nil))(tb)
	return &table.Options{Cursors: codec, Observe: httpapi.Observe}
}

func newAPI(tb testing.TB, service *core.Service, log io.Writer, options *api.Options) *api.API {
	tb.Helper()
	return api.New(service, always, verifier(tb), newLogger(log), options)
}

func verifier(tb testing.TB) *auth.Verifier {
	tb.Helper()
	return check.Must(auth.NewCognito(check.Must(issuer())(tb).Config()))(tb)
}

// always is that of a service whose keys do not change.
func always(context.Context) error { return nil }

func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

// request is a request to be made. User is whose token it carries; empty for
// none. See [token] for the groups.
type request struct {
	Method, Path, User, Key, Body string
	Header                        http.Header
}

// response is what came back.
type response struct {
	Status int
	Header http.Header
	Body   string
}

func (a *app) do(tb testing.TB, r request) response {
	tb.Helper()
	req := check.Must(http.NewRequestWithContext(tb.Context(), r.Method, a.URL+r.Path, strings.NewReader(r.Body)))(tb)
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

func (a *app) send(tb testing.TB, req *http.Request) response {
	tb.Helper()
	resp, err := a.Client().Do(req)
	if err != nil {
		tb.Error(err)
		return response{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Error(err)
	}
	if sniff := resp.Header.Get("X-Content-Type-Options"); sniff != "nosniff" {
		tb.Errorf("%s %s: X-Content-Type-Options is %q", req.Method, req.URL, sniff)
	}
	conforms(tb, req, resp, body)
	return response{resp.StatusCode, resp.Header, string(body)}
}

// is fails the test unless the response has the status, and the body if it is given.
func (got response) is(tb testing.TB, status int, body ...string) {
	tb.Helper()
	if got.Status != status || len(body) > 0 && got.Body != body[0] {
		tb.Errorf("%d %s, want %d %s", got.Status, got.Body, status, body)
	}
}

// refused fails the test unless the response has the status and the error code.
func (got response) refused(tb testing.TB, status int, code string, about ...any) {
	tb.Helper()
	if is := decode[failure](tb, got.Body).Error.Code; got.Status != status || is != code {
		tb.Errorf("%.100v: status %d and code %q, want %d and %q", about, got.Status, is, status, code)
	}
}

// lists fails the test unless the user's list has that many items.
func (a *app) lists(tb testing.TB, user, path string, want int) {
	tb.Helper()
	check.Equal(tb, "length of "+path, len(decode[page[any]](tb, a.get(tb, user, path).Body).Items), want)
}

func (a *app) get(tb testing.TB, user, path string) response {
	tb.Helper()
	return a.do(tb, request{Method: http.MethodGet, Path: path, User: user})
}

func (a *app) post(tb testing.TB, user, key, body string) response {
	tb.Helper()
	return a.do(tb, request{Method: http.MethodPost, Path: "/transactions", User: user, Key: key, Body: body})
}

// create makes a transaction and returns its id.
func (a *app) create(tb testing.TB, user, key string) string {
	tb.Helper()
	got := a.post(tb, user, key, eur)
	got.is(tb, http.StatusCreated)
	return decode[transaction](tb, got.Body).ID
}

// token returns a token for a user. The staff is in the group backoffice. The others
// are auditors, so that tests of all lists can be alike.
func token(tb testing.TB, user string) string {
	tb.Helper()
	i := check.Must(issuer())(tb)
	group := api.Auditor
	if user == staff {
		group = api.BackOffice
	}
	return check.Must(i.Token(user, group))(tb)
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
		Message   string `json:"message"`
		Read      bool   `json:"read"`
		CreatedAt string `json:"createdAt"`
	}
	page[T any] struct {
		Items   []T    `json:"items"`
		LastKey string `json:"lastKey"`
		PrevKey string `json:"prevKey"`
	}
	failure struct {
		Error struct{ Code, Message string } `json:"error"`
	}
)

// decode reads a response strictly: a field that clients do not know is a fault.
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
			got.is(tb, http.StatusOK)
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
