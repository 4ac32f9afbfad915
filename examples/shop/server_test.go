package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table/tabletest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// served is a server that runs.
type served struct {
	url string
	out *check.Log
	end func(*testing.T) // and wait
}

// startDev runs the server with -dev.
func startDev(t *testing.T, args ...string) served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s, ended := served{out: &check.Log{}}, make(chan error, 1)
	go func() {
		ended <- service().Run(ctx, append([]string{"-dev", "-addr", "127.0.0.1:0"}, args...), s.out, io.Discard)
	}()
	s.end = func(t *testing.T) {
		t.Helper()
		cancel()
		check.OK(t, <-ended)
	}
	s.out.Wait(t, "The mails of the shop")
	s.url = regexp.MustCompile(`listening on (\S+)`).FindStringSubmatch(s.out.String())[1]
	return s
}

// command returns the program, in a mode, on a table of an engine.
func command(t *testing.T, engine *tabletest.Engine, table string, args ...string) *exec.Cmd {
	t.Helper()
	o := engine.Client().Options()
	credentials := check.Must(o.Credentials.Retrieve(t.Context()))(t)
	cmd := programtest.Command(t.Context(), append([]string{"-endpoint", engine.Endpoint(), "-table", table}, args...)...)
	cmd.Env = append(cmd.Env, "AWS_REGION="+o.Region, "AWS_ACCESS_KEY_ID="+credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+credentials.SecretAccessKey,
		setup.KeyVariable+"=ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=", setup.MailFrom+"=shop@example.com")
	return cmd
}

// startServe starts the server with -serve on a table of an engine, as a process.
func startServe(t *testing.T, engine *tabletest.Engine, table string) (served, *programtest.Server) {
	t.Helper()
	p := programtest.Start(t, command(t, engine, table, "-serve", "-addr", "127.0.0.1:0"), "listening on")
	return served{url: p.URL}, p
}

