package main_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
)

// TestUpgradeAllocations shows that upgrades add no allocation to a read of an item of
// the present shape.
func TestUpgradeAllocations(t *testing.T) {
	measured := map[string][2]float64{}
	for _, history := range histories {
		least := [2]float64{math.Inf(1), math.Inf(1)}
		for range 3 { // the SDK allocates a few more in one client than in another
			get, query := readAllocations(t, history.open(t))
			least = [2]float64{min(least[0], get), min(least[1], query)}
		}
		measured[history.name] = least
	}
	t.Logf("allocations of Get and Query: %v", measured)
	for name, of := range measured {
		// One for each item of the page would be 100.
		if none := measured["none"]; of[0] > none[0]+0.5 || of[1] > none[1]+10 {
			t.Errorf("history %s: %v allocations, and %v without", name, of, none)
		}
	}
}

// readAllocations returns the allocations of Get and Query.
func readAllocations(t *testing.T, r *repo.Repo[record]) (get, query float64) {
	first := recordAt(0)
	get, _ = allocated(func() {
		_, err := r.Get(t.Context(), txKey(first.UserID, first.CreatedAt, first.ID))
		must(t, err)
	})
	query, _ = allocated(func() {
		_, err := r.Query(t.Context(), newest(user))
		must(t, err)
	})
	return get, query
}

const presentShape = 3

type history struct {
	name     string
	shape    string // of the items
	oldest   int
	upgrades []repo.Upgrade
}

var histories = []history{
	{name: "none"},
	{name: "deleted", shape: "3", oldest: presentShape},
	{name: "three", shape: "3", upgrades: []repo.Upgrade{
		repo.Default("status", "open"), repo.Rename("text", "note"), repo.Drop("former"),
	}},
}

// open returns a repository of records on a stub.
func (h history) open(tb testing.TB) *repo.Repo[record] {
	tb.Helper()
	attribute := "otherNumber" // so that all items have as many, of the same size
	if h.shape != "" {
		attribute = "entityShape"
	}
	further := map[string]types.AttributeValue{attribute: &types.AttributeValueMemberN{Value: cmp.Or(h.shape, "3")}}
	s := newStub(tb, further)
	r, err := repo.New(newTable(s.client, s.table), repo.Entity[record]{
		Type: recordType, Version: "revision", OldestShape: h.oldest, Upgrades: h.upgrades,
		Key: func(r record) keys.Key { return txKey(r.UserID, r.CreatedAt, r.ID) },
	})
	must(tb, err)
	return r
}
