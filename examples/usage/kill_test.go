package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// serve starts the program as a process of its own.
func serve(t *testing.T, data string) (*programtest.Server, running) {
	t.Helper()
	cmd := programtest.Command(context.WithoutCancel(t.Context()), "-dev", "-addr", "127.0.0.1:0", "-data", data)
	s := programtest.Start(t, cmd, "listening")
	addr, _, _ := strings.Cut(s.URL, ";")
	return s, running{t: t, addr: addr}
}

func kill(t *testing.T, s *programtest.Server) {
	t.Helper()
	check.OK(t, s.Cmd.Process.Kill())
	if err := <-s.Exited; err == nil {
		t.Error("it has ended by itself")
	}
}

// Every message that was acknowledged is counted exactly once, wherever the kills were. A
// message whose sender had no response is counted once or never.
func TestAKilledProgramLosesNoMessageAndCountsNoneTwice(t *testing.T) {
	t.Parallel()
	const kills, perKill, senders = 3, 60, 8
	data := t.TempDir()
	var sent atomic.Int64
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	for range kills {
		s, r := serve(t, data)
		enough := make(chan struct{})
		var got atomic.Int64
		var group sync.WaitGroup
		for range senders {
			group.Go(func() {
				for {
					metric := fmt.Sprintf("m-%d", sent.Add(1))
					body := fmt.Appendf(nil, `{"workspaceId":"acme","userId":"ana","metricId":%q,"count":1,"date":"2026-01-15T10"}`, metric)
					err := request(t.Context(), r.addr, "send", body, io.Discard)
					mu.Lock()
					acknowledged[metric] = err == nil
					mu.Unlock()
					if err != nil {
						return // it is killed
					}
					if got.Add(1) == perKill {
						close(enough)
					}
				}
			})
		}
		<-enough
		kill(t, s)
		group.Wait()
	}
	s, r := serve(t, data)
	r.settled()
	for metric, sure := range acknowledged {
		var used struct{ Total int64 }
		question := fmt.Sprintf(`{"workspaceId":"acme","metricId":%q,"fromDate":"2026-01-15T10","toDate":"2026-01-15T10"}`, metric)
		check.OK(t, json.Unmarshal([]byte(r.do("ask", question)), &used))
		if used.Total != 1 && (sure || used.Total != 0) {
			t.Errorf("%s is counted %d times; acknowledged: %t", metric, used.Total, sure)
		}
	}
	s.End(t, os.Interrupt)
}

// A second program would overwrite the queue of the first one. One that was killed does
// not keep the next one from starting.
func TestADirectoryIsForOneProgram(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, r := serve(t, data)
	var out bytes.Buffer
	second := programtest.Command(t.Context(), "-dev", "-addr", "127.0.0.1:0", "-data", data)
	second.Stderr = &out
	if err := second.Run(); err == nil || !strings.Contains(out.String(), "-data: another program uses the directory") {
		t.Errorf("%v: %s", err, &out)
	}
	r.do("send", "{}") // the first one goes on
	kill(t, first)
	next, _ := serve(t, data)
	next.End(t, os.Interrupt)
}
