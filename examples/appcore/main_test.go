package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func start(t *testing.T, args ...string) *programtest.Server {
	t.Helper()
	cmd := programtest.Command(t.Context(), append([]string{"-dev", "-addr", "127.0.0.1:0"}, args...)...)
	return programtest.Start(t, cmd, "/notifications'")
}

// curl runs a line as it was printed, as a shell would.
func curl(t *testing.T, line string, variables map[string]string) (status int, body string) {
	t.Helper()
	line = os.Expand(line, func(name string) string { return variables[name] })
	target := regexp.MustCompile(`['"](http[^'"]*)['"]`).FindStringSubmatch(line)
	if target == nil {
		t.Fatalf("no address in %s", line)
	}
	method, content := http.MethodGet, ""
	if data := regexp.MustCompile(`-d '([^']*)'`).FindStringSubmatch(line); data != nil {
		method, content = http.MethodPost, data[1]
	}
	if named := regexp.MustCompile(`-X ([A-Z]+)`).FindStringSubmatch(line); named != nil {
		method = named[1]
	}
	req := check.Must(http.NewRequestWithContext(t.Context(), method, target[1], strings.NewReader(content)))(t)
	for _, header := range regexp.MustCompile(`-H "([^:]*): ([^"]*)"`).FindAllStringSubmatch(line, -1) {
		req.Header.Set(header[1], header[2])
	}
	resp := check.Must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	text := check.Must(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(text)
}

// engine returns the arguments for a server on an engine of the test's.
func engine(t *testing.T) []string {
	t.Helper()
	return []string{"-endpoint", programtest.Engine(t).Endpoint(), "-table", programtest.Table(t, "AppCore")}
}

func TestThePrintedLinesWork(t *testing.T) {
	t.Parallel()
	s := start(t, append(engine(t), "-demo")...)
	variables := map[string]string{"RANDOM": "4711"}
	tried := 0
	for _, line := range s.Out {
		if !strings.Contains(line, "curl ") {
			continue
		}
		tried++
		status, body := curl(t, line, variables)
		want := http.StatusOK
		if strings.Contains(line, "curl -i ") { // one that creates
			want = http.StatusCreated
		}
		if status != want {
			t.Errorf("%s\nstatus %d: %s", line, status, body)
		}
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "TOKEN="):
			variables["TOKEN"] = strings.TrimSpace(body)
		case strings.HasPrefix(trimmed, "STAFF="):
			variables["STAFF"] = strings.TrimSpace(body)
		case strings.HasPrefix(trimmed, "ID="):
			variables["ID"] = regexp.MustCompile(`tx-[a-z0-9]*`).FindString(body)
		case strings.HasPrefix(trimmed, "NOTIF="):
			variables["NOTIF"] = regexp.MustCompile(`[0-9TZ:.-]*~notif-[a-z0-9]*`).FindString(body)
		case strings.Contains(trimmed, "/notifications'") && !strings.Contains(body, variables["ID"]+`","message":"Your transaction of 500 ARS was approved","read":true`):
			t.Errorf("what was approved is not read: %s", body)
		}
	}
	if tried != 15 {
		t.Errorf("%d lines with curl, want 15:\n%s", tried, strings.Join(s.Out, "\n"))
	}
	if status, body := curl(t, "curl '"+s.URL+"/dev/token'", nil); status != http.StatusBadRequest || !strings.Contains(body, `"code":"invalid_user"`) {
		t.Errorf("a token for nobody: status %d: %s", status, body)
	}
	if !strings.Contains(s.Log.String(), "DEVELOPMENT SERVER") {
		t.Errorf("it does not say what it is: %s", s.Log)
	}
	if status, body := curl(t, "curl '"+s.URL+"/.well-known/jwks.json'", nil); status != http.StatusOK || !strings.Contains(body, `"kid"`) {
		t.Errorf("keys: status %d: %s", status, body)
	}
	s.End(t, os.Interrupt)
}

