package conformance

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// Names of attributes can look like a path to DynamoDB: a dot and [n] lead into
// maps and lists. Each package takes the names of a schema as they are.
func nameTests() tests {
	return tests{
		"conditions of writes": pathlikeWrites,
		"reads":                pathlikeReads,
		"entities":             pathlikeEntities,
		"upserts":              pathlikeUpserts,
		"refreshed entities":   pathlikeRefreshes,
		"a sharded index":      pathlikeShards,
		"requests":             pathlikeRequests,
	}
}

func pathlike() schema.Table {
	return schema.Table{
		PK: "p.k[0]", SK: "s.k[0]", TypeAttribute: "type.name[0]", Shape: "shape.of[0]", TTLAttribute: "expires.at[0]",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "g.pk[0]", SK: "g.sk[0]"},
			{Name: "LSI1", SK: "l.sk[0]", Local: true},
		},
	}
}

// thing is an item of such a table.
type thing struct {
	Type      string `dynamodbav:"type.name[0],omitempty"`
	ID        string `dynamodbav:"i.d[0],omitempty"`
	N         int    `dynamodbav:"n"`
	Version   int64  `dynamodbav:"version.n[0],omitempty"`
	ExpiresAt int64  `dynamodbav:"expires.at[0],omitempty"`
	GSI1PK    string `dynamodbav:"g.pk[0],omitempty"`
	GSI1SK    string `dynamodbav:"g.sk[0],omitempty"`
	LSI1SK    string `dynamodbav:"l.sk[0],omitempty"`
}

const thingVersion = "version.n[0]"

func pathlikeWrites(t *testing.T, h Harness) {
	tbl := h.newTable(t, pathlike())
	for how, run := range runs(t, tbl) {
		key := accountKey(how)
		must(t, run(table.Create(key, thing{N: 1, Version: 1})))
		wantErr(t, run(table.Create(key, thing{N: 2})), table.ErrExists)
		wantErr(t, run(table.Put(key, thing{N: 2}).IfVersion(thingVersion, 2)), table.ErrStale)
		wantErr(t, run(table.Delete(key).IfVersion(thingVersion, 0)), table.ErrStale)
		must(t, run(table.Put(key, thing{N: 2, ExpiresAt: now.Unix()}).IfVersion(thingVersion, 1)))
		must(t, run(table.Create(key, thing{N: 3})))
		got := expect.Value(table.Get[thing](t.Context(), tbl.Consistent(), key))(t)
		equal(t, how, got, thing{N: 3})
	}
}

func pathlikeReads(t *testing.T, h Harness) {
	const n = 5
	tbl := h.newTable(t, pathlike())
	var ops []table.Op
	for i := range n {
		ops = append(ops, table.Put(txKey(i), thing{
			Type: "tx", ID: "x", N: i, GSI1PK: "all", GSI1SK: string(shardSK(i)), LSI1SK: string(shardSK(i)),
		}))
	}
	expired := thing{Type: "tx", N: n, ExpiresAt: now.Unix(), GSI1PK: "all", GSI1SK: string(shardSK(n)), LSI1SK: string(shardSK(n))}
	must(t, tbl.BatchWrite(t.Context(), append(ops, table.Put(txKey(n), expired))...))
	for name, q := range map[string]table.Query{
		"table":        {PK: user.PK, Range: keys.Tx.All()},
		"global index": {Index: "GSI1", PK: "all", Range: keys.Range{From: shardSK(0)}},
		"local index":  {Index: "LSI1", PK: user.PK, Range: keys.Range{From: shardSK(0), To: shardSK(n)}},
	} {
		q.Limit, q.Project = 2, []string{"n", "i.d[0]"}
		q.Filter = expression.Name("n").NotEqual(expression.Value(3))
		var got []int
		for more := true; more; more = q.After != "" {
			page := expect.Value(table.QueryPage[thing](t.Context(), tbl.OfType("tx"), q))(t)
			for _, v := range page.Items {
				got = append(got, v.N)
				equal(t, name+": projected", v.ID, "x")
			}
			q.After = page.Next
		}
		equal(t, name, got, []int{0, 1, 2, 4})
	}
	wantErr(t, expect.ErrOf(table.Get[thing](t.Context(), tbl.Consistent().OfType("other"), txKey(0))), table.ErrWrongType)
	wantErr(t, expect.ErrOf(table.Get[thing](t.Context(), tbl.Consistent(), txKey(n))), table.ErrNotFound)
}

