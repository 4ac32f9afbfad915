package core

import (
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// stock publishes more versions than a step of a rebuild replays: three of each product.
func stock(t *testing.T, who Tenant) (products int) {
	t.Helper()
	products = rebuildChunk/2 + 1
	for version := range int64(3) {
		check.Together(products, func(i int) {
			price := float64(100 + 7*int64(i)*version%40)
			c := Change{Ref: stocked(i), Name: "P", Attributes: map[string]any{"price": price}, Version: version}
			if _, err := who.Publish(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	return products
}

func stocked(i int) Ref { return NewRef("PRODUCT", fmt.Sprintf("P-%03d", i)) }

func TestARebuildGivesWhatTheHandlerHasMade(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	products := stock(t, acme)
	s.settle(t)
	live := check.Must(acme.Catalogue(t.Context(), 0, ""))(t).Items
	check.Equal(t, "listings", len(live), products)

	check.Equal(t, "listings that were deleted", check.Must(acme.DropCatalogue(t.Context()))(t), products)
	wrong := live[2]
	wrong.Lowest, wrong.PriceChanges = 0, 99
	check.OK(t, s.table.Transact(t.Context(), s.listings.PutOps(&wrong)...)) // made by a mistake
	check.OK(t, acme.RebuildCatalogue(t.Context(), "rebuild"))
	check.Is(t, acme.RebuildCatalogue(t.Context(), "rebuild"), table.ErrExists, "an id twice")
	s.settle(t)
	check.Equal(t, "catalogue", check.Must(acme.Catalogue(t.Context(), 0, ""))(t).Items, live)
	task := check.Must(acme.Task(t.Context(), "rebuild"))(t)
	check.Equal(t, "task", string(task.Status)+" "+task.String(), fmt.Sprintf("DONE 100 %%: %d of %[1]d done, 0 rejected", 3*products))
}

// A rebuild ends at each of its requests, and the change of its task is delivered again.
func TestARebuildSurvivesItsEndAtEveryRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	for _, price := range []float64{40, 45, 42} {
		version := int64(len(check.Must(acme.Versions(t.Context(), lamp, 0, ""))(t).Items))
		check.Must(acme.Publish(t.Context(), priced(version, price)))(t)
	}
	for name, fault := range map[string]tabletest.Fault{"before": tabletest.DropRequest(), "after": tabletest.DropResponse()} {
		for requests := 0; ; requests++ {
			id := fmt.Sprintf("%s-%d", name, requests)
			check.Must(acme.DropCatalogue(t.Context()))(t)
			check.OK(t, acme.RebuildCatalogue(t.Context(), id))
			var faults tabletest.Faults
			faults.Next("", append(make([]tabletest.Fault, requests), fault)...)
			dying := s.through(t, &faults).as(acme.caller)
			worker, failed := dying, false
			for task := check.Must(acme.Task(t.Context(), id))(t); task.Status != Done; task = check.Must(acme.Task(t.Context(), id))(t) {
				if err := worker.work(t.Context(), task); err != nil {
					worker, failed = acme, true
				}
				check.OK(t, acme.work(t.Context(), task)) // again, whether it failed or not
			}
			check.Equal(t, "versions that were replayed", check.Must(acme.Task(t.Context(), id))(t).Done, 3)
			listing := check.Must(s.listings.Get(t.Context(), listingKey("ACME", "LAMP")))(t)
			check.Equal(t, "listing", listing, Listing{TenantCode: "ACME", Code: "LAMP", Name: "Lamp", Price: 42, Lowest: 40, PriceChanges: 2, Version: 3})
			if !failed {
				if requests < 7 {
					t.Errorf("it took %d requests", requests)
				}
				break
			}
		}
	}
}
