package repo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The domain of the tests: users, and transactions that are stored under their
// user and under their id.

var spec = schema.Table{
	Name:         "AppCore",
	TTLAttribute: "expiresAt",
	Indexes: []schema.Index{
		{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"},
		{Name: "GSI2", PK: "GSI2PK"},
	},
}

type User struct {
	ID        string `dynamodbav:"userId"`
	Name      string `dynamodbav:"name"`
	Logins    int    `dynamodbav:"logins"`
	ExpiresAt int64  `dynamodbav:"expiresAt,omitempty"`
	Version   int64  `dynamodbav:"version"`
}

func userKey(id string) keys.Key { return keys.Key{PK: keys.User.PK(id), SK: keys.Profile} }

var userEntity = repo.Entity[User]{
	Type:    "USER",
	Key:     func(u User) keys.Key { return userKey(u.ID) },
	Version: "version",
}

type Tx struct {
	ID      string    `dynamodbav:"txId"`
	User    string    `dynamodbav:"userId"`
	At      time.Time `dynamodbav:"createdAt"`
	Status  string    `dynamodbav:"status"`
	Version int64     `dynamodbav:"version"`
}

func txKey(id string) keys.Key { return keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata} }

func (t Tx) listKey() keys.Key {
	return keys.Key{PK: keys.User.PK(t.User), SK: keys.Tx.SK(keys.Time(t.At), keys.Str(t.ID))}
}

var txEntity = repo.Entity[Tx]{
	Type: "TRANSACTION",
	Key:  func(t Tx) keys.Key { return txKey(t.ID) },
	Indexes: repo.Indexes[Tx]{
		"GSI1": func(t Tx) keys.Key {
			return keys.Key{PK: keys.Prefix("GLOBAL_TX").PK(), SK: keys.None.SK(keys.Time(t.At), keys.Str(t.ID))}
		},
		// Pending transactions only.
		"GSI2": func(t Tx) keys.Key {
			if t.Status != "PENDING" {
				return keys.Key{}
			}
			return keys.Key{PK: keys.Prefix("PENDING").PK()}
		},
	},
	Copies:  []repo.Copy[Tx]{{Name: "by user", Key: Tx.listKey}},
	Version: "version",
}

var start = time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)

func newTx(n int) Tx {
	return Tx{ID: fmt.Sprintf("tx-%03d", n), User: "u-123", At: start.Add(time.Duration(n) * time.Minute), Status: "PENDING"}
}

func newRepo[T any](tb testing.TB, t *table.Table, e repo.Entity[T]) *repo.Repo[T] {
	tb.Helper()
	return expect.Value(repo.New(t, e))(tb)
}

// items returns the items of a transaction as they are stored: under its
// id and under its user.
func items(tb testing.TB, t *table.Table, tx Tx) (byID, byUser table.Item) {
	tb.Helper()
	items := [2]table.Item{}
	for i, key := range []keys.Key{txKey(tx.ID), tx.listKey()} {
		item, err := table.Get[table.Item](tb.Context(), t.Consistent(), key)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			tb.Fatal(err)
		}
		items[i] = item
	}
	return items[0], items[1]
}

// TestUpdateEndsWithTheContext ends it while Update waits before it starts again.
func TestUpdateEndsWithTheContext(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, nil)
	users := newRepo(t, tbl, userEntity)
	expect.OK(t, users.Create(t.Context(), new(User{ID: "u-123"})))
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	faults.Next("UpdateItem", nil, tabletest.After(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		defer cancel(gone)
		return next.RoundTrip(r)
	}))
	_, err := users.Update(ctx, userKey("u-123"), func(u *User) error {
		u.Logins++
		// Another writer is faster.
		return tbl.Do(t.Context(), table.Update(userKey("u-123"), expression.Add(expression.Name("version"), expression.Value(1))))
	})
	for _, want := range []error{context.Canceled, gone, table.ErrStale} {
		if !errors.Is(err, want) {
			t.Errorf("%v is not %v", err, want)
		}
	}
	if table.Classify(err) != table.Transient {
		t.Errorf("%v is %v", err, table.Classify(err))
	}
}