func pathlikeEntities(t *testing.T, h Harness) {
	// entry has no fields for the keys that a function makes.
	type entry struct {
		ID      string `dynamodbav:"i.d[0],omitempty"`
		N       int    `dynamodbav:"n"`
		Version int64  `dynamodbav:"version.n[0],omitempty"`
	}
	tbl := h.newTable(t, pathlike())
	r := newRepo(t, tbl, repo.Entity[entry]{
		Type: "THING", Version: thingVersion,
		Key:     func(v entry) keys.Key { return accountKey(v.ID) },
		Indexes: repo.Indexes[entry]{"GSI1": func(v entry) keys.Key { return keys.Key{PK: "all", SK: keys.SK(v.ID)} }},
	})
	must(t, r.Create(t.Context(), new(entry{ID: "a"})))
	wantErr(t, r.Create(t.Context(), new(entry{ID: "a"})), table.ErrExists)
	old := expect.Value(r.Consistent().Get(t.Context(), accountKey("a")))(t)
	changed := expect.Value(r.Update(t.Context(), accountKey("a"), func(v *entry) error { v.N++; return nil }))(t)
	equal(t, "n", changed.N, 1)
	wantErr(t, tbl.Transact(t.Context(), r.UpdateOps(old, &entry{ID: "a", N: 7, Version: old.Version})...), table.ErrStale)
	page := expect.Value(r.Query(t.Context(), table.Query{Index: "GSI1", PK: "all"}))(t)
	equal(t, "items of the index", len(page.Items), 1)
	must(t, tbl.Do(t.Context(), table.Put(accountKey("b"), thing{Type: "OTHER"})))
	wantErr(t, expect.ErrOf(r.Get(t.Context(), accountKey("b"))), table.ErrWrongType)
	must(t, tbl.Do(t.Context(), table.Put(accountKey("b"), thing{Type: "OTHER", ExpiresAt: now.Unix()})))
	must(t, r.Create(t.Context(), new(entry{ID: "b"})))
}

// pathlikeUpserts adds to a counter that is stored in an older shape, without a version,
// and with the greatest one.
func pathlikeUpserts(t *testing.T, h Harness) {
	tbl := h.newTable(t, pathlike())
	r := newRepo(t, tbl, repo.Entity[thing]{
		Type: "THING", Version: thingVersion,
		Key:      func(v thing) keys.Key { return accountKey(v.ID) },
		Upgrades: []repo.Upgrade{{Writes: []string{"l.sk[0]"}, Change: func(item table.Item) error { item["l.sk[0]"] = str("x"); return nil }}},
	})
	for id, stored := range map[string]thing{
		"older":   {Type: "THING", ID: "older", N: 1, Version: 3},
		"missing": {Type: "THING", ID: "missing", N: 1},
	} {
		must(t, tbl.Do(t.Context(), table.Put(accountKey(id), stored)))
		for want := 2; want < 4; want++ {
			v := expect.Value(r.Upsert(t.Context(), thing{ID: id}, repo.Patch{Add: map[string]any{"n": 1}}))(t)
			equal(t, id, v.N, want)
			equal(t, id+": upgraded", v.LSI1SK, "x")
		}
	}
	full := thing{Type: "THING", ID: "full", Version: math.MaxInt64}
	must(t, tbl.Do(t.Context(), table.Put(accountKey("full"), full)))
	if _, err := r.Upsert(t.Context(), thing{ID: "full"}, repo.Patch{Add: map[string]any{"n": 1}}); err == nil {
		t.Error("a version is greater than its type holds")
	}
}

