package tabletest_test

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table/tabletest"
)

// These tests are of the platform on which the engine is installed by itself.

const installed = "singletable/dynoxide-1.2.1/dynoxide"

// emptyMachine is one without an engine: nothing on PATH but what is put into
// the directory bin, and an empty cache.
func emptyMachine(t *testing.T) (bin, cache string) {
	t.Helper()
	bin, cache = t.TempDir(), t.TempDir()
	t.Setenv(tabletest.EndpointVariable, "")
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CACHE_HOME", cache)
	return bin, cache
}

// realEngine returns the path of the installed engine.
func realEngine(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, installed)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if path, err = exec.LookPath("dynoxide"); err != nil {
		// Installing it is one of the things under test.
		engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
		_ = engine.Close()
		return filepath.Join(cache, installed)
	}
	return path
}

// script puts a shell script on the machine's PATH.
func script(t *testing.T, bin, name, body string) {
	t.Helper()
	text := "#!/bin/sh\nPATH=/usr/bin:/bin\n" + body + "\n"
	expect.OK(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755))
}

// npmOf puts an npm client on the machine's PATH that installs one file, after
// other commands.
func npmOf(t *testing.T, bin, file string, before ...string) {
	t.Helper()
	script(t, bin, "npm", strings.Join(before, "\n")+`
set -e
test "$1 $2" = "install --prefix"
case "$*" in *' @dynoxide/linux-x64@1.2.1 '*) ;; *) exit 1 ;; esac
mkdir -p "$3/node_modules/@dynoxide/linux-x64"
cp '`+file+`' "$3/node_modules/@dynoxide/linux-x64/dynoxide"`)
}

// TestAddresses has engines listen where a web page does not find them. A page can try all
// ports of 127.0.0.1, and not all of 127.0.0.0/8, which Linux has.
func TestAddresses(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	seen := map[string]bool{"127.0.0.1": true}
	for range 2 {
		engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
		t.Cleanup(func() { _ = engine.Close() })
		u := expect.Value(url.Parse(engine.Endpoint()))(t)
		if seen[u.Hostname()] {
			t.Errorf("the endpoint %s has the address of another engine, or 127.0.0.1", u)
		}
		seen[u.Hostname()] = true
	}
}

// TestAdvisory ends the pinned engine with one request, as SECURITY.md says.
func TestAdvisory(t *testing.T) {
	program := realEngine(t)
	if out := expect.Value(exec.CommandContext(t.Context(), program, "--version").Output())(t); !strings.Contains(string(out), "1.2.1") {
		return // It is the user's own choice on PATH.
	}
	bin, _ := emptyMachine(t)
	expect.OK(t, os.Symlink(program, filepath.Join(bin, "dynoxide")))
	engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
	t.Cleanup(func() { _ = engine.Close() })
	client := engine.Client(func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:        aws.String("Missing"),
		Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "x"}},
		UpdateExpression: aws.String("REMOVE €"),
	})
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		t.Fatalf("the engine refuses the request: %v. It is fixed: delete this test, and GHSA-gwhp-7jch-7xj6 from SECURITY.md", refused)
	}
	<-engine.Done()
}

func TestInstall(t *testing.T) {
	npm, npmErr := exec.LookPath("npm")
	node, nodeErr := exec.LookPath("node")
	expect.OK(t, errors.Join(npmErr, nodeErr))
	bin, cache := emptyMachine(t)
	for name, path := range map[string]string{"npm": npm, "node": node} {
		expect.OK(t, os.Symlink(path, filepath.Join(bin, name)))
	}

	// The first start installs, with a line that says so; the second does not.
	for _, want := range []int{1, 0} {
		stderr := startAndClose(t)
		if lines := strings.Count(stderr, "\n"); lines != want {
			t.Errorf("%d lines on standard error, want %d: %s", lines, want, stderr)
		}
		if want == 1 && !strings.Contains(stderr, filepath.Join(cache, installed)) {
			t.Errorf("standard error does not say where: %s", stderr)
		}
	}
}

// startAndClose starts an engine in a program of its own and returns what the
// program wrote to standard error.
func startAndClose(t *testing.T) string {
	t.Helper()
	exe := expect.Value(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), asProgram+"=return")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return stderr.String()
}

