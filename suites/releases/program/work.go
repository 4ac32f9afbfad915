package program

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/singletable/singletable/internal/released"
)

// Work is what workers are told. They write entities that the workers of other programs write.
type Work struct {
	Seed         uint64
	Workers, Ops int
}

// Outcomes are what workers have done.
type Outcomes struct {
	// Added counts the additions that succeeded, by type and id.
	Added map[string]int
	// Done counts what calls came to, by verb and class of error.
	Done map[string]int
	// Once has the id that each idempotency key came to.
	Once map[string]string
}

// Entities of KeptIDs are never deleted. Those of LostIDs are, and created again. All want the
// same few e-mails and aliases.
var (
	KeptIDs = []string{"k1", "k2", "k3"}
	LostIDs = []string{"l1", "l2"}
	wanted  = []string{"a", "b", "c", "d", "e", "f", "g", "h"}
)

// work runs workers.
func (p *Program) work(ctx context.Context, w Work) (Outcomes, error) {
	all := Outcomes{map[string]int{}, map[string]int{}, map[string]string{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for id := range w.Workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(w.Seed, uint64(id)))
			for range w.Ops {
				c := draw(rnd)
				r := p.run(ctx, c)
				mu.Lock()
				err := all.add(c, r)
				if failed == nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return all, failed
}

// draw draws a call.
func draw(rnd *rand.Rand) Call {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	if rnd.IntN(10) == 0 {
		return Call{Verb: "once", Of: released.Revised, ID: fmt.Sprint("once-", rnd.IntN(20)), New: Value{Doc: released.Doc{Email: "payload"}}}
	}
	c := Call{Of: pick(released.Tally, released.Grown, released.Grown+" before", released.Counted, released.Revised, released.Shaped, released.Shaped+" before"), ID: pick(KeptIDs...)}
	switch {
	case c.Of == released.Tally, strings.HasPrefix(c.Of, released.Grown):
		c.Verb = pick("count", "add", "save")
		c.New.ID, c.New.N = c.ID, 1
		return c
	case c.Of == released.Revised && rnd.IntN(3) == 0:
		c.ID = pick(LostIDs...)
		c.Verb = pick("create", "delete", "deleteOps", "move", "updateOps")
	case c.Of == released.Counted:
		c.Verb = pick("add", "save", "move", "refresh")
	default:
		c.Verb = pick("add", "save", "move", "updateOps", "refresh")
	}
	if c.Verb == "create" || c.Verb == "move" {
		c.New.ID, c.New.Email, c.New.Aliases = c.ID, pick(wanted...)+"@x", []string{pick(wanted...)}
	}
	return c
}

// run does a call that was drawn. Those that take a value as it was read read it first, and
// add to it.
func (p *Program) run(ctx context.Context, c Call) Response {
	if c.Verb == "move" || c.Verb == "save" || c.Verb == "updateOps" || c.Verb == "deleteOps" {
		was := p.Do(ctx, Call{Verb: "get", Of: c.Of, ID: c.ID})
		if was.Err != "" {
			return was
		}
		wish := c.New
		c.Old, c.New = was.Value, was.Value
		c.New.N++
		if c.Verb == "move" {
			c.Verb = "save"
			c.New.Email, c.New.Aliases, c.New.Mailbox = wish.Email, wish.Aliases, ""
			if was.Value.Mailbox != "" {
				c.New.Mailbox = released.Mailbox(wish.Email)
			}
		}
	}
	return p.Do(ctx, c)
}

// raced are the classes of errors that a race explains. The ops of a program before an upgrade
// meet a newer shape, which they cannot know.
var raced = []string{"stale", "exists", "missing", "conflict", "newer shape"}

// adding are the verbs that add 1 to n.
var adding = []string{"add", "count", "save", "move", "updateOps"}

// add counts what a call came to. A class of error that no race explains is an error.
func (o *Outcomes) add(c Call, r Response) error {
	o.Done[c.Verb+" "+r.Err]++
	switch {
	case r.Err == "" && c.Verb == "once":
		if id := o.Once[c.ID]; id != "" && id != r.Value.ID {
			return fmt.Errorf("%s came to %s and to %s", c.ID, id, r.Value.ID)
		}
		o.Once[c.ID] = r.Value.ID
	case r.Err == "" && slices.Contains(adding, c.Verb):
		o.Added[c.Of+" "+c.ID]++
	case r.Err != "" && !slices.Contains(raced, r.Err):
		return fmt.Errorf("%s of %s %s: %s", c.Verb, c.Of, c.ID, r.Err)
	}
	return nil
}
