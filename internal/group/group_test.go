package group_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/internal/group"
)

// ended runs f in a goroutine and returns how it has ended that: with a panic, with
// neither a panic nor a return, or by returning.
func ended(f func()) (panicked any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			panicked = recover()
			if p, ok := panicked.(*group.Panic); ok {
				panicked = p.Value
			}
		}()
		f()
		returned = true
	}()
	<-done
	return panicked, returned
}

func TestGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		one      func()
		keep     bool
		panicked any
		returned bool
	}{
		"return":      {func() {}, false, nil, true},
		"panic":       {func() { panic("one") }, false, "one", false},
		"kept panic":  {func() { panic("one") }, true, "one", false},
		"Goexit":      {runtime.Goexit, false, nil, false},
		"kept Goexit": {runtime.Goexit, true, nil, true},
	} {
		var others atomic.Int32
		g := group.Group{KeepExits: c.keep}
		panicked, returned := ended(func() {
			g.Go(c.one)
			for range 3 {
				g.Go(func() { others.Add(1) })
			}
			g.Wait()
		})
		if panicked != c.panicked || returned != c.returned || others.Load() != 3 {
			t.Errorf("%s: panic %v, returned %v after %d others", name, panicked, returned, others.Load())
		}
		if g.Unwound() == c.returned {
			t.Errorf("%s: Unwound is %v", name, g.Unwound())
		}
	}
}

// A panic counts more than a Goexit.
func TestPanicAndGoexit(t *testing.T) {
	t.Parallel()
	for _, first := range []func(){runtime.Goexit, func() { panic("one") }} {
		var g group.Group
		g.Go(first)
		for !g.Unwound() {
			runtime.Gosched()
		}
		g.Go(runtime.Goexit)
		g.Go(func() { panic("one") })
		if panicked, _ := ended(g.Wait); panicked != "one" {
			t.Error(panicked)
		}
	}
}

// The stack of a panic is that of the function, also through several groups.
func TestPanicTellsWhere(t *testing.T) {
	t.Parallel()
	inGroup := func(f func()) func() {
		return func() {
			var g group.Group
			g.Go(f)
			g.Wait()
		}
	}
	called := func() { group.Call(failing) }
	for name, f := range map[string]func(){
		"group": inGroup(failing), "group in a group": inGroup(inGroup(failing)),
		"call": called, "call in a group": inGroup(called), "group in a call": func() { group.Call(inGroup(failing)) },
	} {
		func() {
			defer func() {
				err, ok := recover().(*group.Panic)
				if !ok || !errors.Is(err, io.EOF) || strings.Count(err.Error(), "group_test.failing") != 1 {
					t.Errorf("%s: panic with %v", name, err)
				}
			}()
			f()
		}()
	}
}

// Call lets a function return, and end its goroutine.
func TestCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f        func()
		returned bool
	}{"return": {func() {}, true}, "Goexit": {runtime.Goexit, false}} {
		if panicked, returned := ended(func() { group.Call(c.f) }); panicked != nil || returned != c.returned {
			t.Errorf("%s: panic %v, returned %v", name, panicked, returned)
		}
	}
}

//go:noinline
func failing() { panic(io.EOF) }
