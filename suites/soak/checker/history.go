// Package checker checks histories: of one entity, whether it is linearizable, of
// transactions over several, whether it is serializable, and of the changes that a
// consumer was given, whether these are all.
package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verb is what an operation does to an entity.
type Verb string

// The operations of histories. Put is a write over a version, Update one over
// whatever version there is.
const (
	Create Verb = "create"
	Put    Verb = "put"
	Update Verb = "update"
	Add    Verb = "add"
	Delete Verb = "delete"
	Get    Verb = "get"
)

// Outcome is how an operation ended.
type Outcome string

// Done is success, Missing and Exists are refusals for what was there, Refused is
// any other response that says that nothing was written, and Unknown says nothing.
const (
	Done    Outcome = "done"
	Missing Outcome = "missing"
	Exists  Outcome = "exists"
	Refused Outcome = "refused"
	Unknown Outcome = "unknown"
)

// Entity is one entity as an operation sees it or leaves it. The zero Entity is
// missing.
type Entity struct {
	Exists  bool
	Version int64
	Value   string
	N       int64
}

// Call is what is asked for. Version is the one that a Put expects, and Was the
// value that it was read with, if that is known; of a Create, Version is the one
// that it stores, 1 by default. N is what an Add adds.
type Call struct {
	Verb    Verb
	Value   string
	Version int64
	Was     string
	N       int64
}

// Response is what came of it. Entity is what a Get has found; of an Update it has
// the version that was written.
type Response struct {
	Outcome Outcome
	Entity  Entity
}

// History is what several clients did to one entity, and when. The zero value is
// empty. It is safe for concurrent use.
type History struct {
	ticks atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// Begin notes that a client asks for something, and returns the function that
// notes the response. An operation of unknown outcome has no end: it may be
// executed at any time later, or never.
func (h *History) Begin(client int, c Call) (end func(Response)) {
	began := h.ticks.Add(1)
	return func(a Response) {
		ended := h.ticks.Add(1)
		if a.Outcome == Unknown {
			ended = math.MaxInt64
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: c, Call: began, Output: a, Return: ended})
	}
}

// Len returns how many operations have ended.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ops)
}

// Has reports whether an operation of a kind has ended.
func (h *History) Has(v Verb) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.ops, func(op porcupine.Operation) bool { return op.Input.(Call).Verb == v })
}

// Written returns the values of the writes that were acknowledged, and of those that
// were refused.
func (h *History) Written() (done, refused []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		call, outcome := op.Input.(Call), op.Output.(Response).Outcome
		switch {
		case call.Value == "" || outcome == Unknown:
		case outcome == Done:
			done = append(done, call.Value)
		default:
			refused = append(refused, call.Value)
		}
	}
	return done, refused
}

// Linearizable checks that the operations can have happened one after the other,
// each at a moment between its beginning and its end.
func (h *History) Linearizable(timeout time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{Entity{}} },
		Step: func(state, input, output any) []any {
			next := step(state.(Entity), input.(Call), output.(Response))
			all := make([]any, len(next))
			for i, e := range next {
				all[i] = e
			}
			return all
		},
	}
	switch porcupine.CheckOperationsTimeout(model.ToModel(), h.ops, timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%d operations: not decided in %v", len(h.ops), timeout)
	}
	var b strings.Builder
	for _, op := range h.ops {
		fmt.Fprintf(&b, "\n  client %d, %d to %d: %+v: %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
	}
	return fmt.Errorf("%d operations are not linearizable:%s", len(h.ops), b.String())
}

// step returns the states that an entity can be in after an operation that had
// the response; none if it cannot have had it.
func step(e Entity, c Call, a Response) []Entity {
	if c.Verb == Get {
		if a.Outcome == Done && a.Entity == e || a.Outcome == Missing && !e.Exists {
			return []Entity{e}
		}
		return nil
	}
	after, possible := apply(e, c)
	switch a.Outcome {
	case Done:
		if !possible || a.Entity.Version != 0 && a.Entity.Version != after.Version {
			return nil
		}
		return []Entity{after}
	case Unknown:
		if possible {
			return []Entity{e, after}
		}
	case Exists:
		if !e.Exists {
			return nil
		}
	case Missing:
		if e.Exists {
			return nil
		}
	}
	return []Entity{e}
}

// apply returns what a write makes of an entity, and whether it can.
func apply(e Entity, c Call) (Entity, bool) {
	switch c.Verb {
	case Create:
		return Entity{Exists: true, Version: cmp.Or(c.Version, 1), Value: c.Value}, !e.Exists
	case Put:
		return Entity{Exists: true, Version: c.Version + 1, Value: c.Value}, e.Version == c.Version && (c.Was == "" || e.Value == c.Was)
	case Update:
		return Entity{Exists: true, Version: e.Version + 1, Value: c.Value}, e.Exists
	case Add:
		return Entity{Exists: true, N: e.N + c.N}, true
	default:
		return Entity{}, true
	}
}