// TestUpdateIsBounded shows that the retries of a transaction and those of an
// update do not multiply.
func TestUpdateIsBounded(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, &table.Options{MaxAttempts: 3})
	users, txs := newRepo(t, tbl, userEntity), newRepo(t, tbl, txEntity)
	expect.OK(t, users.Create(t.Context(), new(User{ID: "u-123"})))
	expect.OK(t, txs.Create(t.Context(), new(newTx(0))))
	change := func(tx *Tx) error { tx.Status += "+"; return nil }
	conflict := tabletest.CancelTransaction("TransactionConflict", "None")
	down := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	for name, tt := range map[string]struct {
		fault tabletest.Fault
		run   func() error
		most  int
		want  error
	}{
		"Update in a lasting conflict": {conflict, func() error { return expect.ErrOf(txs.Update(t.Context(), txKey("tx-000"), change)) }, 3, table.ErrConflict},
		"Delete in a lasting conflict": {conflict, func() error { return txs.Delete(t.Context(), txKey("tx-000")) }, 3, table.ErrConflict},
		"Update in an outage":          {down, func() error { return expect.ErrOf(txs.Update(t.Context(), txKey("tx-000"), change)) }, 3, table.ErrOutcomeUnknown},
		"UpdateWith a stale op": {nil, func() error {
			_, err := txs.UpdateWith(t.Context(), txKey("tx-000"), func(*Tx) ([]table.Op, error) {
				return users.UpdateOps(User{ID: "u-123", Version: 7}, &User{ID: "u-123"}), nil
			})
			return err
		}, 2, table.ErrStale},
	} {
		faults.Always("TransactWriteItems", tt.fault)
		before := len(faults.Requests("TransactWriteItems"))
		err := tt.run()
		if n := len(faults.Requests("TransactWriteItems")) - before; n != tt.most || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d writes, want %d: %v", name, n, tt.most, err)
		}
		if class := table.Classify(err); class != table.Transient && !errors.Is(tt.want, table.ErrStale) {
			t.Errorf("%s: %v is %v", name, err, class)
		}
	}
	faults.Always("TransactWriteItems", nil)
	if tx := expect.Value(txs.Get(t.Context(), txKey("tx-000")))(t); tx.Version != 1 {
		t.Errorf("stored: %+v", tx)
	}
}

// TestSwappedCopyKeysAreAnError swaps the keys of two copies. That needs two ops on one
// item, which a transaction cannot have.
func TestSwappedCopyKeysAreAnError(t *testing.T) {
	t.Parallel()
	place := func(part func(Tx) string) repo.Copy[Tx] {
		return repo.Copy[Tx]{Name: "copy", Key: func(tx Tx) keys.Key { return keys.Key{PK: keys.Prefix("AT").PK(part(tx)), SK: keys.Metadata} }}
	}
	entity := repo.Entity[Tx]{
		Type: "TRANSACTION", Key: txEntity.Key, Version: "version",
		Copies: []repo.Copy[Tx]{place(func(tx Tx) string { return tx.User }), place(func(tx Tx) string { return tx.Status })},
	}
	entity.Copies[1].Name = "other copy"
	var faults tabletest.Faults
	txs := newRepo(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, nil), entity)
	expect.OK(t, txs.Create(t.Context(), new(newTx(0))))
	before := len(faults.Requests())
	_, err := txs.Update(t.Context(), txKey("tx-000"), func(tx *Tx) error {
		tx.User, tx.Status = tx.Status, tx.User
		return nil
	})
	if !errors.Is(err, table.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "the same key in one transaction") {
		t.Errorf("error: %v", err)
	}
	expect.Equal(t, "requests", len(faults.Requests())-before, 4) // the main item, both copies, and the main item again
}

// client builds a table without an engine: nothing may be sent to it.
func unsent(t *testing.T) (*table.Table, *tabletest.Faults) {
	t.Helper()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	return expect.Value(table.New(client, spec, nil))(t), &faults
}

func TestTransactPutStoresAllOrNone(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	txs := newRepo(t, tbl, txEntity)
	stored, fresh := newTx(0), newTx(1)
	expect.OK(t, txs.Create(t.Context(), &stored))
	stale := stored
	stored.Status = "DONE"
	expect.OK(t, txs.TransactPut(t.Context(), &stored, &fresh))
	for _, want := range []Tx{stored, fresh} {
		got := expect.Value(txs.Consistent().Get(t.Context(), txKey(want.ID)))(t)
		expect.Equal(t, want.ID, got, want)
	}

	late := stale
	fresh.Status = "LATE"
	before := fresh
	if err := txs.TransactPut(t.Context(), &fresh, &late); !errors.Is(err, table.ErrStale) {
		t.Errorf("one of them is stale: %v", err)
	}
	if late != stale || fresh != before {
		t.Error("values have changed without being stored")
	}
	got := expect.Value(txs.Consistent().Get(t.Context(), txKey(fresh.ID)))(t)
	if got.Status == "LATE" {
		t.Error("part of the transaction was written")
	}
}