// What a server for development gives to anyone must not leave the machine: not to
// other machines, and not to web pages whose name resolves to this one.
func TestDevServesThisMachineOnly(t *testing.T) {
	t.Parallel()
	s := start(t, engine(t)...)
	u := check.Must(url.Parse(s.URL))(t)
	for _, c := range []struct {
		method, path, host string
		status             int
	}{
		{"GET", "/dev/token?user=u-123", u.Host, http.StatusOK},
		{"GET", "/dev/token?user=u-123", "localhost:" + u.Port(), http.StatusOK},
		{"GET", "/dev/token?user=u-123", "LOCALHOST", http.StatusOK},
		{"GET", "/dev/token?user=u-123", "[::1]:" + u.Port(), http.StatusOK},
		{"GET", "/dev/token?user=u-123", "evil.example:" + u.Port(), http.StatusMisdirectedRequest},
		{"GET", "/dev/token?user=u-123", "127.0.0.1.evil.example", http.StatusMisdirectedRequest},
		{"GET", "/dev/token?user=u-123", "10.0.0.1:" + u.Port(), http.StatusMisdirectedRequest},
		{"GET", "/transactions", "evil.example", http.StatusMisdirectedRequest},
		{"POST", "/dev/token", u.Host, http.StatusMethodNotAllowed},
		{"GET", "//dev/token", u.Host, http.StatusNotFound},
		{"GET", "/healthz", u.Host, http.StatusOK},
		{"GET", "/readyz", u.Host, http.StatusOK},
		{"OPTIONS", "*", u.Host, http.StatusNotFound},
	} {
		req := check.Must(http.NewRequestWithContext(t.Context(), c.method, s.URL, http.NoBody))(t)
		req.URL.Opaque, req.Host = c.path, c.host
		if strings.HasPrefix(c.path, "//") {
			req.URL.Opaque = s.URL + c.path
		}
		resp := check.Must(http.DefaultTransport.RoundTrip(req))(t)
		body := check.Must(io.ReadAll(resp.Body))(t)
		resp.Body.Close()
		if resp.StatusCode != c.status || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: %d %v %s", c, resp.StatusCode, resp.Header, body)
		}
		if c.status >= 400 && !strings.HasPrefix(string(body), `{"error":{"code":"`) {
			t.Errorf("%+v: %s", c, body)
		}
	}
}

// A client that never sends the rest of its request keeps the drain waiting.
func TestASecondSignalEndsTheDrain(t *testing.T) {
	t.Parallel()
	s := start(t, engine(t)...)
	_, token := curl(t, "curl '"+s.URL+"/dev/token?user=u-123'", nil)
	u := check.Must(url.Parse(s.URL))(t)
	conn := check.Must(net.Dial("tcp", u.Host))(t)
	defer conn.Close()
	// With Expect, the server says when the handler reads the body.
	fmt.Fprintf(conn, "POST /transactions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nIdempotency-Key: k\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
		u.Host, strings.TrimSpace(token))
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q %v", line, err)
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		check.OK(t, s.Cmd.Process.Signal(signal))
		s.Log.Wait(t, `"draining"`)
	}
	if err := <-s.Exited; err == nil || s.Cmd.ProcessState.ExitCode() != 1 || !strings.Contains(s.Log.String(), "second signal") {
		t.Errorf("%v\n%s", err, s.Log)
	}
}

func TestWithoutDevItRunsOnATableThatIsThere(t *testing.T) {
	t.Parallel()
	e, name := programtest.Engine(t), programtest.Table(t, "AppCore")
	store := secretstest.New("appcore/cursor-keys", "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=")
	defer store.Close()
	command := func() *exec.Cmd {
		cmd := programtest.Command(t.Context(), "-serve", "-addr", "127.0.0.1:0", "-endpoint", e.Endpoint(), "-table", name)
		cmd.Env = append(cmd.Env,
			"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
			"COGNITO_USER_POOL_ID=us-east-1_AbCdEfGhI", "COGNITO_CLIENT_ID=client",
			"CURSOR_KEYS_SECRET=appcore/cursor-keys", secretstest.EndpointVariable+"="+store.URL)
		return cmd
	}
	if out, err := command().CombinedOutput(); err == nil || !strings.Contains(string(out), "does not exist") {
		t.Errorf("without a table: %v\n%s", err, out)
	}
	check.OK(t, core.Schema(name).Ensure(t.Context(), e.Client()))
	store.Set("short")
	if out, err := command().CombinedOutput(); err == nil || !strings.Contains(string(out), "cursor keys") || strings.Contains(string(out), "short") {
		t.Errorf("without valid cursor keys: %v\n%s", err, out)
	}
	store.Set("ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=")
	s := programtest.Start(t, command(), "listening on")
	for path, want := range map[string]int{
		"/transactions":          http.StatusUnauthorized,
		"/dev/token?user=u-1":    http.StatusNotFound,
		"/.well-known/jwks.json": http.StatusNotFound,
	} {
		if status, body := curl(t, "curl '"+s.URL+path+"'", nil); status != want {
			t.Errorf("%s: status %d: %s", path, status, body)
		}
	}
	s.End(t, syscall.SIGTERM)
}

