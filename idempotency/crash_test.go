package idempotency_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var crashRounds = flag.Int("crash.rounds", 200, "how many writers TestCrash kills")

// asWriter is the variable that makes the test binary a writer: a process that
// carries out requests until it is killed. It holds the writer's orders.
const asWriter = "IDEMPOTENCY_AS_WRITER"

// writer is what a writer is told.
type writer struct {
	Table string
	Seed  uint64
	Keys  []string
	// Kill is the request over which the writer dies, from 0, and How is before
	// it is sent, while it is under way, or after it was answered.
	Kill int
	How  string
}

const before, during, after = "before", "during", "after"

// line is what a writer says of a request that it has an answer to.
type line struct {
	Key      string
	ID       string
	Replayed bool
}

func TestMain(m *testing.M) {
	orders := os.Getenv(asWriter)
	if orders == "" {
		os.Exit(m.Run())
	}
	var w writer
	err := json.Unmarshal([]byte(orders), &w)
	if err == nil {
		err = w.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run carries out a request for each key.
func (w writer) run(ctx context.Context) error {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	var faults tabletest.Faults
	faults.Always("", w.fault())
	own := schema
	own.Name = w.Table
	tbl, err := table.New(engine.Client(promptly, faults.Install), own, &table.Options{Now: laterClock, MaxAttempts: 2})
	if err != nil {
		return err
	}
	store, err := idempotency.New(tbl, nil)
	if err != nil {
		return err
	}
	for i, key := range w.Keys {
		o := order{ID: fmt.Sprintf("%s-w%d", key, i), Goods: "goods", At: start}
		result, err := idempotency.Do(ctx, store, request(key), planned(func() (idempotency.Plan[order], error) {
			return idempotency.Snapshot(o, ops(key, o)...), nil
		}))
		if errors.Is(err, table.ErrOutcomeUnknown) {
			continue
		}
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(line{key, result.Value.ID, result.Replayed}); err != nil {
			return err
		}
	}
	return nil
}

// fault lets a connection be lost here and there, and kills the process.
func (w writer) fault() tabletest.Fault {
	r := rand.New(rand.NewPCG(w.Seed, 1))
	var requests atomic.Int64
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		// One request at a time: the numbers need no lock.
		flight, delay, fault := r.IntN(3), time.Duration(r.IntN(500))*time.Microsecond, tabletest.Fault(nil)
		switch flight {
		case 0:
			fault = tabletest.DropResponse()
		case 1:
			fault = forgotten
		}
		if requests.Add(1)-1 != int64(w.Kill) {
			if fault == nil {
				return next.RoundTrip(req)
			}
			return fault(req, next)
		}
		switch w.How {
		case during:
			time.AfterFunc(delay, die)
			_, _ = next.RoundTrip(req)
		case after:
			_, _ = next.RoundTrip(req)
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

// laterClock is the clock of the writers, by which what was at start is expired.
func laterClock() time.Time { return start.Add(25 * time.Hour) }

// Many writers are killed over their requests, some of which take
// over expired records. After each, what it has done is done once or not at all,
// repeating it makes it once, and the answer is the one that the writer got, if
// it lived to tell.
func TestCrash(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	must(t, err)
	s := newShop(t, promptly)
	s.stock(t, 1<<30)
	r := newRand(t)
	var effects [2]atomic.Int64
	const lanes = 3
	t.Run("writers", func(t *testing.T) {
		for lane := range lanes {
			r := chance(r)
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				for round := lane; round < *crashRounds; round += lanes {
					s.crash(t, exe, s.newWriter(r, round), &effects)
				}
			})
		}
	})
	t.Logf("%d writers: of their requests %d had no effect and %d had one", *crashRounds, effects[0].Load(), effects[1].Load())
	if *crashRounds >= 100 && (effects[0].Load() == 0 || effects[1].Load() == 0) {
		t.Error("the writers all died at the same place")
	}
}

// newWriter draws what a writer is told.
func (s *shop) newWriter(r *rand.Rand, round int) writer {
	w := writer{
		Table: s.table.Schema().Name, Seed: r.Uint64(),
		Kill: r.IntN(6), How: []string{before, during, after}[r.IntN(3)],
	}
	for i := range 3 {
		w.Keys = append(w.Keys, fmt.Sprintf("k-%d-%d", round, i))
	}
	return w
}

// crash runs a writer to its end and checks what it leaves behind.
func (s *shop) crash(t *testing.T, exe string, w writer, tally *[2]atomic.Int64) {
	base := map[string]int{}
	early, err := table.New(tabletest.Client(t), s.table.Schema(), &table.Options{Now: s.clock.now})
	must(t, err)
	for i, key := range w.Keys {
		if (w.Seed>>i)&3 == 0 { // a record that the writer finds expired
			_, err := idempotency.Do(t.Context(), newStore(t, early, nil), request(key), s.snapshot(key))
			must(t, err)
			base[key] = 1
		}
	}
	told := w.start(t, exe)
	late, err := table.New(tabletest.Client(t), s.table.Schema(), &table.Options{Now: laterClock})
	must(t, err)
	store := newStore(t, late, nil)
	for _, key := range w.Keys {
		found := effects(t, late, key) - base[key]
		if found < 0 || found > 1 {
			t.Errorf("%+v: %s has %d effects", w, key, found)
			continue
		}
		tally[found].Add(1)
		result, err := idempotency.Do(t.Context(), store, request(key), s.snapshot(key))
		must(t, err)
		again, err := idempotency.Do(t.Context(), store, request(key), s.snapshot(key))
		must(t, err)
		equal(t, fmt.Sprintf("%+v: effects of %s", w, key), effects(t, late, key)-base[key], 1)
		equal(t, fmt.Sprintf("%+v: again", w), again, idempotency.Result[order]{Value: result.Value, Replayed: true})
		// The engine can still be at a request whose sender is dead.
		if result.Replayed != (found == 1) && w.How != during {
			t.Errorf("%+v: %s had %d effects, replayed %t", w, key, found, result.Replayed)
		}
		_, err = table.Get[order](t.Context(), late.Consistent(), orderKey(result.Value.ID))
		must(t, err)
		if answer, ok := told[key]; ok {
			equal(t, fmt.Sprintf("%+v: what the writer was told", w), answer, line{key, result.Value.ID, false})
		}
	}
}

// start runs the writer until it is dead, and returns what it has said.
func (w writer) start(t *testing.T, exe string) map[string]line {
	orders, err := json.Marshal(w)
	must(t, err)
	endpoint := aws.ToString(tabletest.Client(t).Options().BaseEndpoint)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), asWriter+"="+string(orders), tabletest.EndpointVariable+"="+endpoint,
		"GORACE=atexit_sleep_ms=0") // a writer that is left alive ends at once
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if stderr.Len() > 0 {
		t.Errorf("%+v: %v: %s", w, err, stderr.String())
	}
	told := map[string]line{}
	for d := json.NewDecoder(&stdout); d.More(); {
		var l line
		must(t, d.Decode(&l))
		told[l.Key] = l
	}
	return told
}
