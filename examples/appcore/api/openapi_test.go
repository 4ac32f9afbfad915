package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/errors"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

// specification is openapi.json as the tests use it.
type specification struct {
	mu        sync.Mutex
	validator validator.Validator
	paths     map[string]*v3.PathItem
	// mux knows the route of a request, whose pattern has the path in the document.
	mux *http.ServeMux
}

var readSpecification = sync.OnceValues(func() (*specification, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return nil, err
	}
	s := &specification{
		// A field that a schema does not name is an error, and so is a header, except
		// those that every response has.
		validator: validator.NewValidatorFromV3Model(&model.Model, config.WithStrictMode(),
			config.WithStrictIgnoredHeadersExtra("Cache-Control", "X-Content-Type-Options")),
		paths: maps.Collect(model.Model.Paths.PathItems.FromOldest()),
		mux:   http.NewServeMux(),
	}
	s.validator.SetDocument(document)
	for _, pattern := range patterns() {
		s.mux.Handle(pattern, http.NotFoundHandler())
	}
	return s, nil
})

// patterns are the patterns of everything that the server of package api serves.
func patterns() []string {
	all := []string{httpapi.LivePath, httpapi.ReadyPath, "GET /openapi.json", "GET /docs"}
	for _, r := range api.Routes() {
		all = append(all, r.Method+" "+r.Path)
	}
	return all
}

// conforms fails the test unless a response has a status that the document names for
// its endpoint, and the body that it describes. So does the body of a request that
// was accepted.
func conforms(tb testing.TB, req *http.Request, resp *http.Response, body []byte) {
	tb.Helper()
	s := check.Must(readSpecification())(tb)
	_, pattern := s.mux.Handler(req)
	if method, _, _ := strings.Cut(pattern, " "); method != req.Method || strings.Contains(req.URL.Path, "//") || strings.Contains(req.URL.Path, "/.") {
		return // no endpoint of the API
	}
	_, path, _ := strings.Cut(pattern, " ")
	item := s.paths[path]
	if item == nil {
		return // TestTheDocumentHasEveryRoute says so
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got := *resp
	got.Body = io.NopCloser(bytes.NewReader(body))
	if ok, errs := s.validator.GetResponseBodyValidator().ValidateResponseBodyWithPathItem(req, &got, item, path); !ok {
		tb.Errorf("openapi.json does not describe this response to %s: status %d, %.300s\n%s", pattern, resp.StatusCode, body, problems(errs))
	}
	if resp.StatusCode >= 300 || req.GetBody == nil {
		return
	}
	sent := req.Clone(req.Context())
	sent.Body = check.Must(req.GetBody())(tb)
	sent.Header.Set("Content-Type", "application/json")
	if ok, errs := s.validator.GetRequestBodyValidator().ValidateRequestBodyWithPathItem(sent, item, path); !ok {
		tb.Errorf("openapi.json does not describe this request that %s accepts:\n%s", pattern, problems(errs))
	}
}

func problems(errs []*errors.ValidationError) string {
	var texts []string
	for _, e := range errs {
		texts = append(texts, e.Message+": "+e.Reason)
		for _, s := range e.SchemaValidationErrors {
			texts = append(texts, "  "+s.FieldPath+" "+s.Reason)
		}
	}
	return strings.Join(texts, "\n")
}

func TestTheDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	s := check.Must(readSpecification())(t)
	if ok, errs := s.validator.ValidateDocument(); !ok {
		t.Error(problems(errs))
	}
}

func TestTheDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, r := range api.Routes() {
		names[r.Method+" "+r.Path] = r.Name
	}
	documented := map[string]string{}
	for path, item := range check.Must(readSpecification())(t).paths {
		for method, o := range item.GetOperations().FromOldest() {
			documented[strings.ToUpper(method)+" "+path] = o.OperationId
		}
	}
	for _, pattern := range patterns() {
		id, found := documented[pattern]
		if !found {
			t.Errorf("openapi.json has no %s: add it with its operationId %q, its parameters, its body, and every status that its tests get", pattern, names[pattern])
		} else if want := names[pattern]; want != "" && id != want {
			t.Errorf("openapi.json: the operationId of %s is %q, want %q", pattern, id, want)
		}
		delete(documented, pattern)
	}
	for pattern := range documented {
		t.Errorf("openapi.json has %s, which the API does not: remove it", pattern)
	}
}

// notTheAPIs are codes of the code that no client of the API gets: one is for the
// log only, one of servers for development only.
var notTheAPIs = []string{"client_gone", "wrong_host"}

