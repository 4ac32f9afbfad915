package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func repoTests() tests {
	return tests{
		"items are all there or none when responses are lost":       itemsSurviveLostResponses,
		"items are all there or none when the process dies":         itemsSurviveDeath,
		"a key that changes moves the copy":                         copiesMove,
		"no write takes the copy of another entity":                 putsKeepCopies,
		"concurrent updates of one entity lose nothing":             updatesLoseNothing,
		"an update whose response was lost is executed once":        lostUpdate,
		"an equal update of another writer is not taken for one's":  equalUpdates,
		"a collection is split by type and streamed in key order":   collections,
		"an item of another entity is refused, not half understood": otherEntities,
	}
}

type account struct {
	ID      string `dynamodbav:"id"`
	Name    string `dynamodbav:"name,omitempty"`
	N       int    `dynamodbav:"n"`
	Version int64  `dynamodbav:"version"`
}

func accountKey(id string) keys.Key { return keys.Key{PK: keys.User.PK(id), SK: keys.Profile} }

func nameKey(name string) keys.Key {
	return keys.Key{PK: keys.Prefix("NAME").PK(name), SK: keys.Metadata}
}

// accounts are stored under their id and under their name.
var accountEntity = repo.Entity[account]{
	Type:    "ACCOUNT",
	Key:     func(a account) keys.Key { return accountKey(a.ID) },
	Copies:  []repo.Copy[account]{{Name: "by name", Key: func(a account) keys.Key { return nameKey(a.Name) }}},
	Version: "version", VersionFromOne: true,
}

func newRepo[T any](t *testing.T, tbl *table.Table, e repo.Entity[T]) *repo.Repo[T] {
	t.Helper()
	return expect.Value(repo.New(tbl, e))(t)
}

// lifecycle are the writes of an account, one after the other. Each is given
// the name that the account has before it.
func lifecycle(t *testing.T, r *repo.Repo[account]) []func() error {
	update := func(change func(*account) error) func() error {
		return func() error { return expect.ErrOf(r.Update(t.Context(), accountKey("u-123"), change)) }
	}
	return []func() error{
		func() error { return r.Create(t.Context(), new(account{ID: "u-123", Name: "ana"})) },
		update(func(a *account) error { a.N++; return nil }),
		update(func(a *account) error { a.Name = "ana-maria"; return nil }),
		func() error { return r.Delete(t.Context(), accountKey("u-123")) },
	}
}

// wantWhole checks that the account's items are there together and equal, or
// all missing.
func wantWhole(t *testing.T, tbl *table.Table, when string) {
	t.Helper()
	byID, err := table.Get[account](t.Context(), tbl.Consistent(), accountKey("u-123"))
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		t.Fatal(err)
	}
	exists := err == nil
	for _, name := range []string{"ana", "ana-maria"} {
		byName, err := table.Get[account](t.Context(), tbl.Consistent(), nameKey(name))
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
		if there, want := err == nil, exists && byID.Name == name; there != want {
			t.Errorf("%s: item under the name %q: %v, want %v", when, name, there, want)
		}
		if err == nil && byName != byID {
			t.Errorf("%s: the items differ: %+v and %+v", when, byID, byName)
		}
	}
}

// The copy under a name makes the name unique, however an account is written.
func putsKeepCopies(t *testing.T, h Harness) {
	tbl, _ := h.withFaults(t, schema.Table{}, nil)
	r := newRepo(t, tbl, accountEntity)
	must(t, r.Create(t.Context(), new(account{ID: "u-123", Name: "ana"})))
	must(t, r.Put(t.Context(), new(account{ID: "u-456", Name: "bob"})))
	bob := expect.Value(r.Get(t.Context(), nameKey("bob")))(t)
	bob.Name = "ana"
	for what, v := range map[string]account{"new": {ID: "u-789", Name: "ana"}, "other": bob} {
		if err := r.Put(t.Context(), new(v)); !errors.Is(err, table.ErrExists) {
			t.Errorf("Put of the %s account with a name that is taken: %v", what, err)
		}
	}
	if _, err := r.Get(t.Context(), accountKey("u-789")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("the refused account: %v", err)
	}
	wantWhole(t, tbl, "after refused puts")
}

