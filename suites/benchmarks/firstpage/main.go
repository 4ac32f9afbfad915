// Package firstpage measures the first page of a large table: that of singletable view, and that
// of dynamodb-admin (npm) on the same table. A proxy between them and the local engine counts
// what they ask of it. With 1,000,000 items, singletable view took 40 ms for its first page, in 5
// requests for 100 items of 30 KB, and sent 43 KB. dynamodb-admin 5.3.3 took 70 ms, later 56, in 5
// requests for 25 items of 11 KB, and sent 34 KB.
//
//	npm install --prefix /path dynamodb-admin@5.3.3
//	go run ./suites/benchmarks firstpage -items 1000000 -admin /path/node_modules/.bin/dynamodb-admin
package firstpage

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/benchmarks/figure"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// name is that of the table.
const name = "large"

// Command measures as its flags say.
func Command(flags *flag.FlagSet) func(context.Context) error {
	items := flags.Int("items", 100_000, "how many items the table has")
	times := flags.Int("times", 11, "how often each page is opened")
	admin := flags.String("admin", "", "the program dynamodb-admin; without it, view is measured alone")
	return func(ctx context.Context) error { return run(ctx, *items, *times, *admin) }
}

func run(ctx context.Context, items, times int, admin string) (err error) {
	dir, err := os.MkdirTemp("", "firstpage-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := fill(ctx, engine, items); err != nil {
		return err
	}
	counter, err := newProxy(engine.Endpoint())
	if err != nil {
		return err
	}
	defer counter.Close()
	rows := [][]string{{fmt.Sprintf("%d items", items), "time, ms: first, then the median", "requests", "KB from the engine", "KB to the browser"}}
	measure := func(label string, cmd *exec.Cmd, open func(stdout io.Reader) ([]string, error)) error {
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+counter.URL, "DYNAMO_ENDPOINT="+counter.URL,
			"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_REGION=us-east-1")
		row, err := counter.pages(ctx, cmd, times, open)
		rows = append(rows, append([]string{label}, row...))
		return err
	}
	view := filepath.Join(dir, "singletable")
	build := exec.CommandContext(ctx, "go", "build", "-o", view, "github.com/singletable/singletable/cmd/singletable")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	err = measure("singletable view", exec.CommandContext(ctx, view, "view", "-json", name), func(stdout io.Reader) ([]string, error) {
		var opened struct{ Address string }
		err := json.NewDecoder(stdout).Decode(&opened)
		return []string{opened.Address}, err
	})
	if err == nil && admin != "" {
		port := freePort()
		err = measure("dynamodb-admin", exec.CommandContext(ctx, admin, "--port", port, "--host", "127.0.0.1"), func(io.Reader) ([]string, error) {
			at := "http://127.0.0.1:" + port + "/tables/" + name
			return []string{at, at + "/items"}, wait(ctx, at)
		})
	}
	fmt.Print(figure.Table("|---|---:|---:|---:|---:|", rows...))
	return err
}

// fill makes the table: customers with orders, of 300 bytes each.
func fill(ctx context.Context, engine *tabletest.Engine, items int) error {
	spec := schema.Table{Name: name, Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		return err
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		return err
	}
	const step, perCustomer = 5000, 20
	for from := 0; from < items; from += step {
		var ops []table.Op
		for i := from; i < min(from+step, items); i++ {
			pk := keys.User.PK(fmt.Sprintf("u-%06d", i/perCustomer))
			if i%perCustomer == 0 {
				ops = append(ops, table.Put(keys.Key{PK: pk, SK: keys.Profile}, map[string]any{"entityType": "USER", "name": fmt.Sprint("Person ", i)}))
				continue
			}
			ops = append(ops, table.Put(keys.Key{PK: pk, SK: keys.Prefix("ORDER").SK(keys.Int(i, 10))}, map[string]any{
				"entityType": "ORDER", "status": []string{"placed", "paid", "sent"}[i%3], "total": i % 9973, "number": i,
				"gsi1pk": "STATUS#" + strconv.Itoa(i%997), "gsi1sk": fmt.Sprintf("ORDER#%010d", i),
				"note": "Leave it with the neighbour on the second floor, or in the box next to the door.",
			}))
		}
		if err := tbl.BatchWrite(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}

// proxy counts what goes through it to the engine.
type proxy struct {
	*httptest.Server
	requests, bytes atomic.Int64
}

func newProxy(to string) (*proxy, error) {
	target, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	p := &proxy{}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			p.requests.Add(1)
			p.bytes.Add(max(0, r.ContentLength))
			return nil
		},
	}
	p.Server = httptest.NewServer(forward)
	return p, nil
}

// pages starts a program, and returns what its first page costs, as cells of a row. open waits
// for the program, and returns the addresses that a browser reads for the page.
func (p *proxy) pages(ctx context.Context, cmd *exec.Cmd, times int, open func(io.Reader) ([]string, error)) ([]string, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }() // It has been measured.
	addresses, err := open(stdout)
	if err != nil {
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Jar: jar}
	var took []float64
	var requests, bytes, sent int64
	for range times {
		p.requests.Store(0)
		p.bytes.Store(0)
		sent = 0
		began := time.Now()
		for _, address := range addresses {
			n, err := read(ctx, browser, address)
			if err != nil {
				return nil, err
			}
			sent += n
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		requests, bytes = p.requests.Load(), p.bytes.Load()
	}
	first := took[0]
	slices.Sort(took)
	kb := func(n int64) string { return fmt.Sprintf("%.0f", float64(n)/1024) }
	return []string{fmt.Sprintf("%.0f, %.0f", first, took[len(took)/2]), strconv.FormatInt(requests, 10), kb(bytes), kb(sent)}, nil
}

// read reads a page, and returns its length.
func read(ctx context.Context, browser *http.Client, address string) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Sec-Fetch-Site", "none")
	response, err := browser.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // It is read.
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", address, response.Status)
	}
	return io.Copy(io.Discard, response.Body)
}

// wait waits until a server responds.
func wait(ctx context.Context, address string) error {
	for {
		_, err := read(ctx, http.DefaultClient, address)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "8001"
	}
	defer l.Close() //nolint:errcheck // It was not used.
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
