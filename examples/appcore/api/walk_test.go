package api_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
)

// What was there when a walk began is met once, in order, whatever is created
// meanwhile.
func TestAWalkMeetsEverythingOnceWhileMoreIsCreated(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	const count = 1000
	want := map[string]bool{}
	var mu sync.Mutex
	create := func(key string) string {
		n := core.NewTransaction{User: ana, Key: key, Amount: 1, Currency: "EUR"}
		id, _, err := core.CreateTransaction(t.Context(), a.service, n, func(tx core.Transaction) (string, error) { return tx.ID, nil })
		if err != nil {
			t.Error(err)
		}
		return id
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range count / 8 {
				id := create(fmt.Sprintf("%d-%d", worker, i))
				mu.Lock()
				want[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()

	for _, path := range []string{"/transactions?limit=37", "/transactions/global?limit=41"} {
		met := map[string]bool{}
		last, pages := "9", 0
		for tx := range walk[transaction](t, a, ana, path) {
			if met[tx.ID] {
				t.Errorf("%s: %s comes twice", path, tx.ID)
			}
			met[tx.ID] = true
			if position := tx.CreatedAt + tx.ID; position >= last {
				t.Errorf("%s: %s comes after %s", path, position, last)
			} else {
				last = position
			}
			// Others go on creating between the pages, and so over HTTP.
			if len(met)%20 == 0 {
				pages++
				a.create(t, ana, fmt.Sprintf("%s %d", path, pages))
				create(fmt.Sprintf("%s more %d", path, pages))
			}
		}
		for id := range want {
			if !met[id] {
				t.Errorf("%s: %s was not met", path, id)
			}
		}
		if len(want) != count {
			t.Errorf("%d transactions were created", len(want))
		}
	}
}