func itemsSurviveLostResponses(t *testing.T, h Harness) {
	for name, fault := range after() {
		for _, times := range []int{1, 3} {
			tbl, faults := h.withFaults(t, schema.Table{}, nil)
			for i, step := range lifecycle(t, newRepo(t, tbl, accountEntity)) {
				for range times {
					faults.Next("TransactWriteItems", fault)
				}
				err := step()
				if err != nil && (times == 1 || !errors.Is(err, table.ErrOutcomeUnknown)) {
					t.Errorf("%s %d times, step %d: %v", name, times, i, err)
				}
				wantWhole(t, tbl, fmt.Sprintf("%s %d times, step %d", name, times, i))
			}
		}
	}
}

// The process dies between two requests: those before were executed, those
// after are not sent.
func itemsSurviveDeath(t *testing.T, h Harness) {
	for dies := range 12 {
		spec := schema.Table{}
		tbl, faults := h.withFaults(t, spec, nil)
		faults.Next("", make([]tabletest.Fault, dies)...)
		faults.Always("", tabletest.DropRequest())
		for _, step := range lifecycle(t, newRepo(t, tbl, accountEntity)) {
			if err := step(); err != nil {
				break
			}
		}
		faults.Always("", nil)
		wantWhole(t, tbl, fmt.Sprintf("dead after %d requests", dies))
	}
}

func copiesMove(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{})
	r := newRepo(t, tbl, accountEntity)
	must(t, r.Create(t.Context(), new(account{ID: "u-123", Name: "ana"})))
	must(t, r.Create(t.Context(), new(account{ID: "u-456", Name: "bob"})))
	rename := func(to string) error {
		return expect.ErrOf(r.Update(t.Context(), nameKey("ana"), func(a *account) error { a.Name = to; return nil }))
	}
	wantErr(t, rename("bob"), table.ErrExists)
	wantWhole(t, tbl, "after a name that is taken")
	must(t, rename("ana-maria"))
	wantWhole(t, tbl, "after a name that is free")
	if _, err := r.Get(t.Context(), nameKey("ana-maria")); err != nil {
		t.Error(err)
	}
}

func updatesLoseNothing(t *testing.T, h Harness) {
	const writers = 32
	single := accountEntity
	single.Copies = nil
	for _, e := range []repo.Entity[account]{accountEntity, single} {
		r := newRepo(t, h.newTable(t, schema.Table{}), e)
		must(t, r.Create(t.Context(), new(account{ID: "u-123", Name: "ana"})))
		var group sync.WaitGroup
		errs := make([]error, writers)
		for i := range writers {
			group.Go(func() {
				_, errs[i] = r.Update(t.Context(), accountKey("u-123"), func(a *account) error { a.N++; return nil })
			})
		}
		group.Wait()
		must(t, errors.Join(errs...))
		for _, key := range []keys.Key{accountKey("u-123"), nameKey("ana")}[:1+len(e.Copies)] {
			got := expect.Value(r.Consistent().Get(t.Context(), key))(t)
			equal(t, "account", got, account{ID: "u-123", Name: "ana", N: writers, Version: writers + 1})
		}
	}
}

// Two writers that count from the same version write the same item, so only a
// transaction can tell whose it is.
func lostUpdate(t *testing.T, h Harness) {
	single := accountEntity
	single.Copies = nil
	for name, fault := range after() {
		for _, e := range []repo.Entity[account]{accountEntity, single} {
			tbl, faults := h.withFaults(t, schema.Table{}, nil)
			r := newRepo(t, tbl, e)
			must(t, r.Create(t.Context(), new(account{ID: "u-123", Name: "ana"})))
			faults.Next("UpdateItem", fault)
			faults.Next("TransactWriteItems", fault)
			_, err := r.Update(t.Context(), accountKey("u-123"), func(a *account) error { a.N++; return nil })
			if e.Copies == nil {
				wantErr(t, err, table.ErrOutcomeUnknown)
			} else if err != nil {
				t.Errorf("%s, with copies: %v", name, err)
			}
			got := expect.Value(r.Get(t.Context(), accountKey("u-123")))(t)
			equal(t, name, got, account{ID: "u-123", Name: "ana", N: 1, Version: 2})
		}
	}
}