// TestConcurrentInstall starts as many processes as go test may, on a machine whose
// cache is empty. Their npm clients wait for each other, so that all of them
// install and none finds the engine of another.
func TestConcurrentInstall(t *testing.T) {
	const processes = 6
	engine := realEngine(t)
	bin, cache := emptyMachine(t)
	arrived, leave := pipe(t, filepath.Join(bin, "arrived")), pipe(t, filepath.Join(bin, "leave"))
	npmOf(t, bin, engine, "echo >>'"+arrived.Name()+"'", "read line <'"+leave.Name()+"'")
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			if stderr := startAndClose(t); strings.Count(stderr, "installing") != 1 {
				t.Errorf("standard error: %q; want that it installs", stderr)
			}
		})
	}
	go func() {
		wg.Wait()
		_ = arrived.Close() // ends the reading below if a process has failed before
	}()
	if _, err := io.ReadFull(arrived, make([]byte, processes)); err != nil {
		t.Errorf("not all processes have come to install: %v", err)
	}
	if _, err := leave.WriteString(strings.Repeat("\n", processes)); err != nil {
		t.Error(err)
	}
	wg.Wait()
	files := expect.Value(os.ReadDir(filepath.Dir(filepath.Join(cache, installed))))(t)
	if len(files) != 1 {
		t.Errorf("left in the cache: %v; want the engine alone", files)
	}
}

// pipe makes a named pipe that stays open when another process closes it.
func pipe(t *testing.T, name string) *os.File {
	t.Helper()
	expect.OK(t, syscall.Mkfifo(name, 0o600))
	f := expect.Value(os.OpenFile(name, os.O_RDWR, 0))(t)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestStartReplacesADamagedCopy(t *testing.T) {
	engine := realEngine(t)
	bin, cache := emptyMachine(t)
	npmOf(t, bin, engine)
	startAndClose(t)

	// A program that runs cannot be written to, only replaced.
	damaged := filepath.Join(cache, "damaged")
	expect.OK(t, os.WriteFile(damaged, []byte("#!/bin/sh\n"), 0o755))
	expect.OK(t, os.Rename(damaged, filepath.Join(cache, installed)))
	if stderr := startAndClose(t); !strings.Contains(stderr, "sha256") || !strings.Contains(stderr, "installing") {
		t.Errorf("standard error: %q; want what is wrong and what is done", stderr)
	}
	if stderr := startAndClose(t); stderr != "" {
		t.Errorf("standard error after that: %q", stderr)
	}
}

func TestInstallRefusesAnotherProgram(t *testing.T) {
	bin, cache := emptyMachine(t)
	npmOf(t, bin, "/bin/sh")
	_, err := tabletest.Start(t.Context(), nil)
	if !errors.Is(err, tabletest.ErrNoEngine) || !strings.Contains(err.Error(), "pinned be909b79") {
		t.Errorf("error %v; want the pinned hash", err)
	}
	if _, err := os.Stat(filepath.Join(cache, installed)); err == nil {
		t.Error("the wrong program is in the cache")
	}
}

func TestStartPrefersPATH(t *testing.T) {
	engine := realEngine(t)
	bin, cache := emptyMachine(t)
	script(t, bin, "dynoxide", `exec '`+engine+`' "$@"`)
	if stderr := startAndClose(t); stderr != "" {
		t.Errorf("standard error: %q", stderr)
	}
	if files, err := os.ReadDir(cache); err != nil || len(files) != 0 {
		t.Errorf("cache: %v, %v; want nothing installed", files, err)
	}
}

func TestStartWithoutEngine(t *testing.T) {
	for _, tt := range []struct {
		name    string
		machine func(t *testing.T, bin, cache string)
		reason  string
	}{
		{"no npm", func(*testing.T, string, string) {}, `"npm": executable file not found`},
		{"npm fails", func(t *testing.T, bin, _ string) {
			script(t, bin, "npm", "echo 404 no such package >&2; exit 1")
		}, "404 no such package"},
		{"no cache directory", func(t *testing.T, _, _ string) {
			t.Setenv("XDG_CACHE_HOME", "")
			t.Setenv("HOME", "")
		}, "no cache directory"},
		{"cache directory is a file", func(t *testing.T, bin, cache string) {
			npmOf(t, bin, "/bin/sh")
			expect.OK(t, os.WriteFile(filepath.Join(cache, "singletable"), nil, 0o644))
		}, "not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin, cache := emptyMachine(t)
			tt.machine(t, bin, cache)
			_, err := tabletest.Start(t.Context(), nil)
			if !errors.Is(err, tabletest.ErrNoEngine) {
				t.Fatalf("error %v; want %v", err, tabletest.ErrNoEngine)
			}
			for _, want := range []string{
				tt.reason,
				"AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000",
				"docker run",
				"dynoxide (version 1.2.1) on PATH",
				"npm install --prefix DIR --no-save --ignore-scripts @dynoxide/linux-x64@1.2.1",
			} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}
