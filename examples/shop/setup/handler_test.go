package setup_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	before = "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo="
	after  = "0m2Yt6JqkP3xJ1uJ0h5mS8q7Z1nQe3k4b6V9cW2yXzA="
)

// function is the API as a function has it, with a secret and a clock of the test's.
type function struct {
	http.Handler
	secrets *secretstest.Store
	now     time.Time
	log     bytes.Buffer
}

func start(t *testing.T) *function {
	t.Helper()
	f := &function{secrets: secretstest.New("shop-key", before+"\n"), now: time.Now()}
	t.Cleanup(f.secrets.Close)
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, store.Schema("any"), nil)
	check.OK(t, demo.Seed(t.Context(), check.Must(store.New(tbl, demo.Rounds))(t)))
	f.Handler = check.Must(setup.Handler(t.Context(), client, tbl.Schema().Name, f.secrets.Client(), "shop-key", nil, secret.Options{
		Now: func() time.Time { return f.now },
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	}))(t)
	return f
}

// do sends a request, and fails the test unless the status is right.
func (f *function) do(t *testing.T, token, method, path, body string, status int) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	if w.Code != status {
		t.Errorf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, status)
	}
	return w
}

// session logs in, and reads the first page of a list.
func (f *function) session(t *testing.T) (token, lastKey string) {
	t.Helper()
	var s struct{ Token, LastKey string }
	login := f.do(t, "", "POST", "/sessions", `{"email":"`+demo.Users[0].Email+`","password":"`+demo.Password+`"}`, http.StatusCreated)
	page := f.do(t, "", "GET", "/categories/home/products?limit=1", "", http.StatusOK)
	check.OK(t, json.Unmarshal(login.Body.Bytes(), &s), json.Unmarshal(page.Body.Bytes(), &s))
	return s.Token, s.LastKey
}

// use uses what session has returned.
func (f *function) use(t *testing.T, token, lastKey string, ofToken, ofPage int) {
	t.Helper()
	f.do(t, token, "GET", "/cart", "", ofToken)
	f.do(t, "", "GET", "/categories/home/products?lastKey="+url.QueryEscape(lastKey), "", ofPage)
}

// The steps of deploy.sh keys.
func TestTheKeyIsRotatedWithoutADeployment(t *testing.T) {
	t.Parallel()
	f := start(t)
	token, lastKey := f.session(t)
	for _, text := range []string{before + "," + after, after + "," + before} {
		f.secrets.Set(text)
		f.now = f.now.Add(secret.TTL)
		f.use(t, token, lastKey, http.StatusOK, http.StatusOK)
	}
	newToken, newKey := f.session(t)
	f.secrets.Set(after)
	reads := f.secrets.Reads()
	f.now = f.now.Add(secret.TTL - 1)
	f.use(t, token, lastKey, http.StatusOK, http.StatusOK)
	check.Equal(t, "reads before the TTL", f.secrets.Reads(), reads)
	f.now = f.now.Add(1)
	f.use(t, token, lastKey, http.StatusUnauthorized, http.StatusBadRequest)
	f.use(t, newToken, newKey, http.StatusOK, http.StatusOK)
}

func TestTheKeyAtHandServesWhileTheSecretCannotBeRead(t *testing.T) {
	t.Parallel()
	f := start(t)
	token, lastKey := f.session(t)
	f.secrets.Set("hunter2")
	f.now = f.now.Add(secret.Limit - 1)
	f.use(t, token, lastKey, http.StatusOK, http.StatusOK)
	if text := f.log.String(); strings.Contains(text, "hunter2") || strings.Contains(text, before) {
		t.Errorf("log: %s", text)
	}
	f.now = f.now.Add(1)
	got := f.do(t, token, "GET", "/cart", "", http.StatusServiceUnavailable)
	check.Equal(t, "Retry-After", got.Header().Get("Retry-After"), "1")
	f.secrets.Set(before)
	f.now = f.now.Add(time.Second)
	f.use(t, token, lastKey, http.StatusOK, http.StatusOK)
}

func TestAFunctionWithoutAKeyDoesNotStart(t *testing.T) {
	t.Parallel()
	secrets := secretstest.New("shop-key", "hunter2")
	t.Cleanup(secrets.Close)
	for id, want := range map[string]string{"": setup.KeySecret, "another": "ResourceNotFoundException", "shop-key": "base64"} {
		_, err := setup.Handler(t.Context(), tabletest.Client(t), "Shop", secrets.Client(), id, nil, secret.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the secret %q: error %v, want one that tells of %s", id, err, want)
		}
	}
}
