package peers_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/singletable/singletable/internal/toolcache"
)

//go:embed package.json
var packageJSON []byte

//go:embed package-lock.json
var lockJSON []byte

// node is a process that runs the peers. It ends when this process does, which holds its
// standard input.
type node struct {
	stderr bytes.Buffer

	mu      sync.Mutex
	stdin   io.Writer
	lastID  int
	waiting map[int]chan response
	ended   error
}

type request struct {
	ID     int    `json:"id"`
	Client values `json:"client"` // the options of the SDK's client for JavaScript
	Table  string `json:"table"`
	Peer   string `json:"peer"`
	Op     string `json:"op"`
	Args   []any  `json:"args"`
}

type response struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
	Fault  string          `json:"fault"`
}

// peerError is an error that a peer's call has thrown.
type peerError struct{ text string }

func (e *peerError) Error() string { return e.text }

// running is the process of all tests.
var running = sync.OnceValues(func() (*node, error) {
	modules, err := install()
	if err != nil {
		return nil, err
	}
	return start(modules)
})

// install returns the folder that holds the packages. They are installed once for each
// package-lock.json, whose hashes npm compares.
func install() (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("the peers need Node 20 or later with npm: on Debian 13, apt-get install -y npm, or see https://nodejs.org: %w", err)
		}
	}
	cache, err := toolcache.Dir()
	if err != nil {
		return "", err
	}
	dest := filepath.Join(cache, fmt.Sprintf("peers-%.8x", sha256.Sum256(lockJSON)))
	modules := filepath.Join(dest, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	return modules, toolcache.Install(dest, func(tmp string) (string, error) {
		for name, content := range map[string][]byte{"package.json": packageJSON, "package-lock.json": lockJSON} {
			if err := os.WriteFile(filepath.Join(tmp, name), content, 0o600); err != nil {
				return "", err
			}
		}
		// A peer dependency that is not in package.json is one that nothing here needs.
		return tmp, toolcache.NPM(context.Background(), tmp,
			"ci", "--ignore-scripts", "--legacy-peer-deps", "--engine-strict", "--no-audit", "--no-fund")
	})
}

func start(modules string) (*node, error) {
	n := &node{waiting: map[int]chan response{}}
	cmd := exec.Command("node", "--no-warnings", "run.js")
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stderr = &n.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	n.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		err := n.receive(stdout)
		n.end(fmt.Errorf("node has ended: %w: %s", errors.Join(err, cmd.Wait()), n.stderr.String()))
	}()
	return n, nil
}

// receive hands responses to those who wait for them.
func (n *node) receive(stdout io.Reader) error {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var r response
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		n.mu.Lock()
		n.waiting[r.ID] <- r
		delete(n.waiting, r.ID)
		n.mu.Unlock()
	}
}

func (n *node) end(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = err
	for _, c := range n.waiting {
		close(c)
	}
}

// call runs an operation of a peer, and returns its result as JSON. What the peer throws is a
// *peerError.
func (n *node) call(r request) (json.RawMessage, error) {
	c, err := n.send(r)
	if err != nil {
		return nil, err
	}
	got, ok := <-c
	if !ok {
		return nil, n.ended
	}
	if got.Fault != "" {
		return nil, errors.New(got.Fault)
	}
	if got.Error != "" {
		return nil, &peerError{r.Peer + ": " + r.Op + ": " + got.Error}
	}
	return got.Result, nil
}

func (n *node) send(r request) (chan response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != nil {
		return nil, n.ended
	}
	n.lastID++
	r.ID, r.Args = n.lastID, append([]any{}, r.Args...)
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	c := make(chan response, 1)
	n.waiting[r.ID] = c
	_, err = n.stdin.Write(append(line, '\n'))
	return c, err
}
