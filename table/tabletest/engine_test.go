package tabletest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table/tabletest"
)

func TestStart(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
	if u, err := url.Parse(engine.Endpoint()); err != nil || !net.ParseIP(u.Hostname()).IsLoopback() {
		t.Errorf("endpoint %s: %v", engine.Endpoint(), err)
	}
	out, err := engine.Client().ListTables(t.Context(), nil)
	if err != nil || len(out.TableNames) != 0 {
		t.Errorf("tables of a new engine: %v, %v", out, err)
	}
	select {
	case <-engine.Done():
		t.Error("done before Close")
	default:
	}
	for range 2 {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		<-engine.Done()
	}
	if listens(t, engine.Endpoint()) {
		t.Error("the engine listens after Close")
	}
}

func TestConcurrentStart(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	var wg sync.WaitGroup
	endpoints := make([]string, 8)
	for i := range endpoints {
		wg.Go(func() {
			engine, err := tabletest.Start(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = engine.Close() })
			endpoints[i] = engine.Endpoint()
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, e := range endpoints {
		if seen[e] {
			t.Errorf("two engines at %s", e)
		}
		seen[e] = true
	}
}

func TestStartOnPort(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	taken := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	// That the engine is refused a port of 127.0.0.1 shows that it was given it.
	_, err := tabletest.Start(t.Context(), &tabletest.Options{Port: port})
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(port)) {
		t.Errorf("error %v; want one that names the port %d", err, port)
	}
	for _, port := range []int{-1, 1 << 16} {
		_, err := tabletest.Start(t.Context(), &tabletest.Options{Port: port})
		if err == nil || !strings.Contains(err.Error(), "Options.Port") {
			t.Errorf("port %d: error %v", port, err)
		}
	}
}

func TestStartOnFile(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	opts := &tabletest.Options{Path: filepath.Join(t.TempDir(), "orders.db")}
	ctx := t.Context()

	engine := expect.Value(tabletest.Start(ctx, opts))(t)
	name := createTable(t, engine.Client())
	put(t, engine.Client(), name, "1")
	expect.OK(t, engine.Close())

	engine = expect.Value(tabletest.Start(ctx, opts))(t)
	defer engine.Close()
	if !has(t, engine.Client(), name, "1") {
		t.Error("the item has not survived the engine")
	}
}

func TestStartOnUnusableFile(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	path := filepath.Join(t.TempDir(), "missing", "orders.db")
	_, err := tabletest.Start(t.Context(), &tabletest.Options{Path: path})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "Options.Path") {
		t.Errorf("error %v; want %v", err, fs.ErrNotExist)
	}
	// Text of more than a page: the engine reads no database in it.
	path = filepath.Join(t.TempDir(), "notes.txt")
	expect.OK(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	_, err = tabletest.Start(t.Context(), &tabletest.Options{Path: path})
	if err == nil || !strings.Contains(err.Error(), "it printed: ") {
		t.Errorf("error %v; want what the engine printed", err)
	}
}

// TestEngineIsOpenToTheMachine shows what SECURITY.md warns of: the engine takes
// requests from pages of other origins, under other host names (DNS rebinding), and
// with made-up signatures.
func TestEngineIsOpenToTheMachine(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
	defer engine.Close()
	for _, method := range []string{http.MethodOptions, http.MethodPost} {
		r := expect.Value(http.NewRequestWithContext(t.Context(), method, engine.Endpoint(), strings.NewReader("{}")))(t)
		r.Host = "attacker.example"
		for name, value := range map[string]string{
			"Origin":                         "https://attacker.example",
			"Access-Control-Request-Method":  http.MethodPost,
			"Access-Control-Request-Headers": "x-amz-target,authorization",
			"Content-Type":                   "application/x-amz-json-1.0",
			"X-Amz-Target":                   "DynamoDB_20120810.ListTables",
			"X-Amz-Date":                     "20240115T100500Z",
			"Authorization":                  "AWS4-HMAC-SHA256 Credential=x/20240115/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
		} {
			r.Header.Set(name, value)
		}
		resp := expect.Value(http.DefaultClient.Do(r))(t)
		_ = resp.Body.Close()
		if allowed := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != http.StatusOK || allowed != "*" {
			t.Errorf("%s: status %d, allowed origin %q: SECURITY.md and README.md say otherwise", method, resp.StatusCode, allowed)
		}
	}
}

func TestStartWithEndedContext(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tabletest.Start(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want %v", err, context.Canceled)
	}
}

// TestEngineEndsWithProgram also shows that neither the engine nor what watches
// it holds the program's output open, which is what `go test` waits for.
func TestEngineEndsWithProgram(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"killed", "panic", "panic in a goroutine", "exit", "return"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			c := startProgram(t, end)
			if !listens(t, c.endpoint) {
				t.Fatal("no engine")
			}
			if end == "killed" {
				expect.OK(t, c.cmd.Process.Kill())
			}
			expect.OK(t, c.stdin.Close())
			if _, err := c.stdout.ReadString('\n'); err == nil {
				t.Error("the program has printed more than its endpoint")
			}
			_ = c.cmd.Wait() // Most of them end badly, as told.
			awaitGone(t, c.endpoint)
		})
	}
}

