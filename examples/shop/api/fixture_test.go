package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/mail"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The sample users, and one more who is an admin.
const (
	ana   = "ana@example.com"
	bruno = "bruno@example.com"
	eva   = "eva@example.com"
)

var key = bytes.Repeat([]byte("k"), session.MinKey)

// app is the API behind a real server, with the sample data, on a table of its own.
type app struct {
	*httptest.Server
	shop   *store.Shop
	table  *table.Table
	faults *tabletest.Faults
	mails  mails
	tokens map[string]string // by e-mail
}

func newApp(t *testing.T) *app {
	t.Helper()
	return newAppWith(t, 0)
}

// newAppWith returns an app with a mail time. With zero, each response waits for its mail.
func newAppWith(t *testing.T, mailTime time.Duration) *app {
	t.Helper()
	a := &app{faults: &tabletest.Faults{}, tokens: map[string]string{}}
	a.table = tabletest.NewWith(t, tabletest.Client(t, a.faults.Install), store.Schema("Shop"), &table.Options{})
	a.shop = check.Must(store.New(a.table, 1))(t)
	check.OK(t, demo.Seed(t.Context(), a.shop))
	check.OK(t, demo.SignUp(t.Context(), a.shop, store.User{ID: "u-eva", Email: eva, Name: "Eva"}))
	check.Must(a.shop.SetRole(t.Context(), "command", eva, store.Admin))(t)
	sessions := check.Must(session.New([][]byte{key}, time.Now))(t)
	a.Server = httptest.NewServer(api.New(a.shop, sessions, api.Options{
		Mail: a.mails.send, MailTime: mailTime, Proxy: true, Log: slog.New(slog.DiscardHandler),
	}).Handler())
	t.Cleanup(a.Close)
	for _, email := range []string{ana, bruno, eva} {
		got := a.do(t, "", "POST", "/sessions", `{"email":"`+email+`","password":"`+demo.Password+`"}`)
		got.is(t, http.StatusCreated)
		a.tokens[email] = decode[struct{ Token string }](t, got).Token
	}
	return a
}

// mailTime is a time that a request does not take by itself. Tests need not wait for long.
const mailTime = 50 * time.Millisecond

// mails are those that were sent.
type mails struct {
	mu   sync.Mutex
	sent []mail.Mail
	fail func() error // instead of sending, unless it is nil
}

func (m *mails) send(_ context.Context, one mail.Mail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail()
	}
	m.sent = append(m.sent, one)
	return nil
}

// failWith lets each mail end as fail does.
func (m *mails) failWith(fail func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

// code returns the code of the last mail, which must be to an e-mail.
func (m *mails) code(t *testing.T, to string) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sent) == 0 || m.sent[len(m.sent)-1].To != to {
		t.Fatalf("mails %+v, want one to %s", m.sent, to)
	}
	_, after, _ := strings.Cut(m.sent[len(m.sent)-1].Text, "Your code is ")
	code, _, _ := strings.Cut(after, "\n")
	return code
}

// response is what came back.
type response struct {
	Status int
	Header http.Header
	Body   string
}

// do sends a request with the token of a user, empty for none.
func (a *app) do(t *testing.T, email, method, path, body string, header ...string) response {
	t.Helper()
	r := check.Must(http.NewRequestWithContext(t.Context(), method, a.URL+path, strings.NewReader(body)))(t)
	if email != "" {
		r.Header.Set("Authorization", "Bearer "+a.tokens[email])
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := a.Client().Do(r)
	if err != nil {
		t.Error(err) // it may be in a goroutine
		return response{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}

// is fails the test unless the response has the status and, if it is given, the code.
func (got response) is(t *testing.T, status int, code ...string) {
	t.Helper()
	if got.Status != status || len(code) > 0 && !strings.Contains(got.Body, `"code":"`+code[0]+`"`) {
		t.Errorf("%d %s, want %d %s", got.Status, got.Body, status, code)
	}
}

func decode[T any](t *testing.T, got response) (v T) {
	t.Helper()
	check.OK(t, json.Unmarshal([]byte(got.Body), &v))
	return v
}

// fill puts products into a cart.
func (a *app) fill(t *testing.T, email string, products ...string) {
	t.Helper()
	for _, p := range products {
		a.do(t, email, "POST", "/cart/items", `{"productId":"`+p+`","quantity":1}`).is(t, http.StatusNoContent)
	}
}

// cart returns the body of a request that orders the cart as it is.
func (a *app) cart(t *testing.T, email string) string {
	t.Helper()
	cart := decode[struct{ CartRevision string }](t, a.do(t, email, "GET", "/cart", ""))
	return `{"cartRevision":"` + cart.CartRevision + `"}`
}

// checkOut sends a request that orders a cart.
func (a *app) checkOut(t *testing.T, email, key, cart string) response {
	t.Helper()
	return a.do(t, email, "POST", "/orders", cart, "Idempotency-Key", key)
}

// order places an order and returns its path.
func (a *app) order(t *testing.T, email, key string) string {
	t.Helper()
	a.fill(t, email, "p-bowl")
	got := a.checkOut(t, email, key, a.cart(t, email))
	got.is(t, http.StatusCreated)
	return got.Header.Get("Location")
}

// consume changes the stock of the lamp, of which there are 3, to 1 and to 5, and gives the
// changes to the consumers of the stream.
func (a *app) consume(t *testing.T) {
	t.Helper()
	for _, more := range []int{-2, 4} {
		event := check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), a.table, table.Update(store.ProductKey("p-lamp"), expression.
			Add(expression.Name("stock"), expression.Value(more)).
			Set(expression.Name("changedBy"), expression.Value("u-ana")))))(t)
		for _, name := range setup.Consumers {
			router := check.Must(setup.Router(name, a.shop, slog.New(slog.DiscardHandler)))(t)
			check.Deliver(t, router, event)
		}
	}
}
