package browser_test

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a tab of a browser. Errors of its pages, and violations of their policy, are
// errors of the test while it is loud.
type tab struct {
	context.Context
	loud *atomic.Bool
}

// patience is for one step.
const patience = 20 * time.Second

func openTab(t *testing.T) tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: install it with apt-get install -y --no-install-recommends chromium", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	b := tab{ctx, &atomic.Bool{}}
	b.loud.Store(true)
	chromedp.ListenTarget(ctx, func(event any) {
		if !b.loud.Load() {
			return
		}
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("an exception in a page: %v", e.ExceptionDetails)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || strings.Contains(e.Entry.Text, "Content Security Policy") {
				t.Errorf("%s: %s", e.Entry.URL, e.Entry.Text)
			}
		}
	})
	b.do(t, log.Enable(), chromedp.EmulateViewport(1280, 900))
	return b
}

// do runs actions. The first one of a tab starts the browser, which lives as long as its
// context.
func (b tab) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	for _, a := range actions {
		ended := make(chan error, 1)
		go func() { ended <- again(func() error { return chromedp.Run(b, a) }) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v", err)
			}
		case <-time.After(patience):
			t.Fatalf("a step has not ended in %v, at %s", patience, b.text(t))
		}
	}
}

// again does a step again if its page or element is gone: the next page has come
// between looking for the element and the step, which was not done.
func again(step func() error) error {
	err := step()
	for left := 10; left > 0 && err != nil && strings.Contains(err.Error(), "(-32000)"); left-- {
		err = step()
	}
	return err
}

// text returns what the page shows.
func (b tab) text(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	var shown string
	if err := chromedp.Run(ctx, chromedp.Evaluate(`location.href + "\n" + document.body.innerText`, &shown)); err != nil {
		return err.Error()
	}
	return shown
}

// shows waits until an element has a text.
func (b tab) shows(t *testing.T, selector, text string) {
	t.Helper()
	b.waitFor(t, fmt.Sprintf("%s shows %q", selector, text),
		`(selector, text) => { const e = document.querySelector(selector); return e !== null && e.checkVisibility() && e.textContent.includes(text); }`, selector, text)
}

// waitFor waits until a function of the page returns true.
func (b tab) waitFor(t *testing.T, what, function string, args ...any) {
	t.Helper()
	err := again(func() error {
		return chromedp.Run(b, chromedp.PollFunction(function, nil, chromedp.WithPollingArgs(args...), chromedp.WithPollingTimeout(patience)))
	})
	if err != nil {
		t.Fatalf("never: %s: %v\n%s", what, err, b.text(t))
	}
}

// value evaluates an expression in the page.
func value[T any](t *testing.T, b tab, expression string) T {
	t.Helper()
	var v T
	b.do(t, chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// open opens an address, and waits for its page.
func (b tab) open(t *testing.T, address string) {
	t.Helper()
	b.do(t, chromedp.Navigate(address))
}

// follow clicks on a link or a button that leads to another page, and waits for it.
func (b tab) follow(t *testing.T, selector string) {
	t.Helper()
	b.do(t, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(selector, chromedp.ByQuery))
		return err
	}))
}

// press sends a key to what has the focus. A page can keep its text from being typed.
func (b tab) press(t *testing.T, key string) {
	t.Helper()
	if strings.Contains("/jk", key) {
		b.do(t, input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
		return
	}
	b.do(t, chromedp.KeyEvent(key))
}

// look is how a page is shown.
type look struct {
	name  string
	width int64
	dark  bool
}

var looks = []look{{"light", 1280, false}, {"dark", 1280, true}, {"narrow", 400, false}}

func (b tab) as(t *testing.T, l look) {
	t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	b.do(t, chromedp.EmulateViewport(l.width, 900),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

//go:embed check.js
var checkPage string

// check looks for what people with a keyboard, a reader or a narrow screen would
// stumble over: see check.js.
func (b tab) check(t *testing.T, how string) {
	t.Helper()
	for _, problem := range value[[]string](t, b, checkPage) {
		t.Errorf("%s, %s: %s", value[string](t, b, "location.pathname + location.search"), how, problem)
	}
}

// crawl follows the links of the site from the page that is shown, to at most so many
// pages of each kind, and calls visit on each.
func (b tab) crawl(t *testing.T, ofKind int, visit func()) int {
	t.Helper()
	const links = `[...document.links].map(a => a.href).filter(h => new URL(h).origin === location.origin && !new URL(h).hash && !h.includes(".json"))`
	seen, kinds := map[string]bool{}, map[string]int{}
	queue := []string{value[string](t, b, "location.href")}
	visited := 0
	for len(queue) > 0 {
		address := queue[0]
		queue = queue[1:]
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		kind := u.Path
		if i := strings.LastIndex(kind, "/"); i > 0 {
			kind = kind[i:]
		}
		if kinds[kind] >= ofKind || seen[address] {
			continue
		}
		seen[address] = true
		kinds[kind]++
		b.open(t, address)
		visited++
		visit()
		queue = append(queue, value[[]string](t, b, links)...)
	}
	return visited
}
