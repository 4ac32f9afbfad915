package main

import (
	"context"
	"sync"
	"time"
)

// pace bounds how many units of capacity are consumed in a second. Units are spent after
// they were consumed; then callers wait until they are paid back. The zero pace, with
// no rate, bounds nothing. It is safe for concurrent use.
type pace struct {
	rate float64

	mu   sync.Mutex
	left float64
	at   time.Time
}

// wait waits until nothing is owed.
func (p *pace) wait(ctx context.Context) error {
	for p.rate > 0 {
		p.mu.Lock()
		now := time.Now()
		// A second that was not used is lost, so that no peak follows a pause.
		p.left = min(p.left+p.rate*now.Sub(p.at).Seconds(), p.rate)
		p.at = now
		owed := -p.left
		p.mu.Unlock()
		if owed <= 0 {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(owed/p.rate*float64(time.Second)) + time.Millisecond):
		}
		if ctx.Err() != nil {
			break
		}
	}
	return ctx.Err()
}

func (p *pace) spend(units float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left -= units
}
