package backfill

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/table"
)

// budget is a number of units per second. Units are spent after they were consumed;
// then callers wait until they are paid back.
type budget struct {
	rate float64 // 0 means no bound

	mu   sync.Mutex
	left float64
	at   time.Time
}

func newBudget(rate float64) *budget { return &budget{rate: rate, left: 1, at: time.Now()} }

// wait waits until nothing is owed.
func (b *budget) wait(ctx context.Context) error {
	for b.rate > 0 {
		b.mu.Lock()
		now := time.Now()
		// A second that was not used is lost, so that a pause is not followed by a
		// peak.
		b.left = min(b.left+b.rate*now.Sub(b.at).Seconds(), b.rate)
		b.at = now
		left := b.left
		b.mu.Unlock()
		if left > 0 {
			break
		}
		if err := lease.Wait(ctx, time.Duration(-left/b.rate*float64(time.Second))+time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *budget) spend(units float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left -= units
}

// meter adds up what requests consume.
type meter struct {
	mu             sync.Mutex
	reads, written float64
}

func (m *meter) observe(_ context.Context, e table.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case e.Operation == "Scan", e.Operation == "Query", strings.Contains(e.Operation, "Get"):
		m.reads += e.Capacity
	default:
		m.written += e.Capacity
	}
}

// take returns what was consumed since the last time.
func (m *meter) take() (reads, written float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reads, written = m.reads, m.written
	m.reads, m.written = 0, 0
	return reads, written
}
