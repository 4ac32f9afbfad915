// Package group runs functions in goroutines and ends the caller's goroutine as they
// have ended their own. A panic in a goroutine that the caller does not know would end
// the process: nobody can recover there.
package group

import (
	"runtime"
	"sync"
)

// Group is a [sync.WaitGroup] for functions that may call those of users. The zero value
// is ready for use.
type Group struct {
	// KeepExits lets Wait return although a function has ended its goroutine by
	// [runtime.Goexit], for callers that report it themselves.
	KeepExits bool

	wait     sync.WaitGroup
	mu       sync.Mutex
	unwound  bool
	panicked any // the first value, nil for a Goexit
}

// Go calls f in a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wait.Add(1)
	go func() {
		returned := false
		defer g.wait.Done()
		defer func() {
			if !returned {
				g.keep(recover())
			}
		}()
		f()
		returned = true
	}()
}

func (g *Group) keep(panicked any) {
	if panicked == nil && g.KeepExits {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unwound = true
	if g.panicked == nil {
		g.panicked = panicked
	}
}

// Unwound reports whether a function has panicked or ended its goroutine, so that no
// further one needs to be begun.
func (g *Group) Unwound() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unwound
}

// Wait waits for all functions. If one has panicked, Wait panics with its value. If one
// has ended its goroutine, as by testing.T.FailNow, so does Wait.
func (g *Group) Wait() {
	g.wait.Wait()
	switch {
	case g.panicked != nil:
		panic(g.panicked)
	case g.unwound:
		runtime.Goexit()
	}
}
