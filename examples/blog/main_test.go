package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, blog)
	programtest.Contains(t, first,
		"table, pk = USER#ana and sk begins with POST#, backwards",
		"USER#ana  POST#2024-01-18T10:00:00.000Z#p4  Day 4",
		"  page 1\n    POST#p1  COMMENT#2024-01-15T14:00:00.000Z#c4  Bob  Thanks\n",
		"  page 2\n    POST#p1  COMMENT#2024-01-15T11:00:00.000Z#c1  Bob  First!\n  found 4, requests 2, read units",
		"PUBLISHED  2024-02-17T10:00:00.000Z#p3  Day 3",
		"USER#bob  GROUP#cooks    Cooks    member  2024-01-16",
		"cooks has 2 members, bob is in 2 groups",
		"DRIVE#ana  NODE#archive#work#2024#plan.txt    FILE",
		"5 nodes read and moved: requests 4",
		"the item has 0 bytes and the name of an object of 153600",
		"sk from 2024-01-15T12:00:00.000 to",
		"the total, 20 more than before",
		"table, pk = USER#bob and sk begins with COMMENT#, backwards",
		"USER#bob  COMMENT#2024-01-15T15:00:00.000Z#p3#c5  Robert  of version 3  Between two names\n",
		"USER#bob  COMMENT#2024-01-15T11:00:00.000Z#p1#c1  Robert  of version 3  First!\n  found 5, requests 1",
		"interrupted; started again",
		"of their writes 0 are missing",
	)

	// A second run on the same table finds its rows there.
	reads := func(report string) string { return programtest.Between(t, report, "\n1. ", "\n11. ") }
	check.Equal(t, "the second report", reads(again), reads(first))
	programtest.Contains(t, again, "was done by an earlier run", "#p1#c1  Robert  of version 6  First!\n  found 5")
}

// The program serves, stores large content in a directory, and its consumer deletes what
// is replaced.
func TestDevServes(t *testing.T) {
	t.Parallel()
	name, data := programtest.Table(t, "Blog"), t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var stdout check.Log
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(ctx, []string{"-dev", "-addr", "127.0.0.1:0", "-table", name, "-data", data}, &stdout, io.Discard)
	}()
	stdout.Wait(t, "listening on ")
	url := regexp.MustCompile(`http://\S+`).FindString(stdout.String())
	do := func(method, path, token, body string) string {
		t.Helper()
		r := check.Must(http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body)))(t)
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Idempotency-Key": {path}}
		response := check.Must(http.DefaultClient.Do(r))(t)
		defer response.Body.Close()
		if response.StatusCode >= 300 {
			t.Fatalf("%s %s: %d", method, path, response.StatusCode)
		}
		return string(check.Must(io.ReadAll(response.Body))(t))
	}
	token := strings.TrimSpace(do(http.MethodGet, "/dev/token?user=ana", "", ""))
	do(http.MethodPut, "/me", token, `{"email":"ana@example.com","name":"Ana"}`)
	post := regexp.MustCompile(`"postId":"(\w+)"`).FindStringSubmatch(do(http.MethodPost, "/posts", token, `{"title":"A day"}`))[1]
	objects := func() int {
		return len(check.Must(filepath.Glob(filepath.Join(data, "objects", "*")))(t))
	}
	for range 2 {
		do(http.MethodPut, "/posts/"+post+"/content", token, strings.Repeat("x", 200<<10))
	}
	do(http.MethodDelete, "/posts/"+post, token, "")
	check.OK(t, program.Follow(t.Context(), func(context.Context) (bool, error) { return objects() == 0, nil }))
	end()
	check.OK(t, <-ended)
}

func TestFlagsThatDoNotFitAreErrors(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "-dev extra", "-dev -addr 0.0.0.0:0", "-walk -nope", "-dev -addr nowhere"} {
		err := service.Run(t.Context(), strings.Fields(args), io.Discard, io.Discard)
		if err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
