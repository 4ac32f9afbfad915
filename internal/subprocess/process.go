// Package subprocess runs a local server as a child process that ends no later
// than the process that started it, however that process ends.
//
// On Unix a watcher process, in the child's process group, reads from a pipe
// whose other end only this process holds. When this process ends (also by
// SIGKILL, also by a panic), the kernel closes the pipe and the watcher kills the
// group. The group is not that of the terminal, so Ctrl-C reaches this process
// alone and it can finish its requests.
//
// On 64-bit Windows the child is in a job object that ends with the last handle
// to it, which only this process has. That code is compiled by the gate and was
// never run.
//
// On other platforms the child ends by [Process.Kill] only.
package subprocess

import (
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// Process is a running child process. It is safe for concurrent use.
type Process struct {
	cmd    *exec.Cmd
	output *tail
	exited chan struct{}
}

// Start runs the named program. The child reads nothing; what it prints is kept
// for [Process.Output] and goes nowhere else, so that it holds no standard
// stream of this process open.
func Start(name string, args ...string) (*Process, error) {
	p := &Process{
		cmd:    exec.Command(name, args...),
		output: &tail{},
		exited: make(chan struct{}),
	}
	p.cmd.Stdout = p.output
	p.cmd.Stderr = p.output
	// A grandchild that keeps the output open must not keep Kill waiting.
	p.cmd.WaitDelay = time.Second

	release, err := startLeashed(p.cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	// This goroutine also keeps the leash reachable: were it collected, its
	// finalizer would close the pipe and so end a child that is still in use.
	go func() {
		_ = p.cmd.Wait() // How the child ended is of no use to anyone.
		release()
		close(p.exited)
	}()
	return p, nil
}

// Exited is closed when the child has ended and left the process table.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Alive reports whether the child still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Output returns the end of what the child has printed so far, both streams
// together.
func (p *Process) Output() string { return p.output.String() }

// Kill ends the child at once and waits until it is gone. It may be called
// again, and after the child has ended by itself.
func (p *Process) Kill() {
	// The only errors are of a child that has ended already.
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// tailSize is enough for the message of a server that cannot start.
const tailSize = 4 << 10

// tail is a writer that remembers the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
