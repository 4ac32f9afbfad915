package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/mail"
	"github.com/singletable/singletable/examples/shop/session"
)

// user is whom a session is of.
type user struct{ UserID, Email, Role string }

// session keeps the token of a response, under a name.
func (a *app) session(t *testing.T, name string, got response) user {
	t.Helper()
	got.is(t, http.StatusCreated)
	s := decode[struct {
		Token string
		User  user
	}](t, got)
	a.tokens[name] = s.Token
	return s.User
}

func TestANewPasswordByMailEndsTheSessions(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.do(t, "", "POST", "/codes", `{"email":"Ana@example.com"}`).is(t, http.StatusAccepted)
	request := `{"code":"` + a.mails.code(t, ana) + `","password":"secret-2"}`
	a.do(t, ana, "GET", "/cart", "").is(t, http.StatusOK)
	a.session(t, "by mail", a.do(t, "", "POST", "/passwords", request))
	a.do(t, ana, "GET", "/cart", "").is(t, http.StatusUnauthorized, "unauthorized")
	a.do(t, "by mail", "GET", "/cart", "").is(t, http.StatusOK)
	a.do(t, "", "POST", "/passwords", request).is(t, http.StatusBadRequest, "invalid_code")
	a.do(t, "", "POST", "/sessions", `{"email":"ana@example.com","password":"`+demo.Password+`"}`).is(t, http.StatusUnauthorized, "login_failed")
	a.session(t, ana, a.do(t, "", "POST", "/sessions", `{"email":"ana@example.com","password":"secret-2"}`))
}

func TestARoleCountsAtOnce(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	check.Must(a.shop.SetRole(t.Context(), "command", ana, "admin"))(t)
	a.do(t, ana, "GET", "/admin/products", "").is(t, http.StatusOK)
	check.Must(a.shop.SetRole(t.Context(), "command", ana, "customer"))(t)
	a.do(t, ana, "GET", "/admin/products", "").is(t, http.StatusForbidden, "insufficient_role")
}

// Whether there is a user with an e-mail shows neither in a response nor in its time, also
// if the mail is not sent, or there were too many.
func TestNobodyLearnsWhoHasAnEmail(t *testing.T) {
	t.Parallel()
	a := newAppWith(t, mailTime)
	ask := func(path, email string) string {
		t.Helper()
		body := `{"email":"` + email + `"}`
		if path == "/users" {
			body = `{"email":"` + email + `","name":"Mallory","password":"mallorys"}`
		}
		start := time.Now()
		got := a.do(t, "", "POST", path, body)
		if took := time.Since(start); took < mailTime {
			t.Errorf("%s %s: took %v", path, email, took)
		}
		got.Header.Del("X-Request-Id")
		got.Header.Del("Date")
		return fmt.Sprint(got)
	}
	for range 4 {
		for _, path := range []string{"/users", "/codes"} {
			of := ask(path, ana)
			check.Equal(t, path, ask(path, fmt.Sprint("new-", len(a.tokens), path[1:], "@example.com")), of)
			check.Equal(t, path, ask(path, "none@example.com"), of)
		}
	}
	a.mails.failWith(func() error { return errors.New("no mails today") })
	check.Equal(t, "without mails", ask("/codes", bruno), ask("/codes", "none@example.com"))
	for _, login := range []string{ana, "new-3users@example.com", "none@example.com"} { // verified, not verified, none
		a.do(t, "", "POST", "/sessions", `{"email":"`+login+`","password":"mallorys"}`).is(t, http.StatusUnauthorized, "login_failed")
	}
}

// Each of these mails waits until the end of the test, or fails. The responses come
// all the same, and are those for an unknown e-mail.
func TestAMailThatHangsOrFailsDoesNotShow(t *testing.T) {
	t.Parallel()
	a := newAppWith(t, mailTime)
	ask := func(path, email string) string {
		t.Helper()
		got := a.do(t, "", "POST", path, `{"email":"`+email+`"`+map[string]string{"/users": `,"name":"Mallory","password":"mallorys"`}[path]+`}`)
		got.is(t, http.StatusAccepted)
		got.Header.Del("X-Request-Id")
		got.Header.Del("Date")
		return fmt.Sprint(got)
	}
	want := ask("/codes", "none@example.com")
	a.mails.failWith(func() error { return errors.New("throttled") })
	check.Equal(t, "a mail that fails", ask("/codes", ana), want)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	a.mails.failWith(func() error { <-end; return nil })
	check.Equal(t, "a mail that hangs", ask("/codes", ana), want)
	check.Equal(t, "a sign-up whose mail hangs", ask("/users", bruno), want)
	check.Equal(t, "a new user whose mail hangs", ask("/users", "carla@example.com"), want)
}

