package tabletest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// step is one step of a schedule: a request that a client waits for, with or
// without a fault, or the arrival of a delayed one.
type step struct {
	operation int
	// nth is the number of the request among those that the operation waits for,
	// or among its delayed ones.
	nth   int
	late  bool
	fault string
}

// String returns the step as A, A- or A/2 for the second of concurrent requests,
// and as a1 for the arrival of the first delayed one.
func (s step) String() string {
	switch {
	case s.late:
		return fmt.Sprintf("%c%d", 'a'+s.operation, s.nth+1)
	case s.nth > 0:
		return fmt.Sprintf("%c/%d%s", 'A'+s.operation, s.nth+1, s.fault)
	}
	return fmt.Sprintf("%c%s", 'A'+s.operation, s.fault)
}

// once begins a schedule that ran without the SDK's retries.
const once = "once"

func formatSchedule(steps []step, retries bool) string {
	words := make([]string, 0, len(steps)+1)
	if !retries {
		words = append(words, once)
	}
	for _, s := range steps {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

var stepPattern = regexp.MustCompile(`^(?:([a-z])(\d+)|([A-Z])(?:/(\d+))?(\D.*)?)$`)

func parseSchedule(text string) (s script, retries bool, err error) {
	words := strings.Fields(text)
	retries = len(words) == 0 || words[0] != once
	if !retries {
		words = words[1:]
	}
	for _, word := range words {
		m := stepPattern.FindStringSubmatch(word)
		if m == nil || m[5] != "" && faultOf(m[5]) == nil {
			return s, retries, fmt.Errorf("tabletest: Replay: %q is not a step", word)
		}
		next := step{fault: m[5], late: m[1] != ""}
		next.operation = int(strings.ToUpper(m[1] + m[3])[0] - 'A')
		if number := m[2] + m[4]; number != "" {
			n, _ := strconv.Atoi(number)
			next.nth = n - 1
		}
		s.steps = append(s.steps, next)
	}
	return s, retries, nil
}

// chooser chooses the steps of one run after the other. enabled are the possible
// ones, and independent tells of two of them whether their order matters. ok is
// false if the run is to end.
type chooser interface {
	choose(enabled []step, independent func(a, b step) bool) (s step, ok bool)
}

// script takes given steps, and then runs the operations one after the other, in
// the order given.
type script struct {
	steps []step
	order []int
}

func (c *script) choose(enabled []step, _ func(a, b step) bool) (step, bool) {
	if len(c.steps) > 0 && slices.Contains(enabled, c.steps[0]) {
		s := c.steps[0]
		c.steps = c.steps[1:]
		return s, true
	}
	for _, o := range c.order {
		for _, s := range enabled {
			if s.operation == o && s.fault == "" {
				return s, true
			}
		}
	}
	return enabled[0], true
}

// search goes through all schedules with up to a number of faults, depth first.
// Each run repeats the choices on the stack and extends them.
//
// Sleep sets leave out schedules that differ from another one in the order of
// independent steps only. A step that was tried at a node sleeps in the branches
// that are tried there afterwards, until a step is taken that depends on it: before
// that, taking it would lead to what its own branch has seen. P. Godefroid,
// "Partial-Order Methods for the Verification of Concurrent Systems", 1996.
type search struct {
	faults int
	reduce bool
	stack  []*node
	// diverged is set if a run was not as the run before it.
	diverged bool

	// The present run.
	depth, left int
	asleep      []step
}

// node is a place in the tree of schedules: the steps to try, and the one that is
// being tried.
type node struct {
	steps []step
	at    int
}

func (s *search) choose(enabled []step, independent func(a, b step) bool) (step, bool) {
	if s.depth == 0 {
		s.left, s.asleep = s.faults, nil
	}
	if s.depth == len(s.stack) {
		s.stack = append(s.stack, &node{steps: s.awake(enabled)})
	}
	n := s.stack[s.depth]
	if len(n.steps) == 0 {
		return step{}, false
	}
	chosen := n.steps[n.at]
	if !slices.Contains(enabled, chosen) {
		s.diverged = true
		s.stack = s.stack[:s.depth+1]
		return step{}, false
	}
	var asleep []step
	for _, other := range append(s.asleep, n.steps[:n.at]...) {
		if s.reduce && slices.Contains(enabled, other) && independent(other, chosen) {
			asleep = append(asleep, other)
		}
	}
	s.asleep = asleep
	s.depth++
	if chosen.fault != "" {
		s.left--
	}
	return chosen, true
}

// awake returns the steps to try at a new node.
func (s *search) awake(enabled []step) []step {
	var all []step
	for _, e := range enabled {
		if (e.fault == "" || s.left > 0) && !slices.Contains(s.asleep, e) {
			all = append(all, e)
		}
	}
	return all
}

// next prepares the next run, and reports whether there is one.
func (s *search) next() bool {
	s.depth = 0
	for len(s.stack) > 0 {
		n := s.stack[len(s.stack)-1]
		if n.at++; n.at < len(n.steps) {
			return true
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return false
}

// walk chooses at random, with about so many faults.
type walk struct {
	random       *rand.Rand
	left, length int
}

func newWalk(faults, length int, seed uint64) *walk {
	return &walk{rand.New(rand.NewPCG(uint64(faults), seed)), faults, length}
}

func (w *walk) choose(enabled []step, _ func(a, b step) bool) (step, bool) {
	faulty := slices.IndexFunc(enabled, func(s step) bool { return s.fault != "" })
	if faulty < 0 {
		faulty = len(enabled)
	}
	w.length--
	if broken := enabled[faulty:]; len(broken) > 0 && w.random.IntN(max(w.length+1, 1)) < w.left {
		w.left--
		return broken[w.random.IntN(len(broken))], true
	}
	return enabled[w.random.IntN(faulty)], true
}

// failing is a fault that a schedule can have.
type failing struct {
	suffix string
	// executes says that the engine executes the request, writesOnly that a read
	// does not meet the fault, since another fault is the same to it.
	executes, writesOnly bool
	// late says that the request arrives later, cancels that the operation's
	// context ends.
	late, cancels bool
	fault         func(*message) Fault
}

func always(f Fault) func(*message) Fault { return func(*message) Fault { return f } }

// faults are those of the package documentation.
var faults = []failing{
	{suffix: "-", fault: always(DropRequest())},
	{suffix: "+", fault: always(DropResponse()), executes: true, writesOnly: true},
	{suffix: "~", fault: always(DropRequest()), late: true, writesOnly: true},
	{suffix: ".500-", fault: always(internalError)},
	{suffix: ".500+", fault: always(After(internalError)), executes: true, writesOnly: true},
	{suffix: ".conflict", fault: conflict},
	{suffix: ".throttle", fault: always(Throttle())},
	{suffix: ".cancel", fault: always(DropResponse()), executes: true, cancels: true},
	{suffix: ".truncate", fault: always(Truncate()), executes: true},
}

var internalError = Status(http.StatusInternalServerError, "InternalServerError", "The request could not be executed.")

func faultOf(suffix string) *failing {
	i := slices.IndexFunc(faults, func(f failing) bool { return f.suffix == suffix })
	if i < 0 {
		return nil
	}
	return &faults[i]
}

// meets reports whether the request can meet the fault.
func (f *failing) meets(m *message) bool {
	return (!f.writesOnly || len(m.touches.writes) > 0) && f.fault(m) != nil
}

// conflict is the response to a request that meets a transaction on the same item;
// nil for those that never do.
func conflict(m *message) Fault {
	const code = "TransactionConflict"
	switch operationName(m.request) {
	case "PutItem", "UpdateItem", "DeleteItem":
		return Status(http.StatusBadRequest, code+"Exception", "Transaction is ongoing for the item")
	case "TransactWriteItems", "TransactGetItems":
		codes := slices.Repeat([]string{"None"}, m.touches.items)
		codes[0] = code
		return CancelTransaction(codes...)
	}
	return nil
}
