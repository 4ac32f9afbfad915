package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
)

func TestADriveOverHTTP(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana", "bob")
	has := func(request string, parts ...string) {
		t.Helper()
		got := a.is(t, http.StatusOK, "ana", request, "")
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s, want %s", request, got, part)
			}
		}
	}
	folder := fmt.Sprintf(`{"nodeId":%q,"kind":"FOLDER","path":["office"]}`, w.folder)
	file := fmt.Sprintf(`{"nodeId":%q,"kind":"FILE","path":["office","plan.txt"]}`, w.file)
	check.Equal(t, "root", a.is(t, http.StatusOK, "ana", "GET /folders", ""), `{"items":[`+folder+"]}\n")
	check.Equal(t, "office", a.is(t, http.StatusOK, "ana", "GET /folders?path=office", ""), `{"items":[`+file+"]}\n")
	check.Equal(t, "all", a.is(t, http.StatusOK, "ana", "GET /folders?depth=all", ""), `{"items":[`+folder+","+file+"]}\n")

	// A PUT of the same bytes is without effect; other bytes replace them.
	metadata := a.is(t, http.StatusOK, "ana", "GET /files/"+w.file+"/metadata", "")
	check.Equal(t, "put again", a.is(t, http.StatusOK, "ana", "PUT /files/office/plan.txt", "secret plan"), metadata)
	large := strings.Repeat("x", store.MaxInline+1)
	for _, bytes := range []string{large, "b", large, ""} {
		for range 2 {
			a.is(t, http.StatusOK, "ana", "PUT /files/office/plan.txt", bytes)
		}
		check.Equal(t, "bytes", a.is(t, http.StatusOK, "ana", "GET /files/"+w.file, ""), bytes)
		has("GET /files/"+w.file+"/metadata", fmt.Sprintf(`"size":%d`, len(bytes)))
		has("GET /files?by=size&folder="+w.folder, fmt.Sprintf(`{"items":[{"fileId":%q,"name":"plan.txt","size":%d`, w.file, len(bytes)))
	}
	a.is(t, http.StatusConflict, "ana", "PUT /files/office", "x")

	a.is(t, http.StatusCreated, "ana", "POST /folders", `{"path":["archive"]}`)
	move := fmt.Sprintf(`{"nodeId":%q,"from":["office"]}`, w.folder)
	for range 2 {
		a.is(t, http.StatusNoContent, "ana", "PUT /nodes/archive/office", move)
		has("GET /folders?path=archive/office", `"path":["archive","office","plan.txt"]`)
	}
	rename := fmt.Sprintf(`{"nodeId":%q,"from":["archive","office","plan.txt"]}`, w.file)
	for range 2 {
		a.is(t, http.StatusNoContent, "ana", "PUT /nodes/plan.md", rename)
		has("GET /files/"+w.file+"/metadata", `"name":"plan.md"`)
	}
	for request, status := range map[string]int{
		"PUT /nodes/archive/office/in": http.StatusConflict, "PUT /nodes/none/office": http.StatusNotFound,
		"PUT /nodes/plan.md": http.StatusConflict, "PUT /nodes/archive": http.StatusConflict, "PUT /nodes/archive/office": http.StatusNoContent,
	} {
		a.is(t, status, "ana", request, strings.Replace(move, `["office"]`, `["archive","office"]`, 1))
	}
	a.is(t, http.StatusNotFound, "ana", "PUT /nodes/elsewhere", move)
	for _, bad := range []string{`{}`, `{"nodeId":"x","from":[]}`, `{"nodeId":"x","from":[""]}`} {
		if status, _ := a.do(t, "ana", "PUT /nodes/elsewhere", bad); status/100 != 4 {
			t.Errorf("%s: %d", bad, status)
		}
	}

	// Another user has none of that.
	for _, request := range []string{"GET /files/" + w.file + "/metadata", "PUT /nodes/mine"} {
		a.is(t, http.StatusNotFound, "bob", request, strings.Replace(move, `["office"]`, `["archive","office"]`, 1))
	}
	for _, list := range []string{"GET /folders", "GET /folders?depth=all", "GET /folders?path=archive", "GET /folders?depth=all&path=archive"} {
		check.Equal(t, list, a.is(t, http.StatusOK, "bob", list, ""), "{\"items\":[]}\n")
	}
}

