package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// server is the program as a process.
type server struct{ *programtest.Server }

// start starts the program and waits until it serves.
func start(t *testing.T, args ...string) server {
	t.Helper()
	cmd := programtest.Command(t.Context(), append([]string{"-dev", "-addr", "127.0.0.1:0"}, args...)...)
	return server{programtest.Start(t, cmd, "/counts")}
}

// request sends a request and returns its response.
func request(ctx context.Context, url, token, key, body string) (int, string, error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func (s server) token(t *testing.T) string {
	t.Helper()
	_, token, err := request(t.Context(), s.URL+"/dev/token?tenant=ACME&user=ana&group=admin", "", "", "")
	check.OK(t, err)
	return strings.TrimSpace(token)
}

func TestTheRequestsThatItPrintsWork(t *testing.T) {
	t.Parallel()
	s := start(t)
	token, sent := s.token(t), 0
	for _, line := range s.Out {
		address := regexp.MustCompile(`curl -s '([^']*)' -H`).FindStringSubmatch(line)
		if address == nil {
			continue
		}
		var key, body string
		if m := regexp.MustCompile(`Idempotency-Key: ([^"]*)"`).FindStringSubmatch(line); m != nil {
			key = m[1]
		}
		if m := regexp.MustCompile(`-d '([^']*)'`).FindStringSubmatch(line); m != nil {
			body = m[1]
		}
		status, text, err := request(t.Context(), address[1], token, key, body)
		if err != nil || status/100 != 2 {
			t.Errorf("%s: %d %s %v", line, status, text, err)
		}
		sent++
	}
	check.Equal(t, "requests", sent, 9)
	s.End(t, os.Interrupt)
}

// The process is killed while it does an import. The next one finds the task at its start.
func TestAKilledProcessLeavesItsImportToTheNext(t *testing.T) {
	t.Parallel()
	engine := programtest.Engine(t)
	name := programtest.Table(t, "Cqrs")
	s := start(t, "-endpoint", engine.Endpoint(), "-table", name)
	const rows = 400
	type row struct {
		Type string   `json:"type"`
		Path []string `json:"path"`
	}
	source := struct {
		ID   string `json:"id"`
		Rows []row  `json:"rows"`
	}{ID: "imp-1"}
	for i := range rows {
		source.Rows = append(source.Rows, row{"PRODUCT", []string{fmt.Sprint("P-", i)}})
	}
	status, text, err := request(t.Context(), s.URL+"/imports", s.token(t), "", string(check.Must(json.Marshal(source))(t)))
	check.OK(t, err)
	check.Equal(t, "status of "+text, status, http.StatusAccepted)
	var before, after struct {
		Status string
		Done   int
	}
	_, text, err = request(t.Context(), s.URL+"/task?id=imp-1", s.token(t), "", "")
	check.OK(t, err, s.Cmd.Process.Kill(), json.Unmarshal([]byte(text), &before))
	if <-s.Exited == nil {
		t.Error("it was not killed")
	}
	if before.Status == "DONE" {
		t.Fatal("it was faster than the kill")
	}

	s = start(t, "-endpoint", engine.Endpoint(), "-table", name)
	token := s.token(t)
	check.OK(t, program.Until(t.Context(), func() (bool, error) {
		_, text, err := request(t.Context(), s.URL+"/task?id=imp-1", token, "", "")
		if err != nil {
			return false, err
		}
		return after.Status == "DONE", json.Unmarshal([]byte(text), &after)
	}))
	check.Equal(t, "rows", after.Done, rows)
	s.Log.Wait(t, `"msg":"tasks resumed","tasks":1`)
	t.Logf("%d of %d rows were done when it was killed", before.Done, rows)
}

func TestMistakesAreErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-nope"}, {"-dev", "more"}, {"-dev", "-addr", "0.0.0.0:0"}, {"-walk", "-nope"}} {
		if err := new(app).service().Run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
