// The functions trust the pool by SSL_CERT_FILE, which Go does not read on these two systems.

//go:build !darwin && !windows

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheAPIIsAFunction(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	f := d.Start(t, "api")
	token, claims := d.pool.Token(t, "ana", nil)
	keys := 0
	do := func(request, body string, status int) string {
		t.Helper()
		keys++
		method, target, _ := strings.Cut(request, " ")
		return f.Serve(t, lambdatest.Request{
			Method: method, Target: target, Route: "ANY /{proxy+}", Body: body, Token: token, Claims: claims,
			Header: map[string]string{"idempotency-key": fmt.Sprint(keys)},
		}, status).Body
	}
	do("PUT /me", `{"email":"ana@example.com","name":"Ana"}`, http.StatusOK)
	id := regexp.MustCompile(`"postId":"(\w+)"`).FindStringSubmatch(do("POST /posts", `{"title":"A day"}`, http.StatusCreated))[1]
	large := strings.Repeat("x", store.MaxInline+1)
	do("PUT /posts/"+id+"/content", large, http.StatusNoContent)
	check.Equal(t, "objects", len(d.bucket.Names()), 1)
	if page := do("GET /posts/"+id, "", http.StatusOK); !strings.Contains(page, large) {
		t.Errorf("%.200s", page)
	}
	// Only lists need the cursor keys.
	check.Equal(t, "reads of the secret", d.secrets.Reads(), 0)
	d.secrets.Fail("AccessDeniedException")
	o := f.Invoke(t, lambdatest.Request{Method: http.MethodGet, Target: "/me/posts", Route: "ANY /{proxy+}", Token: token}.Event(t))
	check.Equal(t, "without keys", strings.Contains(string(o.Response), `"statusCode":503`), true)
	d.secrets.Fail("")
	check.OK(t, program.Until(t.Context(), func() (bool, error) { // it waits a moment before it reads the secret again
		o := f.Invoke(t, lambdatest.Request{Method: http.MethodGet, Target: "/me/posts", Route: "ANY /{proxy+}", Token: token}.Event(t))
		return strings.Contains(string(o.Response), `"statusCode":200`), nil
	}))
	do("GET /me/posts", "", http.StatusOK)
	do("GET /nothing", "", http.StatusNotFound)
	token = ""
	do("GET /posts", "", http.StatusUnauthorized)
	f.Fails(t, []byte(`{"Records":[{"messageId":"m-1","body":"{}","eventSource":"aws:sqs"}]}`), `records of "aws:sqs"`)
	d.Faults.Always("", tabletest.DropRequest())
	token, _ = d.pool.Token(t, "ana", nil)
	do("GET /me", "", http.StatusServiceUnavailable)
	o = f.Invoke(t, lambdatest.Request{Method: http.MethodGet, Target: "/healthz", Route: "GET /healthz"}.Event(t))
	check.Equal(t, "health", strings.Contains(string(o.Response), `"statusCode":200`), true)
}