// A write that failed before its execution must not mistake an equal write of
// another client for its own.
func equalUpdates(t *testing.T, h Harness) {
	single := accountEntity
	single.Copies = nil
	tbl, faults := h.withFaults(t, schema.Table{}, nil)
	r, others := newRepo(t, tbl, single), newRepo(t, h.sameTable(t, tbl), single)
	must(t, r.Create(t.Context(), new(account{ID: "u-123"})))
	increment := func(a *account) error { a.N++; return nil }
	faults.Next("UpdateItem", func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
		if _, err := others.Update(t.Context(), accountKey("u-123"), increment); err != nil {
			return nil, err
		}
		return tabletest.DropRequest()(q, next)
	})
	if _, err := r.Update(t.Context(), accountKey("u-123"), increment); !errors.Is(err, table.ErrOutcomeUnknown) {
		t.Errorf("error: %v", err)
	}
	got := expect.Value(r.Get(t.Context(), accountKey("u-123")))(t)
	equal(t, "account", got, account{ID: "u-123", N: 1, Version: 2})
}

// entry is one of many things in a user's partition.
type entry struct {
	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"createdAt"`
}

func entryEntity(typ string, p keys.Prefix) repo.Entity[entry] {
	return repo.Entity[entry]{Type: typ, Key: func(e entry) keys.Key {
		return keys.Key{PK: user.PK, SK: p.SK(keys.Time(e.At), keys.Str(e.ID))}
	}}
}

func collections(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{})
	users := newRepo(t, tbl, repo.Entity[account]{Type: "USER", Key: func(a account) keys.Key { return accountKey(a.ID) }})
	txs, notifs := newRepo(t, tbl, entryEntity("TX", keys.Tx)), newRepo(t, tbl, entryEntity("NOTIF", keys.Notif))
	must(t, users.Create(t.Context(), new(account{ID: "u-123"})))
	var want []string
	for i := range 40 {
		must(t, txs.Create(t.Context(), new(entry{ID: fmt.Sprintf("tx-%02d", i), At: now.Add(time.Duration(i) * time.Hour)})))
	}
	for i := range 12 {
		id := fmt.Sprintf("notif-%02d", i)
		must(t, notifs.Create(t.Context(), new(entry{ID: id, At: now.Add(time.Duration(i) * time.Minute)})))
		want = append(want, id)
	}
	want = append(want, "u-123")
	for i := range 40 {
		want = append(want, fmt.Sprintf("tx-%02d", i))
	}

	q := table.Query{PK: user.PK}
	var us []account
	var ts, ns []entry
	must(t, repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), txs.AppendTo(&ts), notifs.AppendTo(&ns)))
	equal(t, "collected", []int{len(us), len(ts), len(ns)}, []int{1, 40, 12})

	var got []string
	for v, err := range repo.Stream(t.Context(), tbl, q, users, txs, notifs) {
		must(t, err)
		switch v := v.(type) {
		case account:
			got = append(got, v.ID)
		case entry:
			got = append(got, v.ID)
		}
	}
	equal(t, "streamed", got, want)
	for _, err := range repo.Stream(t.Context(), tbl, q, users, repo.IgnoreUnknown()) {
		must(t, err)
		break
	}
	wantErr(t, repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), txs.AppendTo(&ts)), table.ErrWrongType)
	equal(t, "after the error", []int{len(us), len(ts)}, []int{1, 40})
	must(t, repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), repo.IgnoreUnknown()))
	equal(t, "users without the others", len(us), 2)
}

func otherEntities(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{})
	accounts := newRepo(t, tbl, accountEntity)
	users := newRepo(t, tbl, repo.Entity[account]{Type: "USER", Key: accountEntity.Key, Version: "version", VersionFromOne: true})
	must(t, accounts.Create(t.Context(), new(account{ID: "u-123", Name: "ana"})))
	_, get := users.Get(t.Context(), accountKey("u-123"))
	_, many := users.GetMany(t.Context(), []keys.Key{accountKey("u-123")})
	_, query := users.Query(t.Context(), table.Query{PK: user.PK})
	_, all := table.Collect(users.All(t.Context(), table.Query{PK: user.PK}))
	_, update := users.Update(t.Context(), accountKey("u-123"), func(*account) error { return nil })
	for _, err := range []error{get, many, query, all, update} {
		wantErr(t, err, table.ErrWrongType)
	}
}
