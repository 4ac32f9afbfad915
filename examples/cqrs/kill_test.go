package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	childTable    = "CQRS_TEST_IMPORT_TABLE"
	childRequests = "CQRS_TEST_IMPORT_REQUESTS"
	childCarried  = "CQRS_TEST_IMPORT_CARRIED_OUT"
)

// stop is a request that says that it was reached, and waits.
func stop(reached chan<- struct{}, release <-chan struct{}) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		close(reached)
		select {
		case <-release:
			return next.RoundTrip(r)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// importAsChild imports the catalogue. After some requests it prints a line and
// stands still, to be killed.
func importAsChild(ctx context.Context, name string) error {
	engine, err := tabletest.Start(ctx, nil) // the one of the parent
	if err != nil {
		return err
	}
	requests, err := strconv.Atoi(os.Getenv(childRequests))
	if err != nil {
		return err
	}
	stand := func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		fmt.Println("standing still")
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if os.Getenv(childCarried) != "" {
		before := stand
		stand = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			return tabletest.After(before)(r, next)
		}
	}
	var faults tabletest.Faults
	faults.Next("", append(make([]tabletest.Fault, requests), stand)...)
	t, err := table.New(engine.Client(faults.Install), schema(name), nil)
	if err != nil {
		return err
	}
	s, err := newService(t)
	if err != nil {
		return err
	}
	_, err = s.as(Caller{Tenant: "ACME", User: "ana"}).importRows(ctx, importID, catalogue(), nil)
	return fmt.Errorf("it was not killed: %w", err)
}

func TestAnImportSurvivesTheKillOfItsProcess(t *testing.T) {
	t.Parallel()
	engine := programtest.Engine(t)
	for _, test := range []struct {
		name     string
		requests int
		carried  string
	}{
		{"while staging", 2, ""},
		{"while publishing", 6, ""},
		{"after publishing", 6, "yes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSystemWith(t, engine.Client())
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(),
				childTable+"="+s.table.Schema().Name,
				childRequests+"="+strconv.Itoa(test.requests),
				childCarried+"="+test.carried,
				tabletest.EndpointVariable+"="+engine.Endpoint(),
			)
			child.Stderr = os.Stderr
			stdout, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil || line != "standing still\n" {
				t.Errorf("the child says %q: %v", line, err)
			}
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
			if err := child.Wait(); err == nil {
				t.Error("the child was not killed")
			}
			must[Task](t)(s.acme().importRows(t.Context(), importID, catalogue(), nil))
			checkImported(t, s.acme())
		})
	}
}
