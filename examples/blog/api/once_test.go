package api_test

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/api"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
)

// A POST is done once for its key: a repeated one gets the first response, also when what
// it needed is gone. Another one with the key is refused, and so is one without a key.
func TestAPostIsDoneOnce(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana", "bob")
	posts := map[string][2]string{ // bodies of two requests
		"POST /posts":                         {`{"title":"Once","content":"x"}`, `{"title":"Once","content":"y"}`},
		"POST /posts/" + w.post + "/comments": {`{"text":"Once"}`, `{"text":"Twice"}`},
		"POST /posts/" + w.post + "/views":    {"", ""},
		"POST /groups":                        {`{"name":"Once"}`, `{"name":"Once","description":"again"}`},
		"POST /folders":                       {`{"path":["office","once"]}`, `{"path":["office","twice"]}`},
	}
	for _, pattern := range api.Patterns() {
		if strings.HasPrefix(pattern, "POST ") {
			if _, tested := posts[strings.Replace(pattern, "{id}", w.post, 1)]; !tested {
				t.Errorf("%s is not tested", pattern)
			}
		}
	}
	key := http.Header{"Idempotency-Key": {"8e03978e"}}
	first := map[string]string{}
	for request, bodies := range posts {
		for _, header := range []http.Header{{}, {"Idempotency-Key": {"a", "b"}}, {"Idempotency-Key": {strings.Repeat("x", 256)}}, {"Idempotency-Key": {"\xff"}}} {
			if status, body := a.doWith(t, header, "ana", request, bodies[0]); status != http.StatusBadRequest || !strings.Contains(body, "idempotency_key") {
				t.Errorf("%s with %v: %d %s", request, header, status, body)
			}
		}
		// The same request of many connections at once.
		responses := make([]string, 4)
		check.Together(len(responses), func(i int) {
			status, body := a.doWith(t, key.Clone(), "ana", request, bodies[0])
			responses[i] = fmt.Sprint(status, " ", body)
		})
		for _, r := range responses {
			check.Equal(t, request, r, responses[0])
		}
		if !strings.HasPrefix(responses[0], "201 ") {
			t.Errorf("%s: %s", request, responses[0])
		}
		first[request] = responses[0]
		if bodies[1] != "" {
			status, body := a.doWith(t, key.Clone(), "ana", request, bodies[1])
			check.Equal(t, request, fmt.Sprint(status, strings.Contains(body, "idempotency_key_reused")), "422 true")
		}
	}
	check.Equal(t, "views", a.is(t, http.StatusOK, "bob", "GET /posts/"+w.post+"/views", ""), "{\"views\":1}\n")
	// Keys of users never meet.
	status, body := a.doWith(t, key.Clone(), "bob", "POST /posts", posts["POST /posts"][0])
	if got := fmt.Sprint(status, " ", body); status != http.StatusCreated || got == first["POST /posts"] {
		t.Error(got)
	}

	a.is(t, http.StatusNoContent, "ana", "DELETE /posts/"+w.post, "")
	a.is(t, http.StatusNoContent, "ana", "PUT /nodes/desk", fmt.Sprintf(`{"nodeId":%q,"from":["office"]}`, w.folder))
	before := generated.Stored(t, a.store.Table)
	for request, bodies := range posts {
		status, body := a.doWith(t, key.Clone(), "ana", request, bodies[0])
		check.Equal(t, request+" again", fmt.Sprint(status, " ", body), first[request])
	}
	check.Equal(t, "stored", len(generated.Stored(t, a.store.Table)), len(before))
}

// A path, a query or a text that is not UTF-8 is refused by every endpoint, and never
// stored as something else.
func TestTextIsUTF8(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana")
	before := generated.Stored(t, a.store.Table)
	for _, pattern := range api.Patterns() {
		request := strings.NewReplacer("{id}", w.post, "{comment}", "c", "{user}", "bob", "{path...}", "a/b", "{name}", "cpu", "{time}", "2024-01-15T10:00:00Z").Replace(pattern)
		a.is(t, http.StatusBadRequest, "ana", request+"?folder=%ff", "{}")
		a.is(t, http.StatusBadRequest, "ana", request+"?x=%zz", "{}")
		for _, wildcard := range regexp.MustCompile(`\{[^}]*\}`).FindAllString(pattern, -1) {
			bad := strings.NewReplacer(wildcard, "a%ff", "{id}", w.post, "{comment}", "c", "{user}", "bob", "{name}", "cpu", "{time}", "2024-01-15T10:00:00Z").Replace(pattern)
			a.is(t, http.StatusBadRequest, "ana", bad, "{}")
		}
	}
	for request, member := range map[string]string{
		"PUT /me": "name", "PATCH /me": "name", "POST /posts": "title", "POST /posts/" + w.post + "/comments": "text",
		"POST /groups": "name", "PATCH /groups/" + w.group: "description", "PUT /groups/" + w.group + "/members/ana": "role",
		"PUT /nodes/a": "nodeId",
	} {
		for _, value := range []string{"\xff", `\ud800`, `\udc00x`} {
			a.is(t, http.StatusBadRequest, "ana", request, fmt.Sprintf(`{"%s":"%s"}`, member, value))
		}
	}
	for _, value := range []string{"\xff", `\ud800`} {
		a.is(t, http.StatusBadRequest, "ana", "POST /folders", fmt.Sprintf(`{"path":["%s"]}`, value))
	}
	a.is(t, http.StatusBadRequest, "ana", "PUT /posts/"+w.post+"/content", "caf\xe9")
	if !reflect.DeepEqual(generated.Stored(t, a.store.Table), before) {
		t.Error("something was stored")
	}
}