func TestInvalidInputSendsNothing(t *testing.T) {
	t.Parallel()
	tbl, faults := unsent(t)
	txs := newRepo(t, tbl, txEntity)
	unversioned := txEntity
	unversioned.Version, unversioned.Copies = "", nil
	plain := newRepo(t, tbl, unversioned)
	badIndex := txEntity
	badIndex.Indexes = repo.Indexes[Tx]{"GSI1": func(Tx) keys.Key { return keys.Key{PK: "GLOBAL_TX"} }}
	noChange := func(*Tx) error { return nil }
	_, updateBadKey := txs.Update(t.Context(), keys.Key{PK: keys.Tx.PK(""), SK: keys.Metadata}, noChange)
	_, updatePlain := plain.Update(t.Context(), txKey("tx-000"), noChange)
	_, updateNil := txs.Update(t.Context(), txKey("tx-000"), nil)
	_, updateWithNil := txs.UpdateWith(t.Context(), txKey("tx-000"), nil)
	run := func(ops []table.Op) error { return tbl.Transact(t.Context(), ops...) }
	user := table.Query{PK: keys.User.PK("u-123")}
	_, streamNil := table.Collect(repo.Stream(t.Context(), tbl, user, nil))
	_, streamNoTable := table.Collect(repo.Stream(t.Context(), nil, user, txs))
	for name, test := range map[string]struct{ err, want error }{
		"Create with an empty id":          {txs.Create(t.Context(), new(Tx{})), keys.ErrInvalid},
		"Create with a bad index key":      {newRepo(t, tbl, badIndex).Create(t.Context(), new(newTx(0))), keys.ErrInvalid},
		"Update of a bad key":              {updateBadKey, keys.ErrInvalid},
		"Delete of a bad key":              {txs.Delete(t.Context(), keys.Key{}), keys.ErrInvalid},
		"Update without versions":          {updatePlain, table.ErrInvalid},
		"Create of nil":                    {txs.Create(t.Context(), nil), table.ErrInvalid},
		"TransactPut of nothing":           {txs.TransactPut(t.Context()), table.ErrInvalid},
		"TransactPut of one nil":           {txs.TransactPut(t.Context(), new(newTx(0)), nil), table.ErrInvalid},
		"Save of nil":                      {txs.Save(t.Context(), nil), table.ErrInvalid},
		"Save of nil without versions":     {plain.Save(t.Context(), nil), table.ErrInvalid},
		"CreateOps of nil":                 {run(txs.CreateOps(nil)), table.ErrInvalid},
		"PutOps of nil":                    {run(txs.PutOps(nil)), table.ErrInvalid},
		"PutOps with versions":             {run(txs.PutOps(new(newTx(0)))), table.ErrInvalid},
		"PutOps of nil without versions":   {run(plain.PutOps(nil)), table.ErrInvalid},
		"UpdateOps of nil":                 {run(txs.UpdateOps(newTx(0), nil)), table.ErrInvalid},
		"Update without a change":          {updateNil, table.ErrInvalid},
		"UpdateWith without a change":      {updateWithNil, table.ErrInvalid},
		"Collect by a zero repository":     {repo.Collect(t.Context(), tbl, user, new(repo.Repo[Tx])), table.ErrInvalid},
		"Collect into a nil slice":         {repo.Collect(t.Context(), tbl, user, txs.AppendTo(nil)), table.ErrInvalid},
		"Collect of a nil repository":      {repo.Collect(t.Context(), tbl, user, (*repo.Repo[Tx])(nil)), table.ErrInvalid},
		"Collect with one type twice":      {repo.Collect(t.Context(), tbl, user, txs.AppendTo(&[]Tx{}), txs), table.ErrInvalid},
		"Stream of a nil member":           {streamNil, table.ErrInvalid},
		"Stream of a nil table":            {streamNoTable, table.ErrInvalid},
		"Collect of a nil table":           {repo.Collect(t.Context(), nil, user, txs), table.ErrInvalid},
		"Collect of a zero table":          {repo.Collect(t.Context(), new(table.Table), user, txs), table.ErrInvalid},
		"New of a nil table":               {expect.ErrOf(repo.New(nil, txEntity)), table.ErrInvalid},
		"New of a zero table":              {expect.ErrOf(repo.New(new(table.Table), txEntity)), table.ErrInvalid},
		"Query of an unknown attribute":    {expect.ErrOf(txs.Query(t.Context(), table.Query{PK: user.PK, Project: []string{"none"}})), table.ErrInvalid},
		"Create of a year beyond the keys": {txs.Create(t.Context(), new(Tx{ID: "t", User: "u", At: start.AddDate(9000, 0, 0)})), keys.ErrInvalid},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: %v, want %v", name, test.err, test.want)
		}
	}
	if sent := faults.Requests(); len(sent) != 0 {
		t.Errorf("%d requests were sent, the first is %s", len(sent), sent[0].Operation)
	}
}