// request sends a request and returns its response.
func (p served) request(ctx context.Context, token, method, path, body string, header ...string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// do sends a request, and ends the test unless it succeeds.
func (p served) do(t *testing.T, token, method, path, body string) string {
	t.Helper()
	status, text, err := p.request(t.Context(), token, method, path, body)
	if err != nil || status/100 != 2 {
		t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
	return text
}

func (p served) logIn(t *testing.T, email string) (token string) {
	t.Helper()
	var s struct{ Token string }
	check.OK(t, json.Unmarshal([]byte(p.do(t, "", "POST", "/sessions", `{"email":"`+email+`","password":"`+demo.Password+`"}`)), &s))
	return s.Token
}

// shows asks until a response has a text.
func (p served) shows(t *testing.T, token, path, text string) {
	t.Helper()
	check.OK(t, program.Until(t.Context(), func() (bool, error) {
		_, got, err := p.request(t.Context(), token, "GET", path, "")
		return strings.Contains(got, text), err
	}))
}

func TestTheRequestsThatItPrintsWork(t *testing.T) {
	t.Parallel()
	p := startDev(t)
	token, sent := p.logIn(t, "ana@example.com"), 0
	for _, address := range regexp.MustCompile(`curl -s '([^']*)' -H`).FindAllStringSubmatch(p.out.String(), -1) {
		p.do(t, token, "GET", strings.TrimPrefix(address[1], p.url), "")
		sent++
	}
	check.Equal(t, "requests", sent, 2)
	p.do(t, "", "GET", "/", "")
	p.end(t)
}

// A sale below the threshold is audited and notified of by the server itself, a new user
// logs in with the code of the mail that it prints, and the file keeps all of that.
func TestTheDevelopmentServerIsWholeAndKeepsItsData(t *testing.T) {
	t.Parallel()
	file, table := filepath.Join(t.TempDir(), "shop"), programtest.Table(t, "Shop")
	p := startDev(t, "-data", file, "-table", table)
	admin := p.logIn(t, "ana@example.com")
	p.do(t, admin, "PATCH", "/admin/products/p-desk", `{"addStock":-9}`)
	p.shows(t, admin, "/admin/low-stock", `"productId":"p-desk","name":"Desk, oak","stock":1`)
	p.shows(t, admin, "/admin/audits?type=PRODUCT&id=p-desk", `"old":{"stock":10},"new":{"stock":1}`)
	p.do(t, "", "POST", "/users", `{"email":"carla@example.com","name":"Carla","password":"secret-1"}`)
	p.out.Wait(t, "Your code is ")
	code := regexp.MustCompile(`Your code is (\w+)`).FindStringSubmatch(p.out.String())
	login := `{"email":"carla@example.com","password":"secret-1","code":"` + code[1] + `"}`
	p.do(t, "", "POST", "/sessions", login)
	p.end(t)

	p = startDev(t, "-data", file, "-table", table)
	p.do(t, "", "POST", "/sessions", `{"email":"carla@example.com","password":"secret-1"}`)
	p.shows(t, p.logIn(t, "ana@example.com"), "/admin/low-stock", `"productId":"p-desk"`)
	p.end(t)
}

// The server is killed while customers order. What it has acknowledged is there, a request
// without a response has become one order at most, and its retry is that order.
func TestAKilledServerHasLostNoOrder(t *testing.T) {
	t.Parallel()
	const pieces, customers, enough = 10_000, 4, 30
	engine := programtest.Engine(t)
	name := programtest.Table(t, "Shop")
	for range 2 { // the second one creates nothing
		check.OK(t, command(t, engine, name, "-create").Run())
	}
	shop := check.Must(setup.Shop(engine.Client(), name, nil, demo.Rounds))(t)
	check.OK(t, demo.Seed(t.Context(), shop))
	check.OK(t, check.Err(shop.ChangeProduct(t.Context(), "eva", "p-bowl", func(p *store.Product) error { p.Stock = pieces; return nil })))
	p, server := startServe(t, engine, name)
	all := make([]customer, customers)
	for i := range all {
		all[i].id, all[i].orders = fmt.Sprint("u-", i), map[string]string{}
		all[i].email = all[i].id + "@example.com"
		check.OK(t, demo.SignUp(t.Context(), shop, store.User{ID: all[i].id, Email: all[i].email, Name: "Ana"}))
		all[i].token = p.logIn(t, all[i].email)
	}
	var acknowledged atomic.Int64
	var load sync.WaitGroup
	killed := make(chan struct{})
	for i := range all {
		load.Go(func() {
			for all[i].order(t.Context(), p) == nil {
				if acknowledged.Add(1) == enough {
					close(killed)
				}
			}
		})
	}
	<-killed
	check.OK(t, server.Cmd.Process.Kill())
	load.Wait()
	if <-server.Exited == nil {
		t.Error("it was not killed")
	}

	p, server = startServe(t, engine, name)
	sold := 0
	for _, c := range all {
		for path, body := range c.orders {
			check.Equal(t, "an order", p.do(t, c.token, "GET", path, ""), body)
		}
		check.OK(t, c.send(t.Context(), p))
		list := check.Must(shop.OrdersByUser(t.Context(), c.id, 0, ""))(t)
		check.Equal(t, "orders of "+c.id, len(list.Items), len(c.orders))
		sold += len(list.Items)
	}
	left := check.Must(shop.ProductByID(t.Context(), "p-bowl"))(t)
	check.Equal(t, "stock", left.Stock, pieces-sold)
	t.Logf("%d orders, %d of them acknowledged", sold, acknowledged.Load())
	server.End(t, os.Interrupt)
}

// customer orders one bowl after the other.
type customer struct {
	id, email, token string
	orders           map[string]string // those that were acknowledged, by their paths
	key, revision    string            // of the last order
}

// order fills the cart and orders it.
func (c *customer) order(ctx context.Context, p served) error {
	_, _, err := p.request(ctx, c.token, "POST", "/cart/items", `{"productId":"p-bowl","quantity":1}`)
	if err != nil {
		return err
	}
	_, text, err := p.request(ctx, c.token, "GET", "/cart", "")
	if err != nil {
		return err
	}
	var cart struct{ CartRevision string }
	if err := json.Unmarshal([]byte(text), &cart); err != nil {
		return err
	}
	c.key, c.revision = fmt.Sprint("k-", len(c.orders)), cart.CartRevision
	return c.send(ctx, p)
}

// send sends the last order, perhaps again.
func (c *customer) send(ctx context.Context, p served) error {
	status, text, err := p.request(ctx, c.token, "POST", "/orders", fmt.Sprintf(`{"cartRevision":%q}`, c.revision), "Idempotency-Key", c.key)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("order: %d %s", status, text)
	}
	if err != nil {
		return err
	}
	var order struct{ OrderID string }
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return err
	}
	c.orders["/orders/"+order.OrderID] = text
	return nil
}