func TestItRefusesToStartAndSaysWhy(t *testing.T) {
	t.Parallel()
	pool := []string{"AWS_REGION=eu-west-1", "COGNITO_USER_POOL_ID=eu-west-1_AbCdEfGhI", "COGNITO_CLIENT_ID=client"}
	for _, c := range []struct {
		name string
		args []string
		env  []string
		says []string
	}{
		{"no mode", nil, nil, []string{"-dev", "-serve"}},
		{"no user pool", []string{"-serve"}, nil, []string{"COGNITO_USER_POOL_ID", "COGNITO_CLIENT_ID", "AWS_REGION", "-dev"}},
		{"no client", []string{"-serve"}, pool[:2], []string{"COGNITO_CLIENT_ID"}},
		{"no cursor keys", []string{"-serve"}, pool, []string{"CURSOR_KEYS_SECRET"}},
		{"-demo without -dev", []string{"-serve", "-demo"}, nil, []string{"-dev"}},
		{"-data without -dev", []string{"-serve", "-data", "x"}, nil, []string{"-dev"}},
		{"an argument", []string{"-dev", "what"}, nil, []string{`"what"`}},
		{"-dev for every machine", []string{"-dev", "-addr", "0.0.0.0:0"}, nil, []string{"-addr", "127.0.0.1", "0.0.0.0"}},
		{"-dev without a host", []string{"-dev", "-addr", ":0"}, nil, []string{"-addr"}},
		{"-dev for every machine, IPv6", []string{"-dev", "-addr", "[::]:0"}, nil, []string{"-addr"}},
		{"-dev with an engine elsewhere", []string{"-dev", "-addr", "127.0.0.1:0", "-endpoint", "https://dynamodb.eu-west-1.amazonaws.com"}, nil, []string{"-endpoint", "amazonaws"}},
		{
			"-dev with an inherited engine elsewhere",
			[]string{"-dev", "-addr", "127.0.0.1:0"},
			[]string{"AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1@10.0.0.1:8000"},
			[]string{"AWS_ENDPOINT_URL_DYNAMODB", "-dev"},
		},
		{"any web page", []string{"-dev", "-cors", "*"}, nil, []string{"-cors", "origin"}},
		{"a page, not an origin", []string{"-serve", "-cors", "https://app.example.com/"}, nil, []string{"-cors", "origin"}},
		{"a rate below 0", []string{"-dev", "-rate", "-1"}, nil, []string{"-rate", "-1"}},
		{"no burst", []string{"-dev", "-burst", "0"}, nil, []string{"-burst"}},
		{"an address that is none", []string{"-dev", "-addr", "nowhere"}, nil, []string{"nowhere"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := programtest.Command(t.Context(), c.args...)
			cmd.Env = append(cmd.Env, c.env...)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("%v\n%s", err, out)
			}
			for _, want := range c.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("it does not speak of %s: %s", want, out)
				}
			}
		})
	}
}

// With -cors, a browser lets the pages of the origin call the API, and no others: as by the
// template, where API Gateway responds.
func TestPagesOfTheOriginMayCallTheAPI(t *testing.T) {
	t.Parallel()
	const origin = "https://app.example.com"
	s := start(t, append(engine(t), "-cors", origin)...)
	for from, want := range map[string]string{origin: origin, "https://evil.example": ""} {
		r := check.Must(http.NewRequestWithContext(t.Context(), http.MethodOptions, s.URL+"/transactions", nil))(t)
		r.Header.Set("Origin", from)
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		r.Header.Set("Access-Control-Request-Headers", "authorization,content-type,idempotency-key")
		response := check.Must(http.DefaultClient.Do(r))(t)
		check.OK(t, response.Body.Close())
		check.Equal(t, "Access-Control-Allow-Origin for "+from, response.Header.Get("Access-Control-Allow-Origin"), want)
	}
	s.End(t, syscall.SIGTERM)
	var rules map[string]any
	for _, a := range samtest.Of[struct {
		CORS map[string]any `yaml:"CorsConfiguration"`
	}](t, samtest.Read(t, "template.yaml"), "AWS::Serverless::HttpApi") {
		rules = a.CORS
	}
	check.Equal(t, "rules of the template", fmt.Sprint(rules["AllowMethods"], rules["AllowHeaders"], rules["ExposeHeaders"], rules["MaxAge"]),
		fmt.Sprint(corsOf("").AllowedMethods, corsOf("").AllowedHeaders, corsOf("").ExposedHeaders, corsOf("").MaxAge))
}