// TestOpsCopyTheirValue changes a value after CreateOps.
func TestOpsCopyTheirValue(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	docs := expect.Value(repo.New(tbl, docEntity))(t)
	d := Doc{ID: "d-1", Tags: []string{"before"}}
	ops := docs.CreateOps(&d)
	d.Title, d.Tags[0] = "after", "after"
	expect.OK(t, tbl.Transact(t.Context(), ops...))
	got := expect.Value(docs.Consistent().Get(t.Context(), docKey))(t)
	expect.Equal(t, "stored", got, Doc{ID: "d-1", Tags: []string{"before"}, Revision: d.Revision})
}

// An attribute whose name differs in case from a field's is read into the field. A
// write stores it under the name of the field, also if the write is about another one.
func TestUpdateKeepsAnAttributeInAnotherCase(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	docs := newRepo(t, tbl, docEntity)
	expect.OK(t, docs.Create(t.Context(), &Doc{ID: "d-1"}))
	item := storedItem(t, tbl, docKey)
	delete(item, "title")
	item["Title"] = &types.AttributeValueMemberS{Value: "as it was"}
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, item)))
	expect.Value(docs.Update(t.Context(), docKey, func(d *Doc) error { d.Pages++; return nil }))(t)
	item = storedItem(t, tbl, docKey)
	if s, ok := item["title"].(*types.AttributeValueMemberS); !ok || s.Value != "as it was" || item["Title"] != nil {
		t.Errorf("stored: title %v, Title %v", item["title"], item["Title"])
	}
}

// A large change is an update as long as its expression cannot be too long.
func TestLargeChangesAreUpdates(t *testing.T) {
	t.Parallel()
	key := keys.Key{PK: "MAP", SK: "MAP"}
	for removed, want := range map[int]string{5: "UpdateItem", 6: "PutItem"} {
		var faults tabletest.Faults
		tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
		maps := newRepo(t, tbl, repo.Entity[map[string]any]{Type: "MAP", Version: "rev", Key: func(map[string]any) keys.Key { return key }})
		v := map[string]any{}
		for i := range removed {
			v[fmt.Sprintf("removed%d", i)] = i
		}
		expect.OK(t, maps.Create(t.Context(), &v))
		expect.Value(maps.Update(t.Context(), key, func(v *map[string]any) error {
			for i := range removed {
				delete(*v, fmt.Sprintf("removed%d", i))
			}
			for i := range 269 { // and the revision
				(*v)[fmt.Sprintf("set%d", i)] = i
			}
			return nil
		}))(t)
		sent := faults.Requests()
		expect.Equal(t, fmt.Sprintf("write that removes %d", removed), sent[len(sent)-1].Operation, want)
	}
}

// An op of the caller that fails ends UpdateWith, since the entity has not changed.
func TestUpdateWithAFailingOpEnds(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	docs := newRepo(t, tbl, docEntity)
	expect.OK(t, docs.Create(t.Context(), &Doc{ID: "d-1"}))
	calls := 0
	_, err := docs.UpdateWith(t.Context(), docKey, func(d *Doc) ([]table.Op, error) {
		calls++
		d.Pages++
		missing := keys.Key{PK: "NONE", SK: "NONE"}
		return []table.Op{table.Patch(missing, table.Item{"n": number(1)}).IfExists()}, nil
	})
	expect.Err(t, err, table.ErrNotFound)
	expect.Equal(t, "calls", calls, 1)
}

