package api_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/api"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/table/tabletest"
)

// app is the API behind a real server, on a table of its own.
type app struct {
	*httptest.Server
	store  *store.Store
	issuer *auth.Issuer
	faults *tabletest.Faults
}

func newApp(t *testing.T) *app {
	t.Helper()
	objects := check.Must(store.OpenDirectory(filepath.Join(t.TempDir(), "objects")))(t)
	faults := &tabletest.Faults{}
	s := check.Must(store.New(tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("Blog"), nil), objects))(t)
	issuer := check.Must(auth.NewIssuer(nil))(t)
	a := &api.API{Store: s, Auth: check.Must(auth.NewCognito(issuer.Config()))(t), Log: slog.New(slog.DiscardHandler)}
	server := httptest.NewServer(a.Handler(nil))
	t.Cleanup(func() { server.Close(); _ = objects.Close() })
	return &app{server, s, issuer, faults}
}

// do sends "METHOD /path" of a user and returns the response's status and body. A POST has
// an Idempotency-Key of its own.
func (a *app) do(t *testing.T, user, request, body string) (int, string) {
	t.Helper()
	return a.doWith(t, http.Header{"Idempotency-Key": {rand.Text()}}, user, request, body)
}

func (a *app) doWith(t *testing.T, header http.Header, user, request, body string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := check.Must(http.NewRequestWithContext(t.Context(), method, a.URL+path, strings.NewReader(body)))(t)
	r.Header = header
	if user != "" {
		r.Header.Set("Authorization", "Bearer "+check.Must(a.issuer.Token(user))(t))
	}
	response := check.Must(a.Client().Do(r))(t)
	defer response.Body.Close()
	return response.StatusCode, string(check.Must(io.ReadAll(response.Body))(t))
}

// is sends a request and fails the test unless the response has a status. It returns the
// body.
func (a *app) is(t *testing.T, want int, user, request, body string) string {
	t.Helper()
	status, got := a.do(t, user, request, body)
	if status != want {
		t.Errorf("%s of %q: %d %.200s, want %d", request, user, status, got, want)
	}
	return got
}

// member returns a text member of a JSON object.
func member(t *testing.T, body, name string) string {
	t.Helper()
	var object map[string]any
	check.OK(t, json.Unmarshal([]byte(body), &object))
	text, ok := object[name].(string)
	if !ok {
		t.Fatalf("no %s in %s", name, body)
	}
	return text
}

// world registers users, and gives ana a draft, a published post, a comment, a group and
// files.
type world struct{ draft, post, comment, group, folder, file string }

func newWorld(t *testing.T, a *app, users ...string) world {
	t.Helper()
	for i, user := range users {
		a.is(t, http.StatusOK, user, "PUT /me", fmt.Sprintf(`{"email":"u%x@example.com","name":"User %d"}`, user, i))
	}
	ana := users[0]
	w := world{
		draft: member(t, a.is(t, http.StatusCreated, ana, "POST /posts", `{"title":"Secret","content":"secret text"}`), "postId"),
		post:  member(t, a.is(t, http.StatusCreated, ana, "POST /posts", `{"title":"A day","content":"Rain."}`), "postId"),
		group: member(t, a.is(t, http.StatusCreated, ana, "POST /groups", `{"name":"Cooks"}`), "groupId"),
	}
	a.is(t, http.StatusNoContent, ana, "PUT /posts/"+w.post+"/publication", "")
	w.comment = member(t, a.is(t, http.StatusCreated, ana, "POST /posts/"+w.post+"/comments", `{"text":"First!"}`), "commentId")
	w.folder = member(t, a.is(t, http.StatusCreated, ana, "POST /folders", `{"path":["office"]}`), "folderId")
	w.file = member(t, a.is(t, http.StatusCreated, ana, "PUT /files/office/plan.txt", "secret plan"), "fileId")
	return w
}

