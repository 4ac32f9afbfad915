package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream/streamtest"
)

// event is a batch of records, as Lambda sends it.
type event struct{ Records []json.RawMessage }

// none stands for a version without a price.
const none = -1.0

// published publishes the prices of a product, and returns the records of it.
func published(t *testing.T, s system, who Tenant, code string, prices ...float64) event {
	t.Helper()
	var all event
	old := Record{}
	for _, price := range prices {
		var one []json.RawMessage
		old, one = publishedAfter(t, s, who, code, price, old)
		all.Records = append(all.Records, one...)
	}
	return all
}

// publishedAfter publishes the next version, and returns it and the records of it.
func publishedAfter(t *testing.T, s system, who Tenant, code string, price float64, old Record) (Record, []json.RawMessage) {
	t.Helper()
	c := Change{Ref: NewRef("PRODUCT", code), Name: code, Version: old.Version}
	if price != none {
		c.Attributes = map[string]any{"price": price}
	}
	next, ops := who.publishOps(c, old)
	var one event
	check.OK(t, json.Unmarshal(check.Must(streamtest.Transact(t.Context(), s.client, s.table, ops...))(t), &one))
	return next, one.Records
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

// A version without a price has no price of 0, in any order of the deliveries, and after a
// repair and a rebuild.
func TestAMissingPriceIsNoPrice(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	router := check.Must(s.Router())(t)
	for i, tt := range []struct {
		prices []float64
		want   Listing
	}{
		{[]float64{none}, Listing{NoPriceSince: 1}},
		{[]float64{none, none}, Listing{NoPriceSince: 1}},
		{[]float64{none, 40}, Listing{Price: 40, Lowest: 40}},
		{[]float64{none, none, 40, 45}, Listing{Price: 45, Lowest: 40, PriceChanges: 1}},
		{[]float64{40, none}, Listing{Price: 40, Lowest: 40, NoPriceSince: 2}},
		{[]float64{40, none, none}, Listing{Price: 40, Lowest: 40, NoPriceSince: 2}},
		{[]float64{40, none, 40}, Listing{Price: 40, Lowest: 40}},
		{[]float64{40, none, 45}, Listing{Price: 45, Lowest: 40, PriceChanges: 1}},
		{[]float64{0, none, 45}, Listing{Price: 45, PriceChanges: 1}},
		{[]float64{none, 0}, Listing{}},
	} {
		for _, backwards := range []bool{false, true} {
			who := s.as(Caller{Tenant: fmt.Sprint("T-", i, backwards)})
			tt.want.TenantCode, tt.want.Code, tt.want.Name, tt.want.Version = who.caller.Tenant, "LAMP", "LAMP", int64(len(tt.prices))
			same := func(how string) {
				t.Helper()
				check.Equal(t, fmt.Sprint(tt.prices, " ", how), check.Must(who.Catalogue(t.Context(), 0, ""))(t).Items, []Listing{tt.want})
			}
			deliver := func(records ...json.RawMessage) {
				t.Helper()
				for _, record := range records {
					check.Deliver(t, router, check.Must(json.Marshal(event{[]json.RawMessage{record}}))(t))
				}
			}
			var all []json.RawMessage
			old := Record{}
			for _, price := range tt.prices {
				var one []json.RawMessage
				old, one = publishedAfter(t, s, who, "LAMP", price, old)
				if all = append(all, one...); !backwards {
					deliver(one...)
				}
			}
			slices.Reverse(all)
			for range 2 { // in any order, and again
				deliver(all...)
				same("delivered")
			}
			check.Must(who.DropCatalogue(t.Context()))(t)
			check.OK(t, who.project(t.Context(), lamp, false))
			same("repaired")
			check.OK(t, who.project(t.Context(), lamp, true))
			same("rebuilt")
		}
	}
}
