package releases_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/releases/program"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// rc1 is the commit of 0.1.0-rc.1.
const rc1 = "2625d1ee31462e9051bcd298ca8ff458ae17b3e2"

var binary string // of the program of 0.1.0-rc.1

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "releases-")
		if err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			binary, err = build(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// build makes the program of 0.1.0-rc.1 of its source in the history.
func build(dir string) (binary string, err error) {
	root, err := run("", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	repository := string(bytes.TrimSpace(root))
	if _, err := run(repository, nil, "git", "cat-file", "-e", rc1+"^{commit}"); err != nil {
		return "", fmt.Errorf("the source of 0.1.0-rc.1 is not in this clone: run git fetch --unshallow: %w", err)
	}
	source, err := run(repository, nil, "git", "archive", rc1)
	if err != nil {
		return "", err
	}
	if _, err := run(dir, source, "tar", "-x"); err != nil {
		return "", err
	}
	for _, folder := range [][2]string{
		{"internal/released", "internal/released"},
		{"suites/releases/program", "suites/releases/program"},
		{"suites/releases/testdata/rc1", "suites/releases/rc1"},
	} {
		if err := os.CopyFS(filepath.Join(dir, folder[1]), os.DirFS(filepath.Join(repository, folder[0]))); err != nil {
			return "", err
		}
	}
	binary = filepath.Join(dir, "rc1")
	_, err = run(dir, nil, "go", "build", "-trimpath", "-o", binary, "./suites/releases/rc1")
	return binary, err
}

func run(dir string, stdin []byte, name string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(stdin), &stderr
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=") // of one module, with its own go.sum
	stdout, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, stderr.Bytes())
	}
	return stdout, nil
}

// caller is the program of a release.
type caller interface {
	Do(ctx context.Context, c program.Call) program.Response
}

// process is the program of 0.1.0-rc.1.
type process struct {
	tb        testing.TB
	mu        sync.Mutex
	calls     *json.Encoder
	responses *json.Decoder
}

// start starts a process. When the test ends, it has to end well by itself.
func start(tb testing.TB, spec schema.Table) *process {
	tb.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+*tabletest.Client(tb).Options().BaseEndpoint)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin := expect.Value(cmd.StdinPipe())(tb)
	stdout := expect.Value(cmd.StdoutPipe())(tb)
	expect.OK(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			tb.Errorf("the program of 0.1.0-rc.1: %v\n%s", err, stderr.Bytes())
		}
	})
	p := &process{tb: tb, calls: json.NewEncoder(stdin), responses: json.NewDecoder(stdout)}
	expect.OK(tb, p.calls.Encode(spec))
	return p
}

func (p *process) Do(_ context.Context, c program.Call) (r program.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	expect.OK(p.tb, p.calls.Encode(c))
	expect.OK(p.tb, p.responses.Decode(&r))
	return r
}

type repository[T any] struct{ *repo.Repo[T] }

func (r repository[T]) Count(ctx context.Context, v T) (T, error) {
	return r.Upsert(ctx, v, repo.Patch{Add: map[string]any{"n": 1}})
}

func newRepo[T any](t *table.Table) func(repo.Entity[T]) (program.Repo[T], error) {
	return func(e repo.Entity[T]) (program.Repo[T], error) {
		r, err := repo.New(t, e)
		return repository[T]{r}, err
	}
}

// newTable returns a new table of a schema that is JSON.
func newTable(tb testing.TB, text string) *table.Table {
	tb.Helper()
	var spec schema.Table
	expect.OK(tb, json.Unmarshal([]byte(text), &spec))
	return tabletest.New(tb, spec, nil)
}

// side is a table and the programs of both releases.
type side struct {
	table *table.Table
	old   *process
	new   *program.Program
}

func newSide(tb testing.TB) side {
	tb.Helper()
	t := newTable(tb, released.Schema)
	p := expect.Value(program.New(t, newRepo[released.Doc](t), newRepo[program.Value](t)))(tb)
	store := expect.Value(idempotency.New(t, nil))(tb)
	p.Once = func(ctx context.Context, key, payload string, plan func(context.Context) (idempotency.Plan[program.Value], error)) (idempotency.Result[program.Value], error) {
		request := idempotency.Request{Scope: "s", Key: key, Payload: idempotency.JSON(map[string]any{"email": payload})}
		return idempotency.Do(ctx, store, request, plan)
	}
	return side{t, start(tb, t.Schema()), p}
}

// stored returns all items of a table.
func stored(tb testing.TB, t *table.Table) []table.Item {
	tb.Helper()
	out, err := tabletest.Client(tb).Scan(tb.Context(), &dynamodb.ScanInput{TableName: new(t.Schema().Name), ConsistentRead: new(true)})
	expect.OK(tb, err)
	if out.LastEvaluatedKey != nil {
		tb.Fatal("the table has several pages")
	}
	items := make([]table.Item, len(out.Items))
	for i, item := range out.Items {
		items[i] = item
	}
	return items
}