// The codes of the document are those of the code.
func TestTheDocumentHasEveryErrorCode(t *testing.T) {
	t.Parallel()
	var d struct {
		Components struct{ Responses map[string]json.RawMessage }
	}
	check.OK(t, json.Unmarshal(check.Must(os.ReadFile("openapi.json"))(t), &d))
	documented := map[string]bool{}
	for _, response := range d.Components.Responses {
		for _, codes := range regexp.MustCompile(`"enum":\s*\[([^\]]*)\]`).FindAllSubmatch(response, -1) {
			for _, code := range regexp.MustCompile(`"([A-Za-z_]+)"`).FindAllSubmatch(codes[1], -1) {
				documented[string(code[1])] = true
			}
		}
	}
	have := map[string]bool{}
	for _, pattern := range []string{
		"*.go", "../core/*.go", "../../internal/httpapi/*.go", "../../internal/rest/*.go", "../../internal/auth/guard.go",
		"../internal/httpapi/*.go", "../internal/rest/*.go", "../internal/auth/guard.go", // of a copy, which has them in its own folder
	} {
		for _, name := range check.Must(filepath.Glob(pattern))(t) {
			// The API returns no error of the library as it is.
			if !strings.HasSuffix(name, "_test.go") && filepath.Base(name) != "library.go" {
				codesOf(t, name, have)
			}
		}
	}
	for _, code := range notTheAPIs {
		delete(have, code)
	}
	if len(have) < 20 {
		t.Errorf("only %d codes in the code: %v", len(have), have)
	}
	for code := range have {
		if !documented[code] {
			t.Errorf("openapi.json lacks the error code %q: add it to the enum of the response in components.responses, and refer to that from the endpoints", code)
		}
	}
	for code := range documented {
		if !have[code] {
			t.Errorf("openapi.json has the error code %q, which nothing returns: remove it", code)
		}
	}
}

// codesOf collects the codes of failures in a file: the first text of a [Failure], of
// a call of BadRequest, Fail or On, and of core's invalid.
func codesOf(t *testing.T, name string, into map[string]bool) {
	t.Helper()
	file := check.Must(parser.ParseFile(gotoken.NewFileSet(), name, nil, 0))(t)
	first := func(exprs []ast.Expr) {
		for _, e := range exprs {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if e = kv.Value; fmt.Sprint(kv.Key) != "Code" {
					continue
				}
			}
			if text, ok := e.(*ast.BasicLit); ok && text.Kind == gotoken.STRING {
				// A message has spaces. Its code is put together, of codes that others have.
				if code := check.Must(strconv.Unquote(text.Value))(t); !strings.Contains(code, " ") {
					into[code] = true
				}
				return
			}
		}
	}
	nameOf := func(e ast.Expr) string {
		if s, ok := e.(*ast.SelectorExpr); ok {
			return s.Sel.Name
		}
		return fmt.Sprint(e)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if nameOf(n.Type) == "Failure" {
				first(n.Elts)
			}
		case *ast.CallExpr:
			if slices.Contains([]string{"BadRequest", "Fail", "On", "invalid"}, nameOf(n.Fun)) {
				first(n.Args)
			}
		}
		return true
	})
}

func TestTheDocumentationNeedsNoTokenAndLoadsNothing(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	got := a.get(t, "", "/openapi.json")
	got.is(t, http.StatusOK, string(check.Must(os.ReadFile("openapi.json"))(t)))
	check.Equal(t, "Content-Type", got.Header.Get("Content-Type"), "application/json")

	page := a.get(t, "", "/docs")
	page.is(t, http.StatusOK)
	check.Equal(t, "Content-Type", page.Header.Get("Content-Type"), "text/html; charset=utf-8")
	policy := page.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy: %s", policy)
	}
	for _, loads := range []string{"<script", "<img", "<link", "<iframe", "style=", " on", "http://", "https://", "ZgotmplZ"} {
		if at := strings.Index(tags(page.Body), loads); at >= 0 {
			t.Errorf("the page has %q", loads)
		}
	}
	for _, pattern := range patterns() {
		if !strings.Contains(page.Body, "<code>"+pattern+"</code>") {
			t.Errorf("the page lacks %s", pattern)
		}
	}
	for _, text := range []string{"idempotency_key_reused", "Idempotency-Key", `href="#NewTransaction"`, `id="NewTransaction"`} {
		if !strings.Contains(page.Body, text) {
			t.Errorf("the page lacks %s", text)
		}
	}
}

// tags returns the tags of a page, without its text.
func tags(page string) string {
	return strings.Join(regexp.MustCompile(`<[a-z][^>]*>`).FindAllString(page, -1), "\n")
}