func TestTheBlogOverHTTP(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana", "bob")
	page := a.is(t, http.StatusOK, "bob", "GET /posts/"+w.post, "")
	for _, want := range []string{`"content":"Rain."`, `"commentCount":1`, `"authorName":"User 0"`, `"text":"First!"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	large := strings.Repeat("x", store.MaxInline+1)
	a.is(t, http.StatusNoContent, "ana", "PUT /posts/"+w.post+"/content", large)
	if page := a.is(t, http.StatusOK, "bob", "GET /posts/"+w.post, ""); !strings.Contains(page, large) {
		t.Error("the page has not the large content")
	}
	mine := member(t, a.is(t, http.StatusCreated, "bob", "POST /posts/"+w.post+"/comments", `{"text":"Nice"}`), "commentId")
	a.is(t, http.StatusNoContent, "bob", "DELETE /posts/"+w.post+"/comments/"+mine, "")
	a.is(t, http.StatusNotFound, "bob", "DELETE /posts/"+w.post+"/comments/"+mine, "")

	a.is(t, http.StatusNoContent, "bob", "PUT /groups/"+w.group+"/membership", "")
	a.is(t, http.StatusNoContent, "bob", "PUT /groups/"+w.group+"/membership", "")
	if members := a.is(t, http.StatusOK, "bob", "GET /groups/"+w.group+"/members", ""); !strings.Contains(members, `"userName":"User 0","role":"owner"`) {
		t.Error(members)
	}
	a.is(t, http.StatusNoContent, "bob", "DELETE /groups/"+w.group+"/membership", "")
	a.is(t, http.StatusNotFound, "bob", "DELETE /groups/"+w.group+"/membership", "")

	check.Equal(t, "file", a.is(t, http.StatusOK, "ana", "GET /files/"+w.file, ""), "secret plan")
	if files := a.is(t, http.StatusOK, "ana", "GET /files?by=size&folder="+w.folder, ""); !strings.Contains(files, `"name":"plan.txt","size":11`) {
		t.Error(files)
	}
	a.is(t, http.StatusNotFound, "ana", "PUT /files/none/plan.txt", "")
	a.is(t, http.StatusNoContent, "ana", "DELETE /files/office/plan.txt", "")
	a.is(t, http.StatusConflict, "bob", "PUT /me", `{"email":"U616E61@example.com","name":"Bob"}`)
	a.is(t, http.StatusNoContent, "ana", "DELETE /posts/"+w.post, "")
	a.is(t, http.StatusNotFound, "bob", "GET /posts/"+w.post, "")
}

// A user cannot read another one's drafts, members and files, nor write anything of
// theirs, by no path and with no id.
func TestUsersAreIsolated(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	strangers := []string{"bob", "ana#OFFICE", "USER#ana", "ana%23", "ana/office"}
	w := newWorld(t, a, append([]string{"ana"}, strangers...)...)
	escaped := url.PathEscape("ana#" + w.folder)
	a.is(t, http.StatusNoContent, "ana", "PUT /me/metrics/steps/2024-01-15T10:00:00Z", `{"value":1}`)
	for _, request := range []string{
		"GET /posts/" + w.draft, "GET /posts/" + w.draft + "/comments", "POST /posts/" + w.draft + "/comments",
		"PUT /posts/" + w.draft + "/content", "PUT /posts/" + w.post + "/content",
		"PUT /posts/" + w.draft + "/publication", "DELETE /posts/" + w.post + "/publication",
		"DELETE /posts/" + w.draft, "DELETE /posts/" + w.post,
		"DELETE /posts/" + w.post + "/comments/" + w.comment, "DELETE /posts/" + w.draft + "/comments/" + w.comment,
		"POST /posts/" + w.draft + "/views", "GET /posts/" + w.draft + "/views",
		"GET /groups/" + w.group + "/members", "DELETE /groups/" + w.group + "/membership", "GET /groups/" + w.group + "/membership",
		"PATCH /groups/" + w.group, "DELETE /groups/" + w.group, "PUT /groups/" + w.group + "/members/ana", "GET /groups/" + escaped,
		"GET /files/" + w.file + "/metadata", "GET /files/" + escaped + "/metadata",
		"GET /files/" + w.file, "GET /files/" + w.folder, "GET /files/" + escaped,
		"DELETE /files/office/plan.txt", "DELETE /files/" + w.file,
		"GET /posts/" + url.PathEscape(w.post+"#METADATA"), "GET /posts/%23",
	} {
		body := ""
		if strings.HasPrefix(request, "POST") {
			body = `{"text":"seen"}`
		}
		for _, user := range strangers {
			if got := a.is(t, http.StatusNotFound, user, request, body); strings.Contains(got, "ecret") {
				t.Errorf("%s of %s: %s", request, user, got)
			}
		}
		a.is(t, http.StatusUnauthorized, "", request, body)
	}
	for _, request := range []string{
		"GET /me/posts", "GET /me/groups", "GET /files", "GET /files?folder=" + w.folder, "GET /files?by=size&folder=" + w.folder,
		"GET /files?folder=" + url.QueryEscape("ana#"+w.folder), "GET /me/posts?user=ana", "GET /me/comments",
		"GET /folders", "GET /folders?depth=all", "GET /folders?path=office", "GET /folders?depth=all&path=office",
		"GET /me/metrics/steps?from=2024-01-15T00:00:00Z&to=2024-01-16T00:00:00Z",
	} {
		for _, user := range strangers {
			check.Equal(t, request+" of "+user, a.is(t, http.StatusOK, user, request, ""), "{\"items\":[]}\n")
		}
	}
	// What was there is as it was.
	if page := a.is(t, http.StatusOK, "ana", "GET /posts/"+w.draft, ""); !strings.Contains(page, `"content":"secret text","commentCount":0`) {
		t.Error(page)
	}
	if page := a.is(t, http.StatusOK, "bob", "GET /posts/"+w.post, ""); !strings.Contains(page, `"content":"Rain.","commentCount":1`) {
		t.Error(page)
	}
	check.Equal(t, "file", a.is(t, http.StatusOK, "ana", "GET /files/"+w.file, ""), "secret plan")
}

// A cursor of one list, or of one user, opens no other.
func TestALastKeyIsGoodForItsListAndUserOnly(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	newWorld(t, a, "ana", "bob")
	newWorld(t, a, "bob", "ana")
	lastKey := url.QueryEscape(member(t, a.is(t, http.StatusOK, "ana", "GET /me/posts?limit=1", ""), "lastKey"))
	a.is(t, http.StatusOK, "ana", "GET /me/posts?lastKey="+lastKey, "")
	a.is(t, http.StatusBadRequest, "bob", "GET /me/posts?lastKey="+lastKey, "")
	for _, list := range []string{"GET /posts", "GET /me/groups", "GET /me/comments", "GET /files", "GET /folders", "GET /folders?depth=all"} {
		separator := "?"
		if strings.Contains(list, "?") {
			separator = "&"
		}
		a.is(t, http.StatusBadRequest, "ana", list+separator+"lastKey="+lastKey, "")
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana")
	for _, c := range []struct {
		status        int
		request, body string
	}{
		{http.StatusBadRequest, "PUT /me", `{"email":"ana","name":"Ana"}`},
		{http.StatusBadRequest, "PUT /me", `{"email":"ana@example.com"}`},
		{http.StatusBadRequest, "PUT /me", `{"email":"ana@example.com","name":"Ana","avatar":"javascript:alert(1)"}`},
		{http.StatusBadRequest, "POST /posts", `{"title":""}`},
		{http.StatusBadRequest, "POST /posts", `{"title":"x","authorId":"bob"}`},
		{http.StatusBadRequest, "PUT /posts/" + w.post + "/content", "\xff"},
		{http.StatusBadRequest, "POST /posts/" + w.post + "/comments", `{"text":"` + strings.Repeat("x", 11<<10) + `"}`},
		{http.StatusBadRequest, "GET /posts?limit=1000", ""},
		{http.StatusBadRequest, "GET /posts?limit=x", ""},
		{http.StatusBadRequest, "GET /posts?lastKey=x", ""},
		{http.StatusBadRequest, "GET /folders?path=office&path=other", ""},
		{http.StatusBadRequest, "GET /folders?depth=all&depth=all", ""},
		{http.StatusBadRequest, "GET /folders?depth=2", ""},
		{http.StatusBadRequest, "GET /files?by=name", ""},
		{http.StatusBadRequest, "GET /files?by=", ""},
		{http.StatusBadRequest, "GET /files?by=size&by=date", ""},
		{http.StatusBadRequest, "GET /files?folder=a&folder=b", ""},
		{http.StatusBadRequest, "PUT /files/" + strings.Repeat("x", 2000), "x"},
		{http.StatusNotFound, "POST /folders", `{"path":[]}`},
		{http.StatusBadRequest, "POST /folders", `{"path":[""]}`},
		{http.StatusBadRequest, "POST /folders", `{"path":["office/private"]}`}, // which no address of a file names
		{http.StatusBadRequest, "POST /folders", `{"path":["office",".."]}`},
		{http.StatusRequestEntityTooLarge, "PUT /files/large", string(bytes.Repeat([]byte("x"), 10<<20+1))},
		{http.StatusMethodNotAllowed, "PATCH /posts", ""},
	} {
		a.is(t, c.status, "ana", c.request, c.body)
	}
}

// A user who is not registered is told so, and nothing is stored, whatever part of the
// request was right.
func TestWhoIsNotRegisteredWritesNothing(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	for request, body := range map[string]string{
		"POST /groups": `{"name":"Cooks"}`, "POST /posts": `{"title":"x"}`, "PATCH /me": `{"name":"Nobody"}`, "GET /me": "",
	} {
		if got := a.is(t, http.StatusForbidden, "nobody", request, body); !strings.Contains(got, "PUT /me") {
			t.Errorf("%s: %s", request, got)
		}
	}
	check.Equal(t, "items", len(generated.Stored(t, a.store.Table)), 0)
	a.is(t, http.StatusOK, "nobody", "PUT /me", `{"email":"nobody@example.com","name":"Nobody"}`)
	group := member(t, a.is(t, http.StatusCreated, "nobody", "POST /groups", `{"name":"Cooks"}`), "groupId")
	check.Equal(t, "members", check.Must(a.store.Group(t.Context(), group))(t).Members, 1)
	check.Equal(t, "groups", check.Must(a.store.User(t.Context(), "nobody"))(t).Groups, 1)
	if groups := a.is(t, http.StatusOK, "nobody", "GET /me/groups", ""); !strings.Contains(groups, `"groupName":"Cooks","userId":"nobody","userName":"Nobody","role":"owner"`) {
		t.Error(groups)
	}
}

func TestTheREADMEHasAllEndpoints(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for line := range strings.Lines(string(check.Must(os.ReadFile("../README.md"))(t))) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") {
			var methods []string
			for _, part := range strings.Split(strings.NewReplacer("`", "", "{path}", "{path...}").Replace(cells[1]), ",") {
				method, path, named := strings.Cut(strings.TrimSpace(part), " ")
				methods = append(methods, method)
				if path, _, _ = strings.Cut(path, "?"); named {
					for _, method := range methods {
						listed[method+" "+path] = true
					}
					methods = nil
				}
			}
		}
	}
	for _, pattern := range append(api.Patterns(), "GET /healthz", "GET /readyz") {
		if !listed[pattern] {
			t.Errorf("the README has no %s", pattern)
		}
		delete(listed, pattern)
	}
	check.Equal(t, "more endpoints of the README", slices.Collect(maps.Keys(listed)), []string(nil))
}
