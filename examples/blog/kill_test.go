package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// server is the program as a process.
type server struct{ *programtest.Server }

func startDev(t *testing.T, args ...string) server {
	t.Helper()
	cmd := programtest.Command(t.Context(), append([]string{"-dev", "-addr", "127.0.0.1:0"}, args...)...)
	return server{programtest.Start(t, cmd, "files?by=size")}
}

// send sends "METHOD /path" and returns status and body, and 0 if there is no response.
func (s server) send(ctx context.Context, token, key, request, body string) (int, string) {
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Idempotency-Key": {key}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

func (s server) token(t *testing.T, user string) string {
	t.Helper()
	_, token := s.send(t.Context(), "", "", "GET /dev/token?user="+user, "")
	return strings.TrimSpace(token)
}

// The process is killed while users write. Every acknowledged write is there afterwards,
// and one without a response is done once when it is repeated.
func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := startDev(t, "-data", data)
	const writers, before = 4, 40
	type write struct{ request, key, body, response string }
	tokens, acknowledged, open := make([]string, writers), make([][]write, writers), make([]write, writers)
	for i := range writers {
		tokens[i] = s.token(t, fmt.Sprint("u", i))
		status, body := s.send(t.Context(), tokens[i], "", "PUT /me", fmt.Sprintf(`{"email":"u%d@example.com","name":"U"}`, i))
		check.Equal(t, body, status, http.StatusOK)
	}
	var written atomic.Int64
	check.Together(writers, func(i int) {
		for n := 0; ; n++ {
			w := write{"POST /posts", fmt.Sprint("k", n), fmt.Sprintf(`{"title":"%d","content":"text %d"}`, n, n), ""}
			if n%4 == 3 {
				w = write{fmt.Sprintf("PUT /files/f%d", n), "", strings.Repeat(fmt.Sprint(n%10), 110<<10), ""} // an object
			}
			status, body := s.send(t.Context(), tokens[i], w.key, w.request, w.body)
			if w.response = body; status == 0 {
				open[i] = w
				return
			}
			if status != http.StatusCreated {
				t.Errorf("%s: %d %s", w.request, status, body)
				return
			}
			acknowledged[i] = append(acknowledged[i], w)
			if written.Add(1) == before {
				check.OK(t, s.Cmd.Process.Kill())
			}
		}
	})
	if <-s.Exited == nil {
		t.Error("it was not killed")
	}

	s = startDev(t, "-data", data)
	for i := range writers {
		token := s.token(t, fmt.Sprint("u", i))
		w := open[i]
		if status, body := s.send(t.Context(), token, w.key, w.request, w.body); status/100 != 2 {
			t.Errorf("%s repeated: %d %s", w.request, status, body)
		}
		posts := 0
		for _, w := range append(acknowledged[i], w) {
			if strings.HasPrefix(w.request, "POST") {
				posts++
			}
		}
		_, me := s.send(t.Context(), token, "", "GET /me", "")
		if !strings.Contains(me, fmt.Sprintf(`"postCount":%d,`, posts)) {
			t.Errorf("%d posts were written: %s", posts, me)
		}
		for _, w := range acknowledged[i] {
			if id := regexp.MustCompile(`"fileId":"(\w+)"`).FindStringSubmatch(w.response); id != nil {
				_, got := s.send(t.Context(), token, "", "GET /files/"+id[1], "")
				check.Equal(t, w.request, got == w.body, true)
				continue
			}
			id := regexp.MustCompile(`"postId":"(\w+)"`).FindStringSubmatch(w.response)[1]
			_, page := s.send(t.Context(), token, "", "GET /posts/"+id, "")
			if content := w.body[strings.Index(w.body, `"content"`) : len(w.body)-1]; !strings.Contains(page, content) {
				t.Errorf("%s: %s", w.body, page)
			}
			status, again := s.send(t.Context(), token, w.key, w.request, w.body)
			check.Equal(t, "repeated", fmt.Sprint(status, again), fmt.Sprint(http.StatusCreated, w.response))
		}
	}
	s.End(t, os.Interrupt)
}