// A mail has a deadline and does not end with its request. One that is late is in the log.
func TestAMailIsNotCanceledByItsClient(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	var log check.Log
	gone, cancel := context.WithCancel(t.Context())
	send := func(ctx context.Context, _ mail.Mail) error {
		cancel()
		if _, ends := ctx.Deadline(); !ends || ctx.Err() != nil {
			t.Errorf("a mail has a deadline: %t, and ends with its request: %v", ends, ctx.Err())
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	sessions := check.Must(session.New([][]byte{key}, time.Now))(t)
	handler := api.New(a.shop, sessions, api.Options{Mail: send, MailTime: 20 * mailTime, Log: slog.New(slog.NewTextHandler(&log, nil))}).Handler()
	got := httptest.NewRecorder()
	handler.ServeHTTP(got, httptest.NewRequestWithContext(gone, "POST", "/codes", strings.NewReader(`{"email":"`+ana+`"}`)))
	check.Equal(t, "status", got.Code, http.StatusAccepted)
	check.Equal(t, "the late mail is in the log", strings.Count(log.String(), "a mail was not sent"), 1)
}

func TestOf32SignUpsOverHTTPOneIsAUserAndNoneIsToldSo(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	check.Together(32, func(i int) {
		a.do(t, "", "POST", "/users", fmt.Sprintf(`{"email":"carla@example.com","name":"Carla %d","password":"secret-%d"}`, i, i)).is(t, http.StatusAccepted)
	})
	check.Equal(t, "mails", len(a.mails.sent), 5) // the limit
	code, users := a.mails.code(t, "carla@example.com"), 0
	for i := range 32 {
		login := fmt.Sprintf(`{"email":"carla@example.com","password":"secret-%d","code":%q}`, i, code)
		if a.do(t, "", "POST", "/sessions", login, "X-Forwarded-For", fmt.Sprint("192.0.2.", i)).Status == http.StatusCreated {
			users++
		}
	}
	check.Equal(t, "passwords that log in", users, 1)
}

// Each client has limits of its own, by the address that the proxy has seen.
func TestAClientHasALimit(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	attempt := func(email, forwarded string) response {
		t.Helper()
		return a.do(t, "", "POST", "/sessions", `{"email":"`+email+`","password":"guessed-1"}`, "X-Forwarded-For", forwarded)
	}
	for i := range 10 {
		attempt(ana, fmt.Sprintf("198.51.100.%d, 203.0.113.7", i)).is(t, 401, "login_failed")
		attempt(ana, fmt.Sprintf("2001:db8:0:1::%d", i)).is(t, 401, "login_failed")
	}
	refused := attempt(ana, "203.0.113.7")
	refused.is(t, 429, "too_many_attempts")
	check.Equal(t, "Retry-After", refused.Header.Get("Retry-After"), "900")
	attempt(ana, "2001:db8:0:1:2:3:4:5").is(t, 429, "too_many_attempts")
	attempt(ana, "203.0.113.8").is(t, 401, "login_failed")
	for i := range 89 {
		attempt(fmt.Sprintf("u-%d@example.com", i), "203.0.113.7").is(t, 401, "login_failed")
	}
	for _, path := range []string{"/sessions", "/users", "/codes", "/passwords"} {
		body := map[string]string{
			"/sessions": `{"email":"bruno@example.com","password":"guessed-1"}`, "/codes": `{"email":"bruno@example.com"}`,
			"/users": `{"email":"d@example.com","name":"D","password":"secret-1"}`, "/passwords": `{"code":"x","password":"secret-1"}`,
		}[path]
		a.do(t, "", "POST", path, body, "X-Forwarded-For", "203.0.113.7").is(t, 429, "too_many_attempts")
	}
}

func TestAdminsSeeAuditsAndLowStock(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.consume(t)
	query := "type=PRODUCT&id=p-lamp"
	for range 2 {
		got := a.do(t, eva, "GET", "/admin/audits?limit=1&"+query, "")
		first := decode[struct {
			Items   []struct{ At string }
			LastKey string
		}](t, got)
		if !strings.Contains(got.Body, `{"type":"PRODUCT","id":"p-lamp","kind":"modify","by":"u-ana","at":"`) ||
			!strings.Contains(got.Body, `"changed":["stock"],"old":{"stock":3},"new":{"stock":1}}`) {
			t.Fatalf("%s: %s", query, got.Body)
		}
		got = a.do(t, eva, "GET", "/admin/audits?limit=1&"+query+"&lastKey="+first.LastKey, "")
		if !strings.Contains(got.Body, `"old":{"stock":1},"new":{"stock":5}`) {
			t.Errorf("%s: the next page %s", query, got.Body)
		}
		query = "day=" + first.Items[0].At[:len(time.DateOnly)]
	}
	got := a.do(t, eva, "GET", "/admin/low-stock?limit=1", "")
	if !strings.Contains(got.Body, `{"items":[{"productId":"p-lamp","name":"Desk lamp","stock":1,"at":"`) {
		t.Errorf("low stock: %s", got.Body)
	}
}
