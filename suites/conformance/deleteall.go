package conformance

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func deleteAllTests() tests {
	return tests{
		"entities with their copies, and copies without": deleteAllCopies,
		"in parts, by items and units":                   deleteAllParts,
		"stops at the first error, and continues":        deleteAllFaults,
		"items of another type are refused":              deleteAllOthers,
	}
}

// tenant holds entries, each of which has its name for a second key.
func tenantEntity() repo.Entity[account] {
	return repo.Entity[account]{
		Type: "MEMBER", Version: "version",
		Key: func(a account) keys.Key {
			return keys.Key{PK: keys.Prefix("TENANT").PK("acme"), SK: keys.Prefix("MEMBER").SK(keys.Str(a.ID))}
		},
		Copies: []repo.Copy[account]{{Name: "by name", Key: func(a account) keys.Key { return nameKey(a.Name) }}},
	}
}

var membersOfTenant = table.Query{PK: keys.Prefix("TENANT").PK("acme"), Range: keys.Prefix("MEMBER").All()}

func seedMembers(t *testing.T, r *repo.Repo[account], n int) {
	t.Helper()
	for i := range n {
		must(t, r.Create(t.Context(), &account{ID: strconv.Itoa(i), Name: "n-" + strconv.Itoa(i)}))
	}
}

// tableSize returns how many items a table has.
func tableSize(t *testing.T, tbl *table.Table) int {
	t.Helper()
	page := expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{Limit: 1000, Consistent: true}))(t)
	return len(page.Items)
}

func deleteAllCopies(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, tenantEntity())
	seedMembers(t, r, 7)
	other := &account{ID: "u-1", Name: "other"}
	must(t, newRepo(t, tbl, accountEntity).Create(t.Context(), other))
	kept := tableSize(t, tbl) - 14

	// A copy whose main item is gone, and one that a main item no longer has.
	must(t, tbl.Do(t.Context(), table.Delete(tenantEntity().Key(account{ID: "3"}))))
	dry := expect.Value(r.DeleteAll(t.Context(), membersOfTenant, &repo.DeleteOptions{DryRun: true}))(t)
	equal(t, "dry run", [2]any{dry.Items, dry.Done}, [2]any{6, true})
	equal(t, "items after the dry run", tableSize(t, tbl), kept+13)

	deleted := expect.Value(r.DeleteAll(t.Context(), membersOfTenant, nil))(t)
	equal(t, "deleted", [2]any{deleted.Items, deleted.Done}, [2]any{6, true})
	equal(t, "items left, with the copy of the one that was deleted by hand", tableSize(t, tbl), kept+1)
	orphan := expect.Value(r.DeleteAll(t.Context(), table.Query{PK: nameKey("n-3").PK}, nil))(t)
	equal(t, "orphans", [2]any{orphan.Items, orphan.Done}, [2]any{1, true})
	equal(t, "items left", tableSize(t, tbl), kept)

	// The name is free again.
	must(t, r.Create(t.Context(), &account{ID: "9", Name: "n-3"}))
}

func deleteAllParts(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, tenantEntity())
	seedMembers(t, r, 20)
	q := membersOfTenant
	q.Limit = 6
	var all []int
	for calls := 0; calls < 10; calls++ {
		deleted := expect.Value(r.DeleteAll(t.Context(), q, nil))(t)
		if all = append(all, deleted.Items); deleted.Done {
			break
		}
	}
	equal(t, "deleted by each call", all, []int{6, 6, 6, 2})

	seedMembers(t, r, 60)
	sum, calls := 0, 0
	for done := false; !done && calls < 100; calls++ {
		deleted := expect.Value(r.DeleteAll(t.Context(), membersOfTenant, &repo.DeleteOptions{MaxUnits: 100}))(t)
		if sum, done = sum+deleted.Items, deleted.Done; !h.Capabilities.WrongTransactionCapacity && deleted.Units > 300 {
			t.Errorf("%.0f units of 100", deleted.Units)
		}
	}
	equal(t, "deleted", sum, 60)
	if calls < 3 && !h.Capabilities.WrongTransactionCapacity {
		t.Errorf("%d calls for 60 entities of two items", calls)
	}
}

func deleteAllFaults(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	r := newRepo(t, tbl, tenantEntity())
	seedMembers(t, r, 20)
	denied := tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected.")
	faults.Next("TransactWriteItems", nil, nil, nil, denied, tabletest.DropResponse(), tabletest.Throttle())
	deleted, err := r.DeleteAll(t.Context(), membersOfTenant, nil)
	if err == nil || deleted.Done || deleted.Items < 3 || deleted.Items > 12 {
		t.Errorf("%+v, %v", deleted, err)
	}
	again := expect.Value(r.DeleteAll(t.Context(), membersOfTenant, nil))(t)
	if !again.Done {
		t.Errorf("%+v", again)
	}
	equal(t, "items left", tableSize(t, tbl), 0)

	before := len(faults.Requests())
	_, err = r.DeleteAll(t.Context(), table.Query{}, nil)
	wantErr(t, err, table.ErrInvalid)
	equal(t, "requests of an invalid query", len(faults.Requests())-before, 0)
}

func deleteAllOthers(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, tenantEntity())
	seedMembers(t, r, 2)
	foreign := keys.Key{PK: membersOfTenant.PK, SK: "MEMBER#x"}
	must(t, tbl.Do(t.Context(), table.Put(foreign, map[string]any{"entityType": "OTHER", "at": time.Now().Year()})))
	_, err := r.DeleteAll(t.Context(), membersOfTenant, nil)
	wantErr(t, err, table.ErrWrongType)
	must(t, expect.ErrOf(table.Get[table.Item](t.Context(), tbl, foreign)))
	must(t, tbl.Do(t.Context(), table.Put(foreign, map[string]any{"entityType": "MEMBER", "id": 5})))
	_, err = r.DeleteAll(t.Context(), membersOfTenant, nil)
	wantErr(t, err)
	must(t, expect.ErrOf(table.Get[table.Item](t.Context(), tbl, foreign)))
}
