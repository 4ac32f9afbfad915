package view_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestHost(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	port := fmt.Sprint(":", s.port)
	for host, want := range map[string]int{
		"127.0.0.1" + port: http.StatusOK, "localhost" + port: http.StatusOK, "[::1]" + port: http.StatusOK,
		"127.0.0.1": http.StatusForbidden, "127.0.0.1:1": http.StatusForbidden, "evil.example" + port: http.StatusForbidden,
		"127.0.0.1.evil.example" + port: http.StatusForbidden, "evil.example": http.StatusForbidden, "LOCALHOST.evil" + port: http.StatusForbidden,
		"0.0.0.0" + port: http.StatusForbidden, "127.0.0.2" + port: http.StatusForbidden,
	} {
		for _, address := range []string{"/cursor", "/?token=" + s.token} {
			r := s.request(http.MethodGet, address)
			r.Host = host
			if response, body := s.fetch(r); (response.StatusCode == http.StatusForbidden) != (want == http.StatusForbidden) {
				t.Errorf("%s as %q: status %d, want %d: %s", address, host, response.StatusCode, want, body)
			}
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil)
	once := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.browser = once
	for address, want := range map[string]string{
		"/?token=" + s.token:                      s.root + "/",
		"/t/Shop/query?pk=a%26b&token=" + s.token: s.root + "/t/Shop/query?pk=a%26b",
		"//evil.example/x?token=" + s.token:       s.root + "//evil.example/x",
		"/%5Cevil.example?token=" + s.token:       s.root + "/%5Cevil.example",
	} {
		response, _ := s.fetch(s.request(http.MethodGet, address))
		if got := response.Header.Get("Location"); response.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("%s: status %d to %q, want %q", address, response.StatusCode, got, want)
		}
		cookies := response.Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%d cookies", len(cookies))
		}
		c := cookies[0]
		if c.Name != fmt.Sprint("singletable-", s.port) || c.Value != s.token || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode ||
			c.Path != s.root+"/" || c.Domain != "" || !c.Expires.IsZero() || c.MaxAge != 0 {
			t.Errorf("cookie %q", c)
		}
	}
	for _, token := range []string{"", "x", s.token[1:], s.token + "A", strings.ToLower(s.token)} {
		if response, _ := s.fetch(s.request(http.MethodGet, "/?token="+token)); response.StatusCode != http.StatusUnauthorized || len(response.Cookies()) > 0 {
			t.Errorf("token %q: status %d, cookies %v", token, response.StatusCode, response.Cookies())
		}
		r := s.request(http.MethodGet, "/")
		r.AddCookie(&http.Cookie{Name: fmt.Sprint("singletable-", s.port), Value: token})
		if response, _ := s.fetch(r); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("cookie %q: status %d", token, response.StatusCode)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	o := view.Options{
		Client: tabletest.Client(t), Token: view.NewToken(), Prefix: view.NewToken(),
		Inspect: func(string) view.Cursor { return view.Cursor{} },
	}
	if _, err := view.New(o); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "SHORT", view.NewToken()[1:], "/" + view.NewToken(), view.NewToken() + "/x", view.NewToken() + "{a}"} {
		without := o
		without.Prefix = bad
		if _, err := view.New(without); err == nil {
			t.Errorf("the prefix %q is taken", bad)
		}
	}
	o.Token = "SHORT"
	if _, err := view.New(o); err == nil {
		t.Error("a short token is taken")
	}
}

// TestOtherServers visits other servers of the machine with the browser. They do not get
// its cookie, since they do not know its path.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if all := r.Header.Values("Cookie"); len(all) > 0 {
			t.Errorf("%s gets the cookies %q", r.URL, all)
		}
	}))
	t.Cleanup(other.Close)
	for _, path := range []string{"/", "/cursor", s.at(""), s.at("/item", "pk", "USER#ana", "sk", "PROFILE"), s.root} {
		r := s.request(http.MethodGet, "/")
		var err error
		if r.URL, err = r.URL.Parse(other.URL + path); err != nil {
			t.Fatal(err)
		}
		r.Host = ""
		s.fetch(r)
	}
	// What is not under the path is not there, not even for the browser with the token.
	for _, path := range []string{"/", "/cursor", s.at(""), "/?token=" + s.token, s.root, "/x" + s.root + "/cursor"} {
		r := s.request(http.MethodGet, "/")
		var err error
		if r.URL, err = r.URL.Parse(s.url + path); err != nil {
			t.Fatal(err)
		}
		r.AddCookie(&http.Cookie{Name: fmt.Sprint("singletable-", s.port), Value: s.token})
		if response, _ := s.fetch(r); response.StatusCode != http.StatusUnauthorized || len(response.Cookies()) > 0 {
			t.Errorf("%s: status %d, cookies %v", path, response.StatusCode, response.Cookies())
		}
	}
}

func TestWithoutCookie(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil)
	for _, address := range []string{"/", "/cursor", "/t/Shop", "/t/Shop/item.json?pk=a", "/assets/view.css", "/nowhere"} {
		response, body := s.fetch(s.request(http.MethodGet, address))
		if response.StatusCode != http.StatusUnauthorized || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" || strings.Contains(body, "<") {
			t.Errorf("%s: status %d: %s", address, response.StatusCode, body)
		}
	}
	if n := len(s.faults.Requests()); n != 0 {
		t.Errorf("%d requests were sent to DynamoDB", n)
	}
}