// An op of the caller that stays stale ends UpdateWith. One that takes what is stored
// into account does not.
func TestUpdateWithAStaleOp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reads, races bool
		calls        int
		want         error
	}{
		"former value":               {false, false, 2, table.ErrStale},
		"former value and a race":    {false, true, 3, table.ErrStale},
		"value that the change read": {true, false, 2, nil},
	} {
		tbl := tabletest.New(t, schema.Table{}, nil)
		docs := newRepo(t, tbl, docEntity)
		other := Doc{ID: "d-2"}
		expect.OK(t, docs.Create(t.Context(), &Doc{ID: "d-1"}))
		expect.OK(t, docs.Create(t.Context(), &other))
		touch := func(id string) {
			key := docEntity.Key(Doc{ID: id})
			expect.Value(docs.Update(t.Context(), key, func(d *Doc) error { d.Title += "+"; return nil }))(t)
		}
		calls := 0
		_, err := docs.UpdateWith(t.Context(), docKey, func(d *Doc) ([]table.Op, error) {
			calls++
			was := other
			if tt.reads {
				was = expect.Value(docs.Consistent().Get(t.Context(), docEntity.Key(other)))(t)
			}
			if calls == 1 {
				touch("d-2")
				if tt.races {
					touch("d-1")
				}
			}
			d.Pages++
			return docs.UpdateOps(was, &was), nil
		})
		expect.Equal(t, name+": calls", calls, tt.calls)
		if !errors.Is(err, tt.want) || tt.want != nil && table.Classify(err) != table.Permanent {
			t.Errorf("%s: %v (%v)", name, err, table.Classify(err))
		}
	}
}

func TestAnUpdateToAnInvalidKeyIsReadOnce(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	txs := newRepo(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, nil), txEntity)
	expect.OK(t, txs.Create(t.Context(), new(newTx(0))))
	before := len(faults.Requests())
	_, err := txs.Update(t.Context(), txKey("tx-000"), func(tx *Tx) error {
		tx.ID = strings.Repeat("x", 3000) // a key of at most 2,048 bytes
		return nil
	})
	expect.Err(t, err, table.ErrInvalid)
	expect.Equal(t, "requests", len(faults.Requests())-before, 1)
}

// Another writer comes between the reads of a write and the write.
func TestWritesOfWhatChangesInTheMeantime(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, *repo.Repo[Tx], keys.Key) error{
		"Delete": func(ctx context.Context, txs *repo.Repo[Tx], key keys.Key) error { return txs.Delete(ctx, key) },
		"Refresh": func(ctx context.Context, txs *repo.Repo[Tx], key keys.Key) error {
			return expect.ErrOf(txs.Refresh(ctx, key))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, nil)
			txs, tx := newRepo(t, tbl, txEntity), newTx(0)
			expect.OK(t, txs.Create(t.Context(), &tx))
			expect.OK(t, tbl.Do(t.Context(), table.Delete(tx.listKey()))) // which Refresh creates again
			done := expression.Set(expression.Name("status"), expression.Value("DONE")).Add(expression.Name("version"), expression.Value(1))
			calls := 0
			operation := "TransactWriteItems"
			if name == "Delete" { // of the main item alone: a version from 1 does not say whose a copy is, so it was read
				operation = "DeleteItem"
			}
			faults.Next(operation, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				calls++
				expect.OK(t, tbl.Do(t.Context(), table.Update(txKey(tx.ID), done)))
				return next.RoundTrip(r)
			})
			expect.OK(t, write(t.Context(), txs, txKey(tx.ID)))
			expect.Equal(t, "calls", calls, 1)
			byID, byUser := items(t, tbl, tx)
			expect.Equal(t, "status of the copy", item.Text(byUser["status"]), item.Text(byID["status"]))
		})
	}
}

// RefreshOps is given a copy as it was, under whose main key is another entity's item.
func TestRefreshOpsOfWhatHasChanged(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	txs, tx := newRepo(t, tbl, txEntity), newTx(0)
	expect.OK(t, txs.Create(t.Context(), &tx))
	_, was := items(t, tbl, tx)
	expect.OK(t, tbl.Do(t.Context(), table.Put(txKey(tx.ID), table.Item{"type": &types.AttributeValueMemberS{Value: "OTHER"}})))
	expect.OK(t, tbl.Do(t.Context(), table.Patch(tx.listKey(), table.Item{"status": &types.AttributeValueMemberS{Value: "DONE"}})))
	expect.Err(t, expect.ErrOf(txs.RefreshOps(t.Context(), was)), repo.ErrOrphan)
	expect.OK(t, tbl.Do(t.Context(), table.Delete(tx.listKey())))
	expect.Equal(t, "ops of what is gone", len(expect.Value(txs.RefreshOps(t.Context(), was))(t)), 0)
}