func TestMetricsOverHTTP(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	for i, at := range []string{"2024-01-15T10:00:00Z", "2024-01-15T11:00:00.5%2B01:00", "2024-01-15T10:00:01.0010000000000Z"} {
		for range 2 {
			a.is(t, http.StatusNoContent, "ana", "PUT /me/metrics/steps/"+at, fmt.Sprintf(`{"value":%d.5}`, i))
		}
	}
	const day = "?from=2024-01-15T00:00:00Z&to=2024-01-16T00:00:00Z"
	points := `{"at":"2024-01-15T10:00:00.000Z","value":0.5},{"at":"2024-01-15T10:00:00.500Z","value":1.5}`
	check.Equal(t, "a second", a.is(t, http.StatusOK, "ana", "GET /me/metrics/steps?from=2024-01-15T10:00:00Z&to=2024-01-15T10:00:01Z", ""), `{"items":[`+points+"]}\n")
	if got := a.is(t, http.StatusOK, "ana", "GET /me/metrics/steps"+day, ""); !strings.Contains(got, points+`,{"at":"2024-01-15T10:00:01.001Z","value":2.5}`) {
		t.Error(got)
	}
	for _, other := range []string{"bob", "ana#steps"} {
		check.Equal(t, other, a.is(t, http.StatusOK, other, "GET /me/metrics/steps"+day, ""), "{\"items\":[]}\n")
	}
	for request, body := range map[string]string{
		"GET /me/metrics/steps": "", "GET /me/metrics/steps?from=yesterday&to=2024-01-15T10:00:00Z": "",
		"PUT /me/metrics/steps/now": `{"value":1}`, "PUT /me/metrics/steps/2024-01-15T10:00:00Z": `{}`,
		"PUT /me/metrics/steps/2024-01-15T10:00:01Z": `{"value":1e126}`, "PUT /me/metrics/steps/2024-01-15T10:00:02Z": `{"value":1e-131}`,
		"PUT /me/metrics/steps/2024-01-15T10:00:03Z":      `{"value":"1"}`,
		"PUT /me/metrics/steps/2024-01-15T10:00:03.0004Z": `{"value":1}`, "PUT /me/metrics/steps/2024-01-15T10:00:03.0000000000001Z": `{"value":1}`,
		"PUT /me/metrics/steps/2024-01-15T10:00:03,0004Z":                              `{"value":1}`,
		"GET /me/metrics/steps?from=2024-01-15T10:00:00.0004Z&to=2024-01-16T00:00:00Z": "",
		"GET /me/metrics/steps?from=2024-01-15T10:00:00Z&to=2024-01-16T00:00:00.0001Z": "",
		"GET /me/metrics/steps" + day + "&from=2024-01-15T10:00:00Z":                   "",
		"GET /me/metrics/steps" + day + "&to=2024-01-15T10:00:00Z":                     "",
	} {
		a.is(t, http.StatusBadRequest, "ana", request, body)
	}
}

func TestOwnCommentsAndViews(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana", "bob")
	a.is(t, http.StatusCreated, "bob", "POST /posts/"+w.post+"/comments", `{"text":"Nice"}`)
	own := a.is(t, http.StatusOK, "bob", "GET /me/comments", "")
	if strings.Count(own, "commentId") != 1 || !strings.Contains(own, fmt.Sprintf(`"postId":%q,"authorId":"bob"`, w.post)) {
		t.Error(own)
	}
	const views = 20
	check.Together(views, func(i int) {
		a.is(t, http.StatusCreated, []string{"ana", "bob"}[i%2], "POST /posts/"+w.post+"/views", "")
	})
	check.Equal(t, "views", a.is(t, http.StatusOK, "bob", "GET /posts/"+w.post+"/views", ""), fmt.Sprintf("{\"views\":%d}\n", views))
	for _, request := range []string{"POST /posts/" + w.draft + "/views", "GET /posts/" + w.draft + "/views", "GET /posts/none/views"} {
		a.is(t, http.StatusNotFound, "bob", request, "")
	}
}

// A comment stays in the list of its author when the post is unpublished or deleted, so its
// author can delete it.
func TestACommentOnAHiddenPostIsDeletedByItsAuthor(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana", "bob", "eve")
	var comments []string
	for _, text := range []string{"unpublished", "deleted"} {
		body := a.is(t, http.StatusCreated, "bob", "POST /posts/"+w.post+"/comments", fmt.Sprintf(`{"text":%q}`, text))
		comments = append(comments, "DELETE /posts/"+w.post+"/comments/"+member(t, body, "commentId"))
	}
	for i, hide := range []string{"DELETE /posts/" + w.post + "/publication", "DELETE /posts/" + w.post} {
		a.is(t, http.StatusNoContent, "ana", hide, "")
		a.is(t, http.StatusNotFound, "eve", comments[i], "")
		a.is(t, http.StatusNoContent, "bob", comments[i], "")
		a.is(t, http.StatusNotFound, "bob", comments[i], "")
		if i == 0 {
			if page := a.is(t, http.StatusOK, "ana", "GET /posts/"+w.post, ""); !strings.Contains(page, `"commentCount":2`) {
				t.Error(page)
			}
		}
	}
	check.Equal(t, "comments", a.is(t, http.StatusOK, "bob", "GET /me/comments", ""), "{\"items\":[]}\n")
}