func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	for site, want := range map[string]int{
		"": 200, "none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403,
	} {
		r := s.request(http.MethodGet, "/cursor")
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		if response, _ := s.fetch(r); response.StatusCode != want {
			t.Errorf("from %q: status %d, want %d", site, response.StatusCode, want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	before := len(s.faults.Requests())
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "QUERY"} {
		for _, address := range []string{s.at("/item", "pk", "USER#ana", "sk", "PROFILE"), s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), "/"} {
			r := s.request(method, address)
			r.Header.Set("Origin", s.url)
			if response, _ := s.fetch(r); response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s: status %d", method, address, response.StatusCode)
			}
		}
	}
	if n := len(s.faults.Requests()) - before; n != 0 {
		t.Errorf("%d requests were sent to DynamoDB", n)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; " +
			"frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
		"Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	}
	headers := func(response *http.Response) map[string]string {
		got := map[string]string{}
		for name := range want {
			got[name] = response.Header.Get(name)
		}
		return got
	}
	for _, address := range []string{s.at(""), s.at("/item.json", "pk", "USER#ana", "sk", "PROFILE"), "/nowhere", "/assets/none"} {
		response, _ := s.fetch(s.request(http.MethodGet, address))
		if diff := cmp.Diff(want, headers(response)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
	// Files of the program may be kept: their names hold a hash.
	page := s.get("/cursor", http.StatusOK)
	want["Cache-Control"] = "private, max-age=31536000, immutable"
	for element, attribute := range map[string]string{"link": "href", "script": "src"} {
		for _, e := range page.all(named(element)) {
			response, body := s.fetch(s.request(http.MethodGet, e.attributes[attribute]))
			if response.StatusCode != http.StatusOK || body == "" {
				t.Errorf("%s: status %d", e.attributes[attribute], response.StatusCode)
			}
			if diff := cmp.Diff(want, headers(response)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", e.attributes[attribute], diff)
			}
		}
	}
}

// hostile are texts that would act on a page, or look like others, if they were written as
// they are.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, "{{.}}", "</textarea></title><b>",
	"javascript:alert(1)", "//evil.example", "a\u202egnp.exe\u2066b", "nul\x00 and \x1b[31m", "\u200bzero\u00a0width\ufeff", "line\r\nend\t", "#a##b#",
	"\U000e0041tag", "%23%00%zz",
}

// TestHostileContent puts the texts into every place of a table and opens every page.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), func(o *view.Options) { o.Write = true }).open()
	for i, text := range hostile {
		long := 20_000
		if i == 0 {
			long = 390_000
		}
		s.put(table.Item{
			"pk": str(text), "sk": str(fmt.Sprint(i, text)), "entityType": str(text), "gsi1pk": str(text), "gsi1sk": str(text),
			text: str(text), "list": list(str(text), fields(text, str(text))), "set": set(text, "b"), "binary": raw("\xff\xfe" + text),
			"long": str(strings.Repeat(text+"\u202e", long/(len(text)+3))),
		})
	}
	visit := func(address string, statuses ...int) element {
		t.Helper()
		response, body := s.fetch(s.request(http.MethodGet, address))
		if !slices.Contains(append(statuses, http.StatusOK), response.StatusCode) {
			t.Errorf("%s: status %d", address, response.StatusCode)
		}
		for _, r := range "\u202e\u2066\u200b\ufeff\u00a0\U000e0041\x00\x1b" {
			if strings.ContainsRune(body, r) && !reflected(body, r) {
				t.Errorf("%s: has %U as it is", address, r)
			}
		}
		if len(body) > 1<<20 {
			t.Errorf("%s: has %d bytes", address, len(body))
		}
		page := parse(t, body)
		page.check(t)
		return page
	}
	visit(s.at(""))
	visit(s.at("/browse", "as", "list"))
	visit(s.at("/browse", "index", "GSI1"))
	query := visit(s.at("/query"))
	visit(s.at("/create"))
	for _, a := range query.id("patterns").all(named("a")) {
		visit(a.attributes["href"])
	}
	for i, text := range hostile {
		visit(s.at("/partition", "pk", text)).id("row-0").has(t, "B")
		visit(s.at("/partition", "pk", text, "index", "GSI1"))
		item := visit(s.at("/item", "pk", text, "sk", fmt.Sprint(i, text)))
		item.id("attributes").has(t, "long", "… ")
		query := visit(s.at("/query", "pk", text, "op", "eq", "sk", fmt.Sprint(i, text), "attribute", "list", "equals", text))
		if query.id("result").name == "" {
			t.Errorf("%q: no result", text)
		}
		// Parameters come back on the page, too.
		visit(s.at("/partition", "pk", text, "prefix", text, "order", text))
		visit(s.at("/query", "pk", text, "attribute", text, "is", text, "kind", text, "equals", text, "upto", text), http.StatusBadRequest)
		visit(s.at("/query", "of", text, "item", text, "with", text), http.StatusNotFound, http.StatusBadRequest)
		visit(s.at("/create", "of", text, "with", text), http.StatusNotFound)
		visit(s.at("/similar", "pk", text, "index", text, "filter", text), http.StatusNotFound)
		visit(s.at("/query", "pk", text, "op", text, "sk", text, "limit", text), http.StatusBadRequest)
		visit(s.at("/partition", "pk", text, "index", text), http.StatusNotFound)
		visit(s.at("/partition", "pk", text, "after", text), http.StatusBadRequest)
		visit("/cursor?" + strings.TrimPrefix(s.at("", "cursor", text), "/t/"+s.name+"?"))
		visit(s.at("/"+strings.ReplaceAll(strings.TrimPrefix(s.at("", "x", text), "/t/"+s.name+"?x="), "+", "%20")), http.StatusNotFound, http.StatusBadRequest)
	}
}
