package repo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The domain of the tests: users, and transactions that are stored under their
// user and under their id.

var schema = table.Schema{
	Name: "AppCore",
	TTL:  "expiresAt",
	Indexes: []table.Index{
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
	Type:           "USER",
	Key:            func(u User) keys.Key { return userKey(u.ID) },
	Version:        "version",
	VersionFromOne: true,
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
	Copies:         []repo.Copy[Tx]{{Name: "by user", Key: Tx.listKey}},
	Version:        "version",
	VersionFromOne: true,
}

var start = time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)

func newTx(n int) Tx {
	return Tx{ID: fmt.Sprintf("tx-%03d", n), User: "u-123", At: start.Add(time.Duration(n) * time.Minute), Status: "PENDING"}
}

func must[T any](tb testing.TB) func(T, error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func newRepo[T any](tb testing.TB, t *table.Table, e repo.Entity[T]) *repo.Repo[T] {
	tb.Helper()
	return must[*repo.Repo[T]](tb)(repo.New(t, e))
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
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

func TestCreateStoresEveryItemAndTheIndexKeysOnOne(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	txs := newRepo(t, tbl, txEntity)
	check(t, txs.Create(t.Context(), new(newTx(0))))

	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	common := table.Item{
		"txId": s("tx-000"), "userId": s("u-123"), "createdAt": s("2024-01-15T10:05:00Z"), "status": s("PENDING"),
		"entityType": s("TRANSACTION"), "version": &types.AttributeValueMemberN{Value: "1"},
	}
	with := func(more table.Item) table.Item {
		all := table.Item{}
		for _, part := range []table.Item{common, more} {
			for k, v := range part {
				all[k] = v
			}
		}
		return all
	}
	byID, byUser := items(t, tbl, newTx(0))
	wantByID := with(table.Item{
		"pk": s("TX#tx-000"), "sk": s("METADATA"),
		"GSI1PK": s("GLOBAL_TX"), "GSI1SK": s("2024-01-15T10:05:00.000Z#tx-000"), "GSI2PK": s("PENDING"),
	})
	wantByUser := with(table.Item{"pk": s("USER#u-123"), "sk": s("TX#2024-01-15T10:05:00.000Z#tx-000")})
	if diff := cmp.Diff(wantByID, byID, ignoreSDK); diff != "" {
		t.Errorf("item under the id (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantByUser, byUser, ignoreSDK); diff != "" {
		t.Errorf("item under the user (-want +got):\n%s", diff)
	}
	for index, pk := range map[string]keys.PK{"GSI1": "GLOBAL_TX", "GSI2": "PENDING"} {
		page := must[table.Page[Tx]](t)(txs.Query(t.Context(), table.Query{Index: index, PK: pk}))
		if len(page.Items) != 1 {
			t.Errorf("%s returns the transaction %d times", index, len(page.Items))
		}
	}
	if err := txs.Create(t.Context(), new(newTx(0))); !errors.Is(err, table.ErrExists) {
		t.Errorf("second Create: %v", err)
	}
}

func TestUpdateChangesEveryItem(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	txs := newRepo(t, tbl, txEntity)
	check(t, txs.Create(t.Context(), new(newTx(0))))

	for name, key := range map[string]keys.Key{"the entity's key": txKey("tx-000"), "a copy's key": newTx(0).listKey()} {
		got, err := txs.Update(t.Context(), key, func(tx *Tx) error {
			tx.Status = "COMPLETED by " + name
			return nil
		})
		check(t, err)
		byID := must[Tx](t)(txs.Get(t.Context(), txKey("tx-000")))
		byUser := must[Tx](t)(txs.Get(t.Context(), newTx(0).listKey()))
		if diff := cmp.Diff(byID, byUser); diff != "" {
			t.Errorf("by %s: the items differ (-id +user):\n%s", name, diff)
		}
		if diff := cmp.Diff(got, byID); diff != "" {
			t.Errorf("by %s: Update returned another value than it stored (-got +stored):\n%s", name, diff)
		}
	}
	pending := must[table.Page[Tx]](t)(txs.Query(t.Context(), table.Query{Index: "GSI2", PK: "PENDING"}))
	if len(pending.Items) != 0 {
		t.Error("a completed transaction is still in the index of pending ones")
	}
}

func TestUpdateMovesACopyWhoseKeyChanges(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	txs := newRepo(t, tbl, txEntity)
	check(t, txs.Create(t.Context(), new(newTx(0))))
	taken := newTx(1)
	taken.User = "u-taken"
	check(t, txs.Create(t.Context(), new(taken)))

	moved, err := txs.Update(t.Context(), txKey("tx-000"), func(tx *Tx) error {
		tx.User = "u-456"
		return nil
	})
	check(t, err)
	if _, old := items(t, tbl, newTx(0)); old != nil {
		t.Error("the old item is still there")
	}
	if byID, byUser := items(t, tbl, moved); byID == nil || byUser == nil {
		t.Errorf("items after the move: %v and %v", byID, byUser)
	}

	// The new key is another transaction's.
	_, err = txs.Update(t.Context(), txKey("tx-000"), func(tx *Tx) error {
		tx.ID, tx.User, tx.At = taken.ID, taken.User, taken.At
		return nil
	})
	if !errors.Is(err, table.ErrExists) {
		t.Errorf("a move onto another entity: %v", err)
	}
	if got := must[Tx](t)(txs.Get(t.Context(), moved.listKey())); got != moved {
		t.Errorf("after the refused move: %+v, want %+v", got, moved)
	}
}

func TestDeleteRemovesEveryItem(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	txs := newRepo(t, tbl, txEntity)
	for i, key := range []keys.Key{txKey("tx-000"), newTx(0).listKey()} {
		check(t, txs.Create(t.Context(), new(newTx(0))))
		check(t, txs.Delete(t.Context(), key))
		if byID, byUser := items(t, tbl, newTx(0)); byID != nil || byUser != nil {
			t.Errorf("case %d: left over: %v and %v", i, byID, byUser)
		}
		check(t, txs.Delete(t.Context(), key))
	}
}

func TestLostResponsesLeaveAllItemsOrNone(t *testing.T) {
	t.Parallel()
	lose := tabletest.DropResponse()
	fail := tabletest.Status(500, "InternalServerError", "injected")
	for name, faults := range map[string][]tabletest.Fault{
		"lost once":              {lose},
		"lost for good":          {lose, lose, lose},
		"refused once":           {fail},
		"refused for good":       {fail, fail, fail},
		"refused, then lost":     {fail, lose},
		"error after the commit": {tabletest.After(fail), tabletest.After(fail), tabletest.After(fail)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broken tabletest.Faults
			tbl := tabletest.NewWith(t, tabletest.Client(t, broken.Install), schema, nil)
			txs := newRepo(t, tbl, txEntity)
			steps := []func() error{
				func() error { return txs.Create(t.Context(), new(newTx(0))) },
				func() error {
					_, err := txs.Update(t.Context(), txKey("tx-000"), func(tx *Tx) error {
						tx.Status = "COMPLETED"
						return nil
					})
					return err
				},
				func() error { return txs.Delete(t.Context(), txKey("tx-000")) },
			}
			for i, step := range steps {
				broken.Next("TransactWriteItems", faults...)
				err := step()
				if err != nil && !errors.Is(err, table.ErrOutcomeUnknown) {
					t.Fatalf("step %d: %v", i, err)
				}
				byID, byUser := items(t, tbl, newTx(0))
				if (byID == nil) != (byUser == nil) {
					t.Fatalf("step %d: one item without the other: %v and %v", i, byID, byUser)
				}
				if byID != nil && !cmp.Equal(byID["status"], byUser["status"], ignoreSDK) {
					t.Fatalf("step %d: the items differ", i)
				}
				// What is not done yet is done by doing it again.
				if err != nil {
					if err := step(); err != nil && !errors.Is(err, table.ErrExists) {
						t.Fatalf("step %d again: %v", i, err)
					}
				}
			}
		})
	}
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	t.Parallel()
	users := newRepo(t, tabletest.New(t, schema, nil), userEntity)
	txs := newRepo(t, tabletest.New(t, schema, nil), txEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123"})))
	check(t, txs.Create(t.Context(), new(newTx(0))))

	const writers = 32
	errs := make(chan error, 2*writers)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			_, err := users.Update(t.Context(), userKey("u-123"), func(u *User) error {
				u.Logins++
				return nil
			})
			errs <- err
		})
		group.Go(func() {
			_, err := txs.Update(t.Context(), txKey("tx-000"), func(tx *Tx) error {
				tx.Status += "+"
				return nil
			})
			errs <- err
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	u := must[User](t)(users.Get(t.Context(), userKey("u-123")))
	if u.Logins != writers || u.Version != writers+1 {
		t.Errorf("after %d additions: %+v", writers, u)
	}
	for _, key := range []keys.Key{txKey("tx-000"), newTx(0).listKey()} {
		tx := must[Tx](t)(txs.Get(t.Context(), key))
		if tx.Status != "PENDING"+strings.Repeat("+", writers) || tx.Version != writers+1 {
			t.Errorf("after %d additions: %+v", writers, tx)
		}
	}
}

func TestStaleWritesAreConflicts(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	users, txs := newRepo(t, tbl, userEntity), newRepo(t, tbl, txEntity)
	check(t, users.Put(t.Context(), new(User{ID: "u-123", Name: "first"})))
	check(t, txs.Put(t.Context(), new(newTx(0))))

	stale, staleTx := User{ID: "u-123", Name: "stale", Version: 7}, newTx(0)
	staleTx.Version = 7
	for name, err := range map[string]error{
		"Put":                users.Put(t.Context(), new(stale)),
		"Put with copies":    txs.Put(t.Context(), new(staleTx)),
		"PutOps":             tbl.Transact(t.Context(), append(users.PutOps(new(stale)), txs.PutOps(new(staleTx))...)...),
		"UpdateOps":          tbl.Transact(t.Context(), txs.UpdateOps(staleTx, new(staleTx))...),
		"DeleteOps":          tbl.Do(t.Context(), users.DeleteOps(stale)[0]),
		"DeleteOps of a gap": tbl.Do(t.Context(), users.DeleteOps(User{ID: "nobody", Version: 3})[0]),
	} {
		if !errors.Is(err, table.ErrStale) {
			t.Errorf("%s of a stale value: %v", name, err)
		}
		if table.Classify(err) != table.Permanent {
			t.Errorf("%s: class %v", name, table.Classify(err))
		}
	}
	fresh := must[User](t)(users.Get(t.Context(), userKey("u-123")))
	if want := (User{ID: "u-123", Name: "first", Version: 1}); fresh != want {
		t.Errorf("stored: %+v, want %+v", fresh, want)
	}
	fresh.Name = "second"
	check(t, users.Put(t.Context(), new(fresh)))
	freshTx := must[Tx](t)(txs.Get(t.Context(), txKey("tx-000")))
	freshTx.User = "u-456"
	check(t, txs.Put(t.Context(), new(freshTx)))
	if _, old := items(t, tbl, newTx(0)); old != nil {
		t.Error("Put left the copy under its old key")
	}
}

func TestItemsOfOtherWritersAdoptVersions(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	users := newRepo(t, tbl, userEntity)
	check(t, tbl.Do(t.Context(), table.Put(userKey("u-old"), map[string]types.AttributeValue{
		"userId":     &types.AttributeValueMemberS{Value: "u-old"},
		"entityType": &types.AttributeValueMemberS{Value: "USER"},
	})))
	got, err := users.Update(t.Context(), userKey("u-old"), func(u *User) error {
		u.Name = "adopted"
		return nil
	})
	check(t, err)
	if want := (User{ID: "u-old", Name: "adopted", Version: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestExpiredEntitiesAreAbsent(t *testing.T) {
	t.Parallel()
	now := start
	tbl := tabletest.New(t, schema, &table.Options{Now: func() time.Time { return now }})
	users := newRepo(t, tbl, userEntity)
	expired := User{ID: "u-123", Name: "old", ExpiresAt: now.Unix()}
	check(t, users.Create(t.Context(), new(expired)))

	if _, err := users.Get(t.Context(), userKey("u-123")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if _, err := users.Update(t.Context(), userKey("u-123"), func(*User) error { return nil }); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Update: %v", err)
	}
	check(t, users.Put(t.Context(), new(User{ID: "u-123", Name: "new", ExpiresAt: now.Unix() + 1})))
	if err := users.Create(t.Context(), new(expired)); !errors.Is(err, table.ErrExists) {
		t.Errorf("Create over a live one: %v", err)
	}
	if u := must[User](t)(users.Get(t.Context(), userKey("u-123"))); u.Name != "new" || u.Version != 1 {
		t.Errorf("stored: %+v", u)
	}
}

func TestAnErrorOfTheChangeEndsUpdate(t *testing.T) {
	t.Parallel()
	users := newRepo(t, tabletest.New(t, schema, nil), userEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123", Name: "as it was"})))
	refused := errors.New("refused")
	_, err := users.Update(t.Context(), userKey("u-123"), func(u *User) error {
		u.Name = "changed"
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("error: %v", err)
	}
	if u := must[User](t)(users.Get(t.Context(), userKey("u-123"))); u.Name != "as it was" {
		t.Errorf("stored: %+v", u)
	}
}

func TestUpdateWithWritesAllOrNothing(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	users, txs := newRepo(t, tbl, userEntity), newRepo(t, tbl, txEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123"})))

	// Somebody else is faster once, so that the change begins anew.
	calls := 0
	got, err := users.UpdateWith(t.Context(), userKey("u-123"), func(u *User) ([]table.Op, error) {
		if calls++; calls == 1 {
			_, err := users.Update(t.Context(), userKey("u-123"), func(u *User) error { u.Logins += 10; return nil })
			check(t, err)
		}
		u.Logins++
		return txs.CreateOps(new(newTx(u.Logins))), nil
	})
	check(t, err)
	if want := (User{ID: "u-123", Logins: 11, Version: 3}); got != want || calls != 2 {
		t.Errorf("after %d calls: %+v, want %+v", calls, got, want)
	}
	if byID, byUser := items(t, tbl, newTx(11)); byID == nil || byUser == nil {
		t.Error("the other write is missing")
	}
	if byID, _ := items(t, tbl, newTx(1)); byID != nil {
		t.Error("the write of the call that came too late is there")
	}

	// An op that fails takes the update with it.
	_, err = users.UpdateWith(t.Context(), userKey("u-123"), func(u *User) ([]table.Op, error) {
		u.Logins = 99
		return txs.CreateOps(new(newTx(11))), nil
	})
	if !errors.Is(err, table.ErrExists) {
		t.Errorf("error: %v", err)
	}
	if u := must[User](t)(users.Get(t.Context(), userKey("u-123"))); u != got {
		t.Errorf("stored: %+v, want %+v", u, got)
	}
}

// TestUpdateEndsWithTheContext ends it while Update waits before it starts again.
func TestUpdateEndsWithTheContext(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema, nil)
	users := newRepo(t, tbl, userEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123"})))
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
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema, &table.Options{MaxAttempts: 3})
	users, txs := newRepo(t, tbl, userEntity), newRepo(t, tbl, txEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123"})))
	check(t, txs.Create(t.Context(), new(newTx(0))))
	change := func(tx *Tx) error { tx.Status += "+"; return nil }
	conflict := tabletest.CancelTransaction("TransactionConflict", "None")
	down := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	for name, tt := range map[string]struct {
		fault tabletest.Fault
		run   func() error
		most  int
		want  error
	}{
		"Update in conflict for good": {conflict, func() error { _, err := txs.Update(t.Context(), txKey("tx-000"), change); return err }, 3, table.ErrConflict},
		"Delete in conflict for good": {conflict, func() error { return txs.Delete(t.Context(), txKey("tx-000")) }, 3, table.ErrConflict},
		"Update in an outage":         {down, func() error { _, err := txs.Update(t.Context(), txKey("tx-000"), change); return err }, 3, table.ErrOutcomeUnknown},
		"UpdateWith a stale op": {nil, func() error {
			_, err := txs.UpdateWith(t.Context(), txKey("tx-000"), func(*Tx) ([]table.Op, error) {
				return users.UpdateOps(User{ID: "u-123", Version: 7}, &User{ID: "u-123"}), nil
			})
			return err
		}, 3, table.ErrStale},
	} {
		faults.Always("TransactWriteItems", tt.fault)
		before := len(faults.Requests("TransactWriteItems"))
		err := tt.run()
		if n := len(faults.Requests("TransactWriteItems")) - before; n != tt.most || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d writes, want %d: %v", name, n, tt.most, err)
		}
		if table.Classify(err) != table.Transient {
			t.Errorf("%s: %v is %v", name, err, table.Classify(err))
		}
	}
	faults.Always("TransactWriteItems", nil)
	if tx := must[Tx](t)(txs.Get(t.Context(), txKey("tx-000"))); tx.Version != 1 {
		t.Errorf("stored: %+v", tx)
	}
}

// TestExchangedKeysAreExplained swaps the keys of two copies, which would take two
// ops on one item.
func TestExchangedKeysAreExplained(t *testing.T) {
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
	txs := newRepo(t, tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema, nil), entity)
	check(t, txs.Create(t.Context(), new(newTx(0))))
	before := len(faults.Requests("TransactWriteItems"))
	_, err := txs.Update(t.Context(), txKey("tx-000"), func(tx *Tx) error {
		tx.User, tx.Status = tx.Status, tx.User
		return nil
	})
	if !errors.Is(err, table.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "the same key in one transaction") {
		t.Errorf("error: %v", err)
	}
	if n := len(faults.Requests("TransactWriteItems")) - before; n != 0 {
		t.Errorf("%d transactions were sent", n)
	}
}

func TestItemsOfAnotherTypeAreRefused(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	users, txs := newRepo(t, tbl, userEntity), newRepo(t, tbl, txEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123"})))
	_, get := txs.Get(t.Context(), userKey("u-123"))
	_, many := txs.GetMany(t.Context(), []keys.Key{userKey("u-123")})
	_, query := txs.Query(t.Context(), table.Query{PK: keys.User.PK("u-123")})
	_, all := table.Collect(txs.All(t.Context(), table.Query{PK: keys.User.PK("u-123")}))
	_, update := txs.Update(t.Context(), userKey("u-123"), func(*Tx) error { return nil })
	for name, err := range map[string]error{"Get": get, "GetMany": many, "Query": query, "All": all, "Update": update} {
		if !errors.Is(err, table.ErrWrongType) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpsOfSeveralEntitiesMakeOneTransaction(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	users, txs := newRepo(t, tbl, userEntity), newRepo(t, tbl, txEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123"})))

	err := tbl.Transact(t.Context(), append(txs.CreateOps(new(newTx(0))), users.CreateOps(new(User{ID: "u-123"}))...)...)
	failed, ok := errors.AsType[*table.OpError](err)
	if !ok || failed.Index != 2 || failed.Name != "USER" || !errors.Is(failed, table.ErrExists) {
		t.Errorf("error: %v", err)
	}
	if byID, byUser := items(t, tbl, newTx(0)); byID != nil || byUser != nil {
		t.Error("part of the transaction was written")
	}
	check(t, txs.TransactCreate(t.Context(), new(newTx(0)), new(newTx(1)), new(newTx(2))))
	got := must[[]Tx](t)(table.Collect(txs.All(t.Context(), table.Query{
		PK: keys.User.PK("u-123"), Range: keys.Tx.All(), Descending: true, Consistent: true,
	})))
	if len(got) != 3 || got[0].ID != "tx-002" || got[2].ID != "tx-000" {
		t.Errorf("newest first: %+v", got)
	}
	found, err := txs.Consistent().GetMany(t.Context(), []keys.Key{txKey("tx-002"), txKey("tx-nope"), txKey("tx-000")})
	check(t, err)
	if len(found) != 2 || found[txKey("tx-000")].ID != "tx-000" || found[txKey("tx-002")].ID != "tx-002" {
		t.Errorf("found %+v", found)
	}
}

// client builds a table without an engine: nothing may be sent to it.
func unsent(t *testing.T) (*table.Table, *tabletest.Faults) {
	t.Helper()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	return must[*table.Table](t)(table.New(client, schema, nil)), &faults
}

func TestTransactPutStoresAllOrNone(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema, nil)
	txs := newRepo(t, tbl, txEntity)
	stored, fresh := newTx(0), newTx(1)
	check(t, txs.Create(t.Context(), &stored))
	stale := stored
	stored.Status = "DONE"
	check(t, txs.TransactPut(t.Context(), &stored, &fresh))
	for _, want := range []Tx{stored, fresh} {
		got, err := txs.Consistent().Get(t.Context(), txKey(want.ID))
		check(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-put +stored):\n%s", want.ID, diff)
		}
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
	got, err := txs.Consistent().Get(t.Context(), txKey(fresh.ID))
	check(t, err)
	if got.Status == "LATE" {
		t.Error("part of the transaction was written")
	}
}

func TestBadInputSendsNothing(t *testing.T) {
	t.Parallel()
	tbl, faults := unsent(t)
	txs := newRepo(t, tbl, txEntity)
	unversioned := txEntity
	unversioned.Version, unversioned.VersionFromOne, unversioned.Copies = "", false, nil
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
	for name, test := range map[string]struct{ err, want error }{
		"Create with an empty id":          {txs.Create(t.Context(), new(Tx{})), keys.ErrInvalid},
		"Create with a bad index key":      {newRepo(t, tbl, badIndex).Create(t.Context(), new(newTx(0))), keys.ErrInvalid},
		"Update of a bad key":              {updateBadKey, keys.ErrInvalid},
		"Delete of a bad key":              {txs.Delete(t.Context(), keys.Key{}), keys.ErrInvalid},
		"TransactCreate of nothing":        {txs.TransactCreate(t.Context()), table.ErrInvalid},
		"TransactCreate of one twice":      {txs.TransactCreate(t.Context(), new(newTx(0)), new(newTx(0))), table.ErrInvalid},
		"Update without versions":          {updatePlain, table.ErrInvalid},
		"Create of nil":                    {txs.Create(t.Context(), nil), table.ErrInvalid},
		"TransactPut of nothing":           {txs.TransactPut(t.Context()), table.ErrInvalid},
		"TransactPut of one nil":           {txs.TransactPut(t.Context(), new(newTx(0)), nil), table.ErrInvalid},
		"TransactCreate of one nil":        {txs.TransactCreate(t.Context(), new(newTx(0)), nil), table.ErrInvalid},
		"Put of nil":                       {txs.Put(t.Context(), nil), table.ErrInvalid},
		"Put of nil without versions":      {plain.Put(t.Context(), nil), table.ErrInvalid},
		"CreateOps of nil":                 {run(txs.CreateOps(nil)), table.ErrInvalid},
		"PutOps of nil":                    {run(txs.PutOps(nil)), table.ErrInvalid},
		"PutOps of nil without versions":   {run(plain.PutOps(nil)), table.ErrInvalid},
		"UpdateOps of nil":                 {run(txs.UpdateOps(newTx(0), nil)), table.ErrInvalid},
		"Update without a change":          {updateNil, table.ErrInvalid},
		"UpdateWith without a change":      {updateWithNil, table.ErrInvalid},
		"Collect into a nil slice":         {repo.Collect(t.Context(), tbl, user, txs.AppendTo(nil)), table.ErrInvalid},
		"Collect of a nil repository":      {repo.Collect(t.Context(), tbl, user, (*repo.Repo[Tx])(nil)), table.ErrInvalid},
		"Stream of a nil member":           {streamNil, table.ErrInvalid},
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
