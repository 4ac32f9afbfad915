package core

import (
	"context"
	"maps"
	"reflect"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Audit compares what the handlers have made of the tenant's history, data and listings,
// with the history. It returns the number of records, and whether all is as the history
// says. It reads every version.
func (t Tenant) Audit(ctx context.Context) (records int, ok bool, err error) {
	listings := map[string]Listing{}
	ok = true
	for _, typ := range t.entities.Types() {
		newest := map[string]Record{}
		history := table.Query{PK: histories.prefix(Ref{Type: typ}).PK(t.caller.Tenant)}
		for h, err := range t.history.Consistent().All(ctx, history) {
			if err != nil {
				return 0, false, err
			}
			newest[h.ID] = h.Record
			if typ == listedType {
				listings[h.Code] = listings[h.Code].after(h)
			}
		}
		for d, err := range t.data.Consistent().All(ctx, table.Query{PK: keys.Prefix(typ).PK(t.caller.Tenant)}) {
			if err != nil {
				return 0, false, err
			}
			ok = ok && reflect.DeepEqual(newest[d.ID], d.Record)
			delete(newest, d.ID)
			records++
		}
		ok = ok && len(newest) == 0
	}
	made := map[string]Listing{}
	for l, err := range t.listings.Consistent().All(ctx, table.Query{PK: cataloguePrefix.PK(t.caller.Tenant)}) {
		if err != nil {
			return 0, false, err
		}
		made[l.Code] = l
	}
	return records, ok && maps.Equal(made, listings), nil
}
