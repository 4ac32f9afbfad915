package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/files"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// issuer is the user pool of all tests.
var issuer = sync.OnceValues(func() (*auth.Issuer, error) { return auth.NewIssuer(nil) })

// app is the API behind a real server, on a table and a database of its own, next to the
// readers of the stream.
type app struct {
	*httptest.Server
	log    *check.Log
	faults *tabletest.Faults
	files  string      // the directory of imports
	noKeys atomic.Bool // of cursors
}

func newApp(t *testing.T) *app {
	t.Helper()
	a := &app{log: &check.Log{}, faults: &tabletest.Faults{}, files: t.TempDir()}
	client := tabletest.Client(t)
	codec := check.Must(paginate.New([]paginate.Key{paginate.NewKey()}, nil))(t)
	tbl := tabletest.NewWith(t, client, core.Schema("any"), &table.Options{Cursors: codec})
	behind := check.Must(table.New(tabletest.Client(t, a.faults.Install), tbl.Schema(), &table.Options{Cursors: codec}))(t)
	service := check.Must(core.New(tbl, &core.Options{Files: files.Directory(a.files)}))(t)
	db := check.Must(readmodel.Connect(t.Context(), filepath.Join(t.TempDir(), "readmodel.db")))(t)
	model := check.Must(readmodel.Open(t.Context(), db, codec))(t)
	check.OK(t, model.Rebuild(t.Context(), "v1", service.Replay(t.Context())))

	ctx, end := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for name, handlers := range map[string][]stream.Handler{"cqrs": service.Handlers(), "readmodel": {service.OnVersion(model.Apply)}} {
		router := check.Must(service.Router(handlers...))(t)
		readers.Go(func() { _ = program.Reader(name, router, client, nil).Run(ctx) }) // the context's error
	}
	verifier := check.Must(auth.NewCognito(check.Must(issuer())(t).Config()))(t)
	log := slog.New(slog.NewJSONHandler(a.log, nil))
	before := check.Must(core.New(behind, &core.Options{Files: files.Directory(a.files)}))(t)
	keys := func(context.Context) error {
		if a.noKeys.Load() {
			return errors.New("the secret cannot be read")
		}
		return nil
	}
	a.Server = httptest.NewServer(api.New(before, model, keys, verifier, log, nil).Handler(nil))
	t.Cleanup(func() {
		a.Close()
		end()
		readers.Wait()
		check.OK(t, db.Close())
	})
	return a
}

// token returns an access token of an admin of a tenant.
func token(t *testing.T, tenant, user string) string {
	t.Helper()
	return signed(t, user, map[string]any{auth.TenantClaim: tenant, "cognito:groups": []string{api.Admin}})
}

// signed returns an access token with further claims.
func signed(t *testing.T, user string, more map[string]any) string {
	t.Helper()
	i := check.Must(issuer())(t)
	claims := i.Claims(user)
	for name, value := range more {
		claims[name] = value
	}
	return check.Must(i.Sign(claims))(t)
}

// client is a user of a tenant.
type client struct {
	app    *app
	token  string
	header http.Header
}

func (a *app) as(t *testing.T, tenant, user string) client {
	t.Helper()
	return client{app: a, token: token(t, tenant, user)}
}

// with returns the client with a further header.
func (c client) with(name, value string) client {
	c.header = c.header.Clone()
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Set(name, value)
	return c
}

// do sends a request and returns the response. A body makes it a POST.
func (c client) do(t *testing.T, path, body string) (int, string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req := check.Must(http.NewRequestWithContext(t.Context(), method, c.app.URL+path, strings.NewReader(body)))(t)
	for name, values := range c.header {
		req.Header[name] = values
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp := check.Must(c.app.Client().Do(req))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(check.Must(io.ReadAll(resp.Body))(t))
}

// is sends a request whose response must have the status, and returns its body.
func (c client) is(t *testing.T, status int, path, body string) string {
	t.Helper()
	got, text := c.do(t, path, body)
	if got != status {
		t.Errorf("%s %s: %d %s, want %d", path, body, got, text, status)
	}
	return text
}

// record is a record as clients see it, and all else that a response may be.
type record struct {
	ID, Type, Name, Code, Status, CreatedBy string
	Path                                    []string
	Version                                 int64
	Done, Rejected                          int
	Attributes                              map[string]any
	Source, RequestID                       string
	Items                                   []record
	LastKey                                 string
	Number, Records, Versions               int
	Reason, ExpiresAt                       string
	Error                                   struct{ Code, Message string }
}

func decode(t *testing.T, body string) (r record) {
	t.Helper()
	check.OK(t, json.Unmarshal([]byte(body), &r))
	return r
}
