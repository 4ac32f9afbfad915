package check

import (
	"sync"
	"time"
)

// Clock is a clock that a test sets, also while a program reads it. Get one from [NewClock].
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that shows a time.
func NewClock(at time.Time) *Clock { return &Clock{at: at} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Pass lets time pass; less than none sets the clock back.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