// An item that has no version yet can be deleted if the entity has no copies.
func TestDeletionsWithoutAVersion(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	docs := newRepo(t, tbl, docEntity)
	for name, remove := range map[string]func() error{
		"DeleteOps": func() error {
			d, err := docs.Get(t.Context(), docKey)
			if err != nil {
				return err
			}
			return tbl.Transact(t.Context(), docs.DeleteOps(d)...)
		},
		"Delete": func() error { return docs.Delete(t.Context(), docKey) },
	} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "DOC", "docId": "d-1"})))
		before := len(faults.Requests())
		expect.OK(t, remove())
		expect.Equal(t, name+": requests", len(faults.Requests())-before, 2) // a read and the write
		expect.Equal(t, name+": items left", itemsLeft(t, tbl), 0)
	}
}

// TestUpdateOpsOfAMapWithCopies stores a map under three keys.
func TestUpdateOpsOfAMapWithCopies(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	at := func(sk keys.SK) func(map[string]any) keys.Key {
		return func(map[string]any) keys.Key { return keys.Key{PK: "MAP", SK: sk} }
	}
	maps := newRepo(t, tbl, repo.Entity[map[string]any]{
		Type: "MAP", Version: "rev", Key: at("1"), Copies: []repo.Copy[map[string]any]{{Key: at("2")}, {Key: at("3")}},
	})
	v := map[string]any{"text": "first"}
	expect.OK(t, maps.Create(t.Context(), &v))
	v["text"] = "second" // in old, too: they are one map
	expect.OK(t, tbl.Transact(t.Context(), maps.UpdateOps(v, &v)...))
	for _, sk := range []keys.SK{"1", "2", "3"} {
		item := storedItem(t, tbl, keys.Key{PK: "MAP", SK: sk})
		if s, ok := item["text"].(*types.AttributeValueMemberS); !ok || s.Value != "second" {
			t.Errorf("%s: %v", sk, item)
		}
	}
}

// ownMap gives away its own map when it is encoded.
type ownMap struct{ attributes table.Item }

func (m *ownMap) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberM{Value: m.attributes}, nil
}

func (m *ownMap) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	m.attributes = table.Item{}
	if of, ok := value.(*types.AttributeValueMemberM); ok {
		m.attributes = of.Value
	}
	return nil
}

func TestWritesLeaveTheMapOfAValueAlone(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	for _, version := range []string{"", "rev"} {
		owns := newRepo(t, tbl, repo.Entity[ownMap]{Type: "OWN", Version: version, Key: func(ownMap) keys.Key { return docKey }})
		v := ownMap{table.Item{"n": number(1)}}
		owns.CreateOps(&v)
		owns.UpdateOps(v, &v)
		for name := range v.attributes {
			if name != "n" && name != version {
				t.Errorf("with version %q the value has got %s", version, name)
			}
		}
	}
}

// A filter can name members of any attribute, also with more than ten names.
func TestFiltersOfManyNames(t *testing.T) {
	t.Parallel()
	docs := newRepo(t, tabletest.New(t, schema.Table{}, nil), docEntity)
	path := func(from, to int) string {
		path := "place"
		for i := from; i <= to; i++ {
			path += fmt.Sprintf(".member%d", i)
		}
		return path
	}
	one := expression.Value(1)
	// The names are #0.#1…#9, #10, #0.#11…#18 and #19.
	members := expression.Name(path(1, 9)).Equal(one).And(expression.Name("pages").Equal(one),
		expression.Name(path(11, 18)).Equal(one), expression.Name("draft").Equal(one))
	expect.Value(docs.Query(t.Context(), table.Query{PK: docKey.PK, Filter: members}))(t)
	for _, name := range []string{"member1", "pagse"} {
		_, err := docs.Query(t.Context(), table.Query{PK: docKey.PK, Filter: members.And(expression.Name(name).Equal(one))})
		expect.Err(t, err, table.ErrInvalid)
	}
}
