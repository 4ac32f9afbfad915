// Package group runs functions in goroutines and ends the caller's goroutine as they
// have ended their own. A panic in a goroutine that the caller does not know would end
// the process: nobody can recover there.
package group

import (
	"fmt"
	"runtime"
	"runtime/debug"
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
	panicked *Panic // the first one, nil for a Goexit
}

// Panic is what [Group.Wait] and [Call] panic with. The stack is that of the goroutine that
// has panicked: the one of Wait says nothing of the function that did.
type Panic struct {
	// Value is what the function has panicked with.
	Value any
	Stack []byte
}

// Error returns the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Go calls f in a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		returned := false
		defer func() {
			if !returned {
				g.keep(recover())
			}
		}()
		f()
		returned = true
	})
}

func (g *Group) keep(value any) {
	if value == nil && g.KeepExits {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unwound = true
	if g.panicked != nil || value == nil {
		return
	}
	g.panicked = panicOf(value)
}

// panicOf returns what was recovered with the stack of the goroutine, which is that of
// the function that has panicked.
func panicOf(value any) *Panic {
	if inner, ok := value.(*Panic); ok { // of a group in this one
		return inner
	}
	return &Panic{value, debug.Stack()}
}

// Call calls f in the caller's goroutine. If f panics, Call panics with a [*Panic], as
// [Group.Wait] does.
func Call(f func()) {
	defer func() {
		if value := recover(); value != nil {
			panic(panicOf(value))
		}
	}()
	f()
}

// Unwound reports whether a function has panicked or ended its goroutine, so that no
// further one needs to be begun.
func (g *Group) Unwound() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unwound
}

// Wait waits for all functions. If one has panicked, Wait panics with a [*Panic]. If one
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
