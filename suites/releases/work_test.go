package releases_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/suites/releases/program"
)

// Workers of both releases write the same few entities. None loses another's addition, each
// request is executed once, and each entity has exactly its own items.
func TestReleasesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSide(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, of := range []string{released.Tally, released.Grown, released.Counted, released.Revised, released.Shaped} {
		for i, id := range program.KeptIDs {
			ok(t, []caller{s.old, s.new}[i%2], program.Call{Verb: "create", Of: of, New: doc(id, "")})
		}
	}
	var responses [2]program.Response
	var wg sync.WaitGroup
	for i, p := range []caller{s.old, s.new} {
		wg.Go(func() {
			responses[i] = p.Do(t.Context(), program.Call{Verb: "work", Work: program.Work{Seed: seed + uint64(i), Workers: 4, Ops: 400}})
		})
	}
	wg.Wait()
	for i, r := range responses {
		expect.Equal(t, fmt.Sprintf("error of release %d", i), r.Err, "")
		t.Log(r.Work.Done)
	}
	consistent(t, s.table)

	old, now := responses[0].Work, responses[1].Work
	for _, of := range []string{released.Tally, released.Grown, released.Counted, released.Revised, released.Shaped} {
		for _, id := range program.KeptIDs {
			name := of + " " + id
			want := old.Added[name] + now.Added[name] + old.Added[of+" before "+id] + now.Added[of+" before "+id]
			expect.Equal(t, "n of "+name, ok(t, s.new, program.Call{Verb: "get", Of: of, ID: id}).N, want)
		}
	}
	// The entity that each request came to, and those that there are.
	once, created := maps.Clone(old.Once), map[string]string{}
	for key, id := range now.Once {
		if was := once[key]; was != "" && was != id {
			t.Errorf("%s came to %s and to %s", key, was, id)
		}
		once[key] = id
	}
	for _, it := range stored(t, s.table) {
		if id := item.Text(it["id"]); strings.HasPrefix(id, "once-") {
			created[id[:strings.LastIndex(id, "-")]] = id
			expect.Equal(t, "created", id, once[id[:strings.LastIndex(id, "-")]])
		}
	}
	expect.Equal(t, "created", created, once)
}
