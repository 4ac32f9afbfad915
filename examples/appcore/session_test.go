package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

// The commands of the session in docs/session.txt, for a server at shown.
const (
	shown       = "http://127.0.0.1:8080"
	startServer = "go run . -dev -data /tmp/appcore.db"
	getToken    = `TOKEN=$(curl -s '` + shown + `/dev/token?user=u-123')`
	createFirst = `curl -s ` + shown + `/transactions -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: first" -d '{"amount":500,"currency":"ARS"}'`
	createSlow  = `(printf '{"amount":700,'; sleep 4; printf '"currency":"ARS"}') | curl -s ` + shown + `/transactions -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: slow" -X POST -T -`
	listAll     = `curl -s ` + shown + `/transactions -H "Authorization: Bearer $TOKEN"`
)

// session is a shell with a server.
type session struct {
	t     *testing.T
	url   string
	token string
	ids   map[string]string // what the transactions are called there
}

func (s *session) command(line string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", strings.ReplaceAll(line, shown, s.url))
	cmd.Env = append(os.Environ(), "TOKEN="+s.token)
	return cmd
}

func (s *session) run(line string) string {
	s.t.Helper()
	return string(check.Must(s.command(line).Output())(s.t))
}

// show returns a line and what it printed, with ids and times that are the same in
// every run.
func (s *session) show(line, output string) string {
	output = regexp.MustCompile(`tx-[a-z0-9]{26}`).ReplaceAllStringFunc(output, func(id string) string {
		if s.ids[id] == "" {
			s.ids[id] = fmt.Sprintf("tx-%d…", len(s.ids)+1)
		}
		return s.ids[id]
	})
	output = regexp.MustCompile(`"createdAt":"[^"]*"`).ReplaceAllString(output, `"createdAt":"…"`)
	return "$ " + line + "\n" + output
}

func (s *session) begin(data string) *programtest.Server {
	s.t.Helper()
	server := start(s.t, "-data", data)
	s.url = server.URL
	s.token = strings.TrimSpace(s.run(getToken + `; echo "$TOKEN"`))
	return server
}

// docs/session.txt is a session that was run: nothing is lost when the server is told to
// end, not even a request that is half sent.
func TestTheAPIShowsASession(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("the session is run with curl, which is missing (%v); on Debian: apt-get install curl", err)
	}
	dir := t.TempDir()
	data, goOn := filepath.Join(dir, "data.db"), filepath.Join(dir, "go-on")
	s := &session{t: t, ids: map[string]string{}}
	server := s.begin(data)
	first := s.run(createFirst)

	// The rest of the body is sent once the server is told to end while it waits for
	// that, which it says with status 100.
	line := strings.Replace(createSlow, "sleep 4", "until [ -e '"+goOn+"' ]; do sleep 0.05; done", 1)
	slow := s.command(strings.Replace(line, "curl -s ", `curl -sv -H "Expect: 100-continue" --expect100-timeout 60 `, 1))
	var created bytes.Buffer
	progress := &check.Log{}
	slow.Stdout, slow.Stderr = &created, progress
	check.OK(t, slow.Start())
	progress.Wait(t, "100 Continue")
	check.OK(t, server.Cmd.Process.Signal(os.Interrupt))
	server.Log.Wait(t, `"draining"`)
	check.OK(t, os.WriteFile(goOn, nil, 0o600), slow.Wait())
	if err := <-server.Exited; err != nil {
		t.Errorf("%v\n%s", err, server.Log)
	}

	before := s.show(createFirst, first) + s.show(createSlow, created.String())
	again := s.begin(data)
	after := s.show(listAll, s.run(listAll))
	repeated := s.run(createFirst)
	check.Equal(t, "the response to the repeated request", repeated, first)
	after += s.show(createFirst, repeated)
	again.End(t, os.Interrupt)
	if len(s.ids) != 2 {
		t.Errorf("%d transactions, want 2", len(s.ids))
	}

	generated.File(t, "docs/session.txt", "Terminal 1:\n\n"+
		"$ "+startServer+"\nlistening on "+shown+"\n\n"+
		"Terminal 2. Press Ctrl-C in terminal 1 while the second POST waits for the rest of its body: it is finished, and then the server ends.\n\n"+
		"$ "+getToken+"\n"+before+
		"\nTerminal 1 again: the same command. Terminal 2, with a token of the new server:\n\n"+
		"$ "+getToken+"\n"+after)
}