func TestStartUsesTheVariable(t *testing.T) {
	for _, tt := range []struct {
		name, key, region string
		want              string
	}{
		{name: "made up", want: "local/us-east-1"},
		{name: "from the environment", key: "AKIAEXAMPLE", region: "eu-west-1", want: "AKIAEXAMPLE/eu-west-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var auth string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				auth = r.Header.Get("Authorization")
				_, _ = fmt.Fprint(w, `{"TableNames":["theirs"]}`)
			}))
			defer server.Close()
			t.Setenv(tabletest.EndpointVariable, server.URL)
			t.Setenv("AWS_ACCESS_KEY_ID", tt.key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			t.Setenv("AWS_REGION", tt.region)
			t.Setenv("AWS_DEFAULT_REGION", "")
			t.Setenv("PATH", t.TempDir()) // Nothing can be started.

			engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
			out := expect.Value(engine.Client().ListTables(t.Context(), nil))(t)
			expect.Equal(t, "tables", out.TableNames, []string{"theirs"})
			key, rest, _ := strings.Cut(strings.TrimPrefix(auth, "AWS4-HMAC-SHA256 Credential="), "/")
			_, rest, _ = strings.Cut(rest, "/") // The date.
			region, _, _ := strings.Cut(rest, "/")
			if got := key + "/" + region; got != tt.want {
				t.Errorf("signed as %s, want %s", got, tt.want)
			}
			if engine.Done() != nil {
				t.Error("Done tells of an engine that was not started")
			}
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
			if !listens(t, server.URL) {
				t.Error("Close has ended an engine that it had not started")
			}
		})
	}
}

func TestStartRefusesAnInvalidVariable(t *testing.T) {
	for _, value := range []string{"localhost:8000", "8000", "http://", "ftp://user:secret@127.0.0.1", "://", "http://user:secret@["} {
		t.Setenv(tabletest.EndpointVariable, value)
		_, err := tabletest.Start(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), tabletest.EndpointVariable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v; want one that names the variable and no password", value, err)
		}
	}
}

// TestStartAtADeadAddress shows that a forgotten variable is told at once, and by
// its name. The server that never responds holds the request until the context
// ends; the other address refuses connections.
func TestStartAtADeadAddress(t *testing.T) {
	closed := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	expect.OK(t, closed.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0") // It never accepts.
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for _, tt := range []struct {
		ctx  context.Context
		addr net.Addr
		want error
	}{
		{t.Context(), closed.Addr(), syscall.ECONNREFUSED},
		{ctx, silent.Addr(), context.DeadlineExceeded},
	} {
		endpoint := "http://user:secret@" + tt.addr.String()
		t.Setenv(tabletest.EndpointVariable, endpoint)
		_, err := tabletest.Start(tt.ctx, nil)
		if !errors.Is(err, tabletest.ErrNoEngine) || !errors.Is(err, tt.want) {
			t.Fatalf("error %v, want %v and %v", err, tabletest.ErrNoEngine, tt.want)
		}
		for _, part := range []string{tabletest.EndpointVariable, tt.addr.String(), "unset"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %v does not say %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v holds the password", err)
		}
	}
}

func TestClientSharesOneEngine(t *testing.T) {
	t.Parallel()
	a, b := tabletest.Client(t), tabletest.Client(t)
	name := createTable(t, a)
	put(t, a, name, "1")
	if !has(t, b, name, "1") {
		t.Error("two clients, two engines")
	}
}

// createTable creates a table with the key "pk". It uses the SDK alone, so that
// these tests say nothing of the table package.
func createTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	name := "tabletest-" + rand.Text()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	expect.OK(t, err)
	t.Cleanup(func() {
		// A test may have ended its engine, and the table with it.
		_, _ = client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name},
			func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	})
	return name
}

func item(pk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}}
}

func put(t *testing.T, client *dynamodb.Client, table, pk string) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item(pk)}); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, client *dynamodb.Client, table, pk string) bool {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &table, Key: item(pk), ConsistentRead: aws.Bool(true),
	})
	expect.OK(t, err)
	return out.Item != nil
}
