//go:build chromium

package browser

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/mail"
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
	shop  *store.Shop
	mails *mails
	url   string
}

// mails are the texts of the mails that were sent.
type mails struct{ texts chan string }

func (m *mails) send(_ context.Context, one mail.Mail) error {
	m.texts <- one.Text
	return nil
}

// code returns the code of the next mail.
func (m *mails) code() string {
	_, after, _ := strings.Cut(<-m.texts, "Your code is ")
	code, _, _ := strings.Cut(after, "\n")
	return code
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
	for _, name := range setup.Consumers {
		router := check.Must(setup.Router(name, shop, slog.New(slog.DiscardHandler)))(t)
		reader := program.Reader(name, router, tabletest.Client(t), nil)
		go func() { _ = reader.Run(t.Context()) }() // the test waits for what it does
	}
	mails := &mails{make(chan string, 9)}
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
	return tab{ctx, shop, mails, server.URL}
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

// fill types into a field of the form to log in.
func fill(name, value string) chromedp.Action {
	return chromedp.SendKeys(`#login input[name="`+name+`"]`, value, chromedp.ByQuery)
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
	b.do(t, fill("email", "carla@example.com"), fill("password", "secret-1"), fill("name", attack))
	b.click(t, "login", "Sign up")
	b.shows(t, "#message", "A mail with a code is on its way")
	b.do(t, fill("code", b.mails.code()))
	b.click(t, "login", "Log in")
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

func TestAForgottenPasswordInABrowser(t *testing.T) {
	b := open(t)
	for i := range 21 { // a page of orders has 20
		check.OK(t, b.shop.AddToCart(t.Context(), "u-ana", "p-bowl", 1, demo.Opening))
		check.OK(t, check.Err(b.shop.CheckOut(t.Context(), "u-ana", fmt.Sprint("o-", i), demo.Opening.Add(time.Duration(i)*time.Hour))))
	}
	b.do(t, chromedp.Navigate(b.url), fill("email", demo.Users[0].Email))
	b.click(t, "login", "Forgot the password")
	b.shows(t, "#message", "A mail with a code is on its way")
	b.do(t, fill("code", b.mails.code()), fill("password", "secret-2"))
	b.click(t, "login", "Set a new password")
	b.shows(t, "#who", "Ana")
	var admin bool
	b.do(t, chromedp.Evaluate(`!document.querySelector("#admin").hidden`, &admin))
	check.Equal(t, "a customer has the part of admins", admin, false)
	b.do(t, chromedp.Poll(`document.querySelectorAll("#orders li").length === 20`, nil), chromedp.Click("#orders-more", chromedp.ByQuery),
		chromedp.Poll(`document.querySelectorAll("#orders li").length === 21 && document.querySelector("#orders-more").hidden`, nil))
}

func TestAnAdminInABrowser(t *testing.T) {
	b := open(t)
	check.OK(t, b.shop.AddToCart(t.Context(), "u-bruno", "p-lamp", 2, demo.Opening), check.Err(b.shop.CheckOut(t.Context(), "u-bruno", "o-1", demo.Opening)),
		check.Err(b.shop.SetRole(t.Context(), "command", demo.Users[0].Email, store.Admin)))
	b.do(t, chromedp.Navigate(b.url), fill("email", demo.Users[0].Email), fill("password", demo.Password))
	b.click(t, "login", "Log in")

	// An order of another user moves on.
	b.do(t, chromedp.SendKeys(`#find input`, "o-1", chromedp.ByQuery))
	b.click(t, "find", "Show")
	b.shows(t, "#order h3", "Order o-1: PLACED")
	b.click(t, "advance", "It is PAID")
	b.shows(t, "#order h3", "Order o-1: PAID")
	b.shows(t, "#advance", "It is SHIPPED")

	// Products are added, deactivated, and found again. Names are text here as well.
	b.do(t, chromedp.SendKeys(`#add input[name="name"]`, "A kite", chromedp.ByQuery), chromedp.SendKeys(`#add input[name="price"]`, "15.29", chromedp.ByQuery),
		chromedp.SendKeys(`#add input[name="stock"]`, "4", chromedp.ByQuery))
	b.click(t, "add", "Add")
	b.shows(t, "#all", "A kite15.294")
	b.shows(t, "#all", attack)
	b.do(t, chromedp.Click(`//*[@id="all"]/tr[td[normalize-space()="A kite"]]//button[2]`, chromedp.BySearch),
		chromedp.Poll(`!document.querySelector("#all").textContent.includes("A kite")`, nil),
		chromedp.Evaluate(`{ const e = document.querySelector("#active"); e.value = "false"; e.dispatchEvent(new Event("change")) }`, nil))
	b.shows(t, "#all", "A kite15.294")
	b.shows(t, "#all", "Desktop bin")

	// The audits of the day, and what is low.
	p := b.shop
	check.OK(t, program.Until(t.Context(), func() (bool, error) {
		page, err := p.AuditsByEntity(t.Context(), store.OrderType, "o-1", 0, "")
		return len(page.Items) == 2, err
	}), program.Until(t.Context(), func() (bool, error) {
		page, err := p.LowStocks(t.Context(), 0, "")
		return len(page.Items) == 1, err
	}))
	audits := check.Must(p.AuditsByEntity(t.Context(), store.OrderType, "o-1", 0, ""))(t).Items
	day := audits[1].At.Format(time.DateOnly)
	b.do(t, chromedp.Evaluate(`document.querySelector("#audited input").value = "`+day+`"`, nil))
	b.click(t, "audited", "Show")
	b.shows(t, "#audits", "PRODUCT p-bin")
	b.do(t, chromedp.Reload())
	b.shows(t, "#low", "Desk lamp1")
	var images int
	b.do(t, chromedp.Evaluate(`document.images.length`, &images))
	check.Equal(t, "images", images, 0)
}
