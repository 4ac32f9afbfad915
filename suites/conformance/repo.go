package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func repoTests() tests {
	return tests{
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
	Version: "version",
}

func newRepo[T any](t *testing.T, tbl *table.Table, e repo.Entity[T]) *repo.Repo[T] {
	t.Helper()
	return expect.Value(repo.New(tbl, e))(t)
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
	for _, err := range repo.Stream(t.Context(), tbl, q, users, repo.IgnoreOther()) {
		must(t, err)
		break
	}
	wantErr(t, repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), txs.AppendTo(&ts)), table.ErrWrongType)
	equal(t, "after the error", []int{len(us), len(ts)}, []int{1, 40})
	must(t, repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), repo.IgnoreOther()))
	equal(t, "users without the others", len(us), 2)
}

func otherEntities(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{})
	accounts := newRepo(t, tbl, accountEntity)
	users := newRepo(t, tbl, repo.Entity[account]{Type: "USER", Key: accountEntity.Key, Version: "version"})
	must(t, accounts.Create(t.Context(), new(account{ID: "u-123", Name: "ana"})))
	_, get := users.Get(t.Context(), accountKey("u-123"))
	_, many := users.BatchGet(t.Context(), []keys.Key{accountKey("u-123")})
	_, query := users.Query(t.Context(), table.Query{PK: user.PK})
	_, all := table.Collect(users.All(t.Context(), table.Query{PK: user.PK}))
	_, update := users.Update(t.Context(), accountKey("u-123"), func(*account) error { return nil })
	for _, err := range []error{get, many, query, all, update} {
		wantErr(t, err, table.ErrWrongType)
	}
}
