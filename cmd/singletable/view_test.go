package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/singletable/singletable/table/tabletest"
)

// browse opens an address in a browser of its own and returns the page.
func browse(t *testing.T, browser *http.Client, address string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func TestView(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	file := save(t, "schema.json", `{"name": "`+name+`", "entities": [{"type": "INVOICE", "items": [{"pk": "INVOICE#{id}", "sk": "METADATA"}]}]}`)
	for label, test := range map[string]struct {
		args   []string
		signal os.Signal
		shows  string
	}{
		"argument, Ctrl-C": {[]string{name}, os.Interrupt, "<h1>" + name},
		"flag, SIGTERM":    {[]string{"-table", name}, syscall.SIGTERM, "<h1>" + name},
		"all tables":       {nil, os.Interrupt, "<h1>Tables"},
		"schema":           {[]string{"-schema", file}, os.Interrupt, "INVOICE"},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			c := start(t, append([]string{"view"}, test.args...)...)
			address := strings.TrimSpace(c.line(t))
			if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/[A-Z2-7]{26}/\?token=[A-Z2-7]{26}$`).MatchString(address) {
				t.Errorf("address %s", address)
			}
			if status, body := browse(t, newBrowser(t), address); status != http.StatusOK || !strings.Contains(body, test.shows) {
				t.Errorf("status %d, %q is not in:\n%s", status, test.shows, body)
			}
			c.succeed(t, test.signal)
		})
	}
}

func TestViewInJSON(t *testing.T) {
	t.Parallel()
	c := start(t, "view", "-json")
	out := printed[opened](t, c)
	u, err := url.Parse(out.Address)
	if err != nil {
		t.Fatal(err)
	}
	// The page for cursors is the command for cursors.
	browser := newBrowser(t)
	browse(t, browser, out.Address)
	_, body := browse(t, browser, "http://"+u.Host+u.Path+"cursor?cursor="+pinned)
	want := run(t, nil, "", "cursor", pinned)
	for line := range strings.Lines(want.stdout) {
		if note, ok := strings.CutPrefix(line, "note"); ok && !strings.Contains(body, strings.TrimSpace(note)) {
			t.Errorf("the page lacks %q:\n%s", strings.TrimSpace(note), body)
		}
	}
	second := start(t, "view", "-port", u.Port())
	if code := second.wait(t); code != exitTrouble || !strings.Contains(second.stderr.String(), ":"+u.Port()) {
		t.Errorf("on a taken port: exit %d: %s", code, second.stderr)
	}
	c.end(t, os.Interrupt)
}

func TestViewThatCannotStart(t *testing.T) {
	t.Parallel()
	trouble(t, run(t, nil, "", "view", "a"), "invalid")
	trouble(t, run(t, nil, "", "view", "-schema", "missing.json"), "missing.json")
	trouble(t, run(t, map[string]string{keysVariable: "short"}, "", "view", "AppCore"), keysVariable)
}
