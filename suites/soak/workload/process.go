package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table/tabletest"
)

// asVictim is the environment variable that makes this program a victim: a
// process that writes a round until it is killed. It holds its orders.
const asVictim = "SOAK_AS_VICTIM"

// orders are what a victim is told.
type orders struct {
	Table string
	Round string
	Seed  uint64
	ID    int
	// Kill is the request over which it dies, from 0, and How is before it is sent,
	// while it is in flight, or after its response.
	Kill int
	How  string
}

const (
	before, during, after = "before", "during", "after"
	victims               = 2 // at a time in one round
)

// Victim runs this process as a victim if it was started as one, and does not
// return then. A program that calls [Run] calls it first.
func Victim() {
	told := os.Getenv(asVictim)
	if told == "" {
		return
	}
	var o orders
	err := json.Unmarshal([]byte(told), &o)
	if err == nil {
		err = o.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run does the operations of a client and prints what it was told.
func (o orders) run(ctx context.Context) error {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	var unread report.Report
	w := newWorld(Config{Seed: o.Seed}.withDefaults(), o.Table, engine, &unread)
	w.around = o.around
	s := w.newRound(o.Round)
	s.told = func(n note) {
		if err := json.NewEncoder(os.Stdout).Encode(n); err != nil {
			panic(err)
		}
	}
	a, err := s.newClient(0, o.ID)
	if err != nil {
		return err
	}
	for op := range perRound {
		a.act(ctx, op)
	}
	return nil
}

// around kills the process at the request that it is to die over.
func (o orders) around(fault tabletest.Fault) tabletest.Fault {
	delay := time.Duration(rand.New(rand.NewPCG(o.Seed, uint64(o.ID))).IntN(500)) * time.Microsecond
	var requests atomic.Int64
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if requests.Add(1)-1 != int64(o.Kill) {
			return fault(r, next)
		}
		switch o.How {
		case during:
			time.AfterFunc(delay, die)
			_, _ = next.RoundTrip(r)
		case after:
			_, _ = next.RoundTrip(r)
		}
		die()
		return nil, errors.New("dead")
	}
}

// die ends the process as a power cut would.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// processPhase has processes write rounds and kills them.
func (w *world) processPhase(ctx context.Context, b budget) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	const lanes = 2
	return w.parallel(lanes, func(lane int) error {
		for n := lane; b.left(n*perRound) && ctx.Err() == nil; n += lanes {
			if err := w.murder(ctx, exe, n); err != nil {
				return fmt.Errorf("seed %d, victims %d: %w", w.Seed, n, err)
			}
		}
		return nil
	})
}

// murder has two processes write one round, kills them, and inspects it.
func (w *world) murder(ctx context.Context, exe string, n int) error {
	r := rand.New(rand.NewPCG(w.Seed, 1<<62|uint64(n)))
	name := fmt.Sprintf("v%d", n)
	s := w.newRound(name)
	told := make([]orders, victims)
	for id := range told {
		told[id] = orders{
			Table: w.schema.Name, Round: name, Seed: r.Uint64(), ID: id,
			Kill: r.IntN(2 * perRound), How: []string{before, during, after}[r.IntN(3)],
		}
	}
	if err := w.parallel(victims, func(id int) error { return s.start(ctx, exe, told[id]) }); err != nil {
		return err
	}
	// The engine can still be at a request whose sender is dead: what looks
	// unfinished is looked at again. A partial write stays so.
	findings, err := s.look(ctx)
	for range 3 {
		if err != nil || !broken(findings) {
			break
		}
		time.Sleep(20 * time.Millisecond)
		findings, err = s.look(ctx)
	}
	if err != nil {
		return err
	}
	w.report.Check(report.Process, fmt.Sprintf("seed %d, victims %d", w.Seed, n), s.reported(findings))
	return nil
}

func broken(findings []finding) bool {
	for _, f := range findings {
		if f.err != nil {
			return true
		}
	}
	return false
}

// start runs a victim until it is dead, and keeps what it was told.
func (s *round) start(ctx context.Context, exe string, o orders) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), asVictim+"="+string(text),
		"AWS_ENDPOINT_URL_DYNAMODB="+s.engine.Load().Endpoint(),
		"GORACE=atexit_sleep_ms=0") // a victim that is left alive ends at once
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if stderr.Len() > 0 {
		return fmt.Errorf("a victim says: %s", stderr.String())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() < 0 {
		s.report.Fault(string(nemesis.ProcessKilled))
		err = nil
	}
	if err != nil {
		return err
	}
	for d := json.NewDecoder(&stdout); d.More(); {
		var n note
		if err := d.Decode(&n); err != nil {
			return nil // it died while it was saying this
		}
		s.keep(n)
	}
	return nil
}
