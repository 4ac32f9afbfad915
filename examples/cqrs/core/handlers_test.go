package core

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream/streamtest"
)

// event is a batch of records, as Lambda sends it.
type event struct{ Records []json.RawMessage }

// published publishes the prices of a product, and returns the records of it.
func published(t *testing.T, s system, who Tenant, code string, prices ...float64) event {
	t.Helper()
	var all event
	old := Record{}
	for _, price := range prices {
		c := Change{Ref: NewRef("PRODUCT", code), Name: code, Attributes: map[string]any{"price": price}, Version: old.Version}
		next, ops := who.publishOps(c, old)
		var one event
		check.OK(t, json.Unmarshal(check.Must(streamtest.Transact(t.Context(), s.client, s.table, ops...))(t), &one))
		all.Records = append(all.Records, one.Records...)
		old = next
	}
	return all
}

// The versions of a record are items of their own, which have no order in the stream.
func TestVersionsInAnyOrderGiveTheSame(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	router := check.Must(s.Router())(t)
	for i, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		who := s.as(Caller{Tenant: fmt.Sprint("T-", i)})
		batch := published(t, s, who, "LAMP", 40, 45, 42)
		var newest int64
		for _, version := range order {
			// Each version has two records, of its command and of its history.
			records := check.Must(json.Marshal(event{batch.Records[2*version : 2*version+2]}))(t)
			for range 2 {
				check.Equal(t, "deliveries", check.Deliver(t, router, records), 1)
				now := check.Must(who.Get(t.Context(), lamp))(t)
				newest = max(newest, int64(version+1))
				check.Equal(t, "version", now.Version, newest)
			}
		}
		checkAudit(t, who)
		want := Listing{TenantCode: who.caller.Tenant, Code: "LAMP", Name: "LAMP", Price: 42, Lowest: 40, PriceChanges: 2, Version: 3}
		check.Equal(t, "catalogue", check.Must(who.Catalogue(t.Context(), 0, ""))(t).Items, []Listing{want})
	}
}