func pathlikeRefreshes(t *testing.T, h Harness) {
	type bare struct { // a thing without keys of indexes, which copies would have, too
		Type      string `dynamodbav:"type.name[0],omitempty"`
		ID        string `dynamodbav:"i.d[0],omitempty"`
		N         int    `dynamodbav:"n"`
		Version   int64  `dynamodbav:"version.n[0],omitempty"`
		ExpiresAt int64  `dynamodbav:"expires.at[0],omitempty"`
		Note      string `dynamodbav:"no.te[0],omitempty"`
	}
	tbl := h.newTable(t, pathlike())
	copied := func(v bare) keys.Key { return mailKey(v.ID) }
	e := repo.Entity[bare]{
		Type: "THING", Version: thingVersion, Key: func(v bare) keys.Key { return accountKey(v.ID) },
		Copies: []repo.Copy[bare]{{Key: copied}},
	}
	r := newRepo(t, tbl, e)
	refresh := func(r *repo.Repo[bare], key keys.Key) []table.Op {
		t.Helper()
		return expect.Value(r.RefreshOps(t.Context(), expect.Value(table.Get[table.Item](t.Context(), tbl.Consistent(), key))(t)))(t)
	}

	// A copy is deleted only while its main item is missing.
	for id, back := range map[string]bool{"missing": false, "back": true} {
		must(t, r.Create(t.Context(), new(bare{ID: id})))
		main := expect.Value(table.Get[table.Item](t.Context(), tbl.Consistent(), accountKey(id)))(t)
		must(t, tbl.Do(t.Context(), table.Delete(accountKey(id))))
		ops := refresh(r, mailKey(id))
		if back {
			must(t, tbl.Do(t.Context(), table.Put(accountKey(id), main)))
		}
		equal(t, id+": deleted", tbl.Transact(t.Context(), ops...) == nil, !back)
	}

	// A former copy is deleted while there is a main item.
	must(t, r.Create(t.Context(), new(bare{ID: "former"})))
	former := e
	former.Copies, former.FormerCopies = nil, []func(bare) keys.Key{copied}
	must(t, tbl.Transact(t.Context(), refresh(newRepo(t, tbl, former), mailKey("former"))...))
	wantErr(t, expect.ErrOf(table.Get[bare](t.Context(), tbl.Consistent(), mailKey("former"))), table.ErrNotFound)

	// An item without a version is guarded by its attributes, also by those that it lacks.
	for name, change := range map[string]table.Item{
		"unchanged": nil, "changed": {"i.d[0]": str("other")}, "added": {"no.te[0]": str("x")},
	} {
		key := accountKey(name)
		must(t, tbl.Do(t.Context(), table.Put(key, bare{Type: "THING", ID: name, N: 1})))
		ops := refresh(r, key)
		if change != nil {
			must(t, tbl.Do(t.Context(), table.Patch(key, change)))
		}
		equal(t, name+": refreshed", tbl.Transact(t.Context(), ops...) == nil, change == nil)
	}
}

func pathlikeShards(t *testing.T, h Harness) {
	const n = 20
	tbl := h.newTable(t, pathlike())
	var ops []table.Op
	for i := range n {
		key := global(4).Key(string(txKey(i).SK), shardSK(i))
		ops = append(ops, table.Put(txKey(i), thing{N: i, GSI1PK: string(key.PK), GSI1SK: string(key.SK)}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	r := expect.Value(shard.New[thing](tbl, global(4), nil))(t)
	var got []int
	q := shard.Query{Limit: 7, Descending: true}
	for more := true; more; more = q.After != "" {
		page := expect.Value(r.Page(t.Context(), q))(t)
		for _, v := range page.Items {
			got = append(got, v.N)
		}
		q.After = page.Next
	}
	equal(t, "newest first", got, span(n-1, 0))
}

func pathlikeRequests(t *testing.T, h Harness) {
	at := now
	tbl := h.newTableWith(t, h.Client(t), pathlike(), &table.Options{Now: func() time.Time { return at }})
	store := expect.Value(idempotency.New(tbl, nil))(t)
	r := payment
	for i, step := range []time.Duration{0, time.Minute, time.Hour, 24 * time.Hour} {
		at = at.Add(step)
		result, err := idempotency.Do(t.Context(), store, r, func(context.Context) (idempotency.Plan[int], error) {
			return idempotency.Snapshot(i, table.Update(user, addN(1))), nil
		})
		must(t, err)
		fresh := i == 0 || i == 3 // when the record has expired
		equal(t, "result", result, idempotency.Result[int]{Value: i / 3 * 3, Replayed: !fresh})
		got := expect.Value(table.Get[thing](t.Context(), tbl.Consistent(), user))(t)
		equal(t, "effects", got.N, 1+i/3)
	}
	r.Payload = idempotency.Text("another")
	_, err := idempotency.Do(t.Context(), store, r, func(context.Context) (idempotency.Plan[int], error) {
		return idempotency.Snapshot(0, table.Update(user, addN(1))), nil
	})
	wantErr(t, err, idempotency.ErrPayloadMismatch)
	for i := range 3 {
		first, err := idempotency.Exec(t.Context(), store, idempotency.Request{Key: "message"}, func(context.Context) ([]table.Op, error) {
			return []table.Op{table.Update(other, addN(1))}, nil
		})
		must(t, err)
		equal(t, "first", first, i == 0)
	}
	record := expect.Value(store.Lookup(t.Context(), r))(t)
	equal(t, "expires", record.ExpiresAt, at.Add(24*time.Hour))
}
