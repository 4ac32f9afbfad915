package metering_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table/tabletest"
)

// unlucky is a network that loses some requests and some responses, and returns
// errors for others.
type unlucky struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (u *unlucky) fault(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	u.mu.Lock()
	luck := u.random.IntN(10)
	u.mu.Unlock()
	faults := []tabletest.Fault{
		tabletest.DropResponse(), tabletest.Truncate(), tabletest.After(tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")),
		tabletest.Throttle(), tabletest.DropRequest(), tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."),
	}
	if luck < len(faults) {
		return faults[luck](r, next)
	}
	return next.RoundTrip(r)
}

// randomMessage is one of few workspaces, users, metrics and hours, so that
// many add to the same counters.
func randomMessage(random *rand.Rand) metering.Message {
	m := metering.Message{
		WorkspaceID: []string{"acme", "globex"}[random.IntN(2)],
		MetricID:    []string{"exports", "logins"}[random.IntN(2)],
		UserID:      []string{"", "ana", "bruno"}[random.IntN(3)],
		Count:       1 + random.Int64N(metering.MaxCount),
		Hour:        ten.Add(time.Duration(random.IntN(72)-60) * time.Hour),
	}
	return m
}

// Whatever is lost, refused, repeated and delivered again, the counters are the
// sum of the distinct messages.
func TestCountersAreTheSumOfDistinctMessages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 7))
			f := newFixture(t)
			f.faults.Always("", (&unlucky{random: rand.New(rand.NewPCG(seed, 8))}).fault)

			want := map[metering.Meter]int64{}
			var queue []metering.Delivery
			for i := range 60 {
				m := randomMessage(random)
				d := delivery(t, fmt.Sprint(i), m)
				for range 1 + random.IntN(3) { // a queue delivers at least once
					queue = append(queue, d)
				}
				want[metering.Meter{WorkspaceID: m.WorkspaceID, MetricID: m.MetricID}] += m.Count
				if m.UserID != "" {
					want[metering.Meter{WorkspaceID: m.WorkspaceID, MetricID: m.MetricID, UserID: m.UserID}] += m.Count
					want[metering.Meter{MetricID: m.MetricID, UserID: m.UserID}] += m.Count
				}
			}
			random.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })

			met := map[metering.Status]int{}
			for round := 0; len(queue) > 0; round++ {
				if round == 200 {
					f.faults.Always("", nil) // enough
				}
				consume(t, f, random, &queue, met)
			}
			f.faults.Always("", nil)
			if met[metering.Dropped] > 0 || met[metering.Returned] == 0 || met[metering.Duplicate] == 0 {
				t.Errorf("the run was not as it should be: %v", met)
			}
			for m, total := range want {
				f.check(t, m, total)
			}
			if len(want) != 16 {
				t.Errorf("of 16 meters %d are used", len(want))
			}
		})
	}
}

// consume takes batches for two consumers at a time from the queue, and puts
// back what they return. Now and then the queue forgets that a message is done.
func consume(t *testing.T, f *fixture, random *rand.Rand, queue *[]metering.Delivery, met map[metering.Status]int) {
	var wg sync.WaitGroup
	var batches [2][]metering.Delivery
	var outcomes [2][]metering.Outcome
	for i := range batches {
		n := min(len(*queue), 1+random.IntN(10))
		batches[i], *queue = slices.Clone((*queue)[:n]), (*queue)[n:]
		wg.Go(func() { outcomes[i] = f.Batch(t.Context(), batches[i]) })
	}
	wg.Wait()
	for i, batch := range batches {
		for j, o := range outcomes[i] {
			met[o.Status]++
			if o.Status == metering.Returned || random.IntN(20) == 0 {
				*queue = append(*queue, batch[j])
			}
		}
	}
}
