//go:build chromium

package browser

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table/tabletest"
)

// attack is a name that runs a script if it becomes HTML.
const attack = `<img src=x onerror="window.attacked=1">`

// tab is a tab of a browser with the page of a shop of its own.
type tab struct {
	context.Context
	shop *store.Shop
	url  string
}

func open(t *testing.T) tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: install it with apt-get install -y --no-install-recommends chromium", err)
	}
	spec := store.Schema("Shop")
	tbl := tabletest.New(t, spec, nil)
	keys := setup.Keys{bytes.Repeat([]byte("k"), session.MinKey)}
	shop := check.Must(setup.Shop(tabletest.Client(t), tbl.Schema().Name, keys, 1))(t)
	check.OK(t, demo.Seed(t.Context(), shop),
		shop.AddProduct(t.Context(), "eva", store.Product{ID: "p-attack", Name: attack, Category: "garden", Price: 250, Stock: 9, Active: true}))
	api := check.Must(setup.API(shop, keys, api.Options{Mail: mails.send, Log: slog.New(slog.DiscardHandler)}))(t)
	server := httptest.NewServer(api.Handler())
	t.Cleanup(server.Close)

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("an exception in the page: %v", e.ExceptionDetails)
		}
	})
	return tab{ctx, shop, server.URL}
}

func (b tab) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	check.OK(t, chromedp.Run(b, actions...))
}

// shows waits until an element has a text.
func (b tab) shows(t *testing.T, selector, text string) {
	t.Helper()
	var got string
	err := chromedp.Run(b, chromedp.PollFunction(
		`(selector, text) => { const e = document.querySelector(selector); return e !== null && e.checkVisibility() && e.textContent.includes(text); }`,
		nil, chromedp.WithPollingArgs(selector, text), chromedp.WithPollingTimeout(10*time.Second)))
	if err != nil {
		_ = chromedp.Run(b, chromedp.Text("body", &got, chromedp.ByQuery))
		t.Fatalf("%s does not show %q: %v\n%s", selector, text, err, got)
	}
}

// click clicks the button with a text within an element.
func (b tab) click(t *testing.T, within, text string) {
	t.Helper()
	b.do(t, chromedp.Click(`//*[@id="`+within+`"]//button[normalize-space()="`+text+`"]`, chromedp.BySearch))
}

// add puts the product of a row of the catalogue into the cart.
func (b tab) add(t *testing.T, row string) {
	t.Helper()
	b.do(t, chromedp.Click(`#products tr:nth-child(`+row+`) button`, chromedp.ByQuery))
}

func TestShoppingInABrowser(t *testing.T) {
	b := open(t)
	b.do(t, chromedp.Navigate(b.url))

	// The catalogue is there for all, and names are text.
	b.shows(t, "#products", attack)
	b.shows(t, "#description", "For beds and borders.")
	var images int
	var attacked bool
	b.do(t, chromedp.Evaluate(`document.images.length`, &images), chromedp.Evaluate(`"attacked" in window`, &attacked))
	if images > 0 || attacked {
		t.Error("the name of a product has become HTML")
	}

	// The policy stops scripts in the page.
	b.do(t, chromedp.Evaluate(`{ const s = document.createElement("script"); s.textContent = "window.attacked = 1"; document.body.append(s); "attacked" in window }`, &attacked))
	if attacked {
		t.Error("a script in the page has run")
	}

	// Without a session, the cart asks to log in.
	b.add(t, "1")
	b.shows(t, "#message", "log in first")

	// Sign up, with a name that is an attack as well.
	fill := func(name, value string) chromedp.Action {
		return chromedp.SendKeys(`input[name="`+name+`"]`, value, chromedp.ByQuery)
	}
	b.do(t, fill("email", "carla@example.com"), fill("password", "secret-1"), fill("name", attack))
	b.click(t, "login", "Sign up")
	b.shows(t, "#who", attack)

	// A cart of three lamps and one bowl, less the bowl.
	b.click(t, "categories", "Home")
	b.shows(t, "#products", "Desk lamp")
	for range 3 {
		b.add(t, "1")
	}
	b.shows(t, "#cart", "Desk lamp3")
	b.click(t, "categories", "Kitchen")
	b.shows(t, "#products", "Bowl")
	b.add(t, "1")
	b.shows(t, "#cart", "Bowl1")
	b.do(t, chromedp.Click(`#cart tr:nth-child(1) button`, chromedp.ByQuery)) // the bowl is first
	b.do(t, chromedp.Poll(`!document.querySelector("#cart").textContent.includes("Bowl")`, nil))

	// Somebody else takes a lamp: the page names what ran out, and the cart stays.
	_, err := b.shop.ChangeProduct(t.Context(), "eva", "p-lamp", func(p *store.Product) error { p.Stock = 2; return nil })
	check.OK(t, err)
	b.do(t, chromedp.Click("#checkout", chromedp.ByQuery))
	b.shows(t, "#message", "out of stock: Desk lamp (3 wanted, 2 left)")
	b.shows(t, "#cart", "Desk lamp3")

	// There are lamps again: one order, with its subtotal.
	_, err = b.shop.ChangeProduct(t.Context(), "eva", "p-lamp", func(p *store.Product) error { p.Stock = 5; return nil })
	check.OK(t, err)
	b.do(t, chromedp.Click("#checkout", chromedp.ByQuery))
	b.shows(t, "#order", "Desk lamp349.00147.00")
	b.shows(t, "#order tfoot", "147.00")
	b.shows(t, "#orders", "147.00, PLACED")

	// The session outlives a reload, and a look at the order is another request.
	b.do(t, chromedp.Reload())
	b.shows(t, "#who", attack)
	b.click(t, "orders", "Show")
	b.shows(t, "#order h3", "PLACED")

	// After the log-out nothing of it is left.
	b.do(t, chromedp.Click("#logout", chromedp.ByQuery), chromedp.WaitVisible("#login", chromedp.ByQuery))
	var text string
	var kept int
	b.do(t, chromedp.Evaluate(`document.querySelector("#cart").textContent + document.querySelector("#orders").textContent + document.querySelector("#order tbody").textContent`, &text), chromedp.Evaluate(`sessionStorage.length`, &kept))
	if strings.TrimSpace(text) != "" || kept != 0 {
		t.Errorf("after the log-out: %q, %d values", text, kept)
	}
}
