package repo_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type Notif struct {
	ID   string    `dynamodbav:"notifId"`
	User string    `dynamodbav:"userId"`
	At   time.Time `dynamodbav:"createdAt"`
}

var notifEntity = repo.Entity[Notif]{
	Type: "NOTIFICATION",
	Key: func(n Notif) keys.Key {
		return keys.Key{PK: keys.User.PK(n.User), SK: keys.Notif.SK(keys.Time(n.At), keys.Str(n.ID))}
	},
}

// newCollection fills a partition with a user, 40 transactions and 12
// notifications.
func newCollection(t *testing.T) (*table.Table, *repo.Repo[User], *repo.Repo[Tx], *repo.Repo[Notif]) {
	t.Helper()
	tbl := tabletest.New(t, schema, nil)
	users, txs, notifs := newRepo(t, tbl, userEntity), newRepo(t, tbl, txEntity), newRepo(t, tbl, notifEntity)
	check(t, users.Create(t.Context(), new(User{ID: "u-123"})))
	for n := range 40 {
		check(t, txs.Create(t.Context(), new(newTx(n))))
	}
	for n := range 12 {
		check(t, notifs.Create(t.Context(), new(Notif{
			ID: fmt.Sprintf("notif-%02d", n), User: "u-123", At: start.Add(time.Duration(n) * time.Hour),
		})))
	}
	return tbl, users, txs, notifs
}

func TestAPartitionIsCollectedByTypeAndStreamedInOrder(t *testing.T) {
	t.Parallel()
	tbl, users, txs, notifs := newCollection(t)
	q := table.Query{PK: keys.User.PK("u-123")}

	var us []User
	var ts []Tx
	var ns []Notif
	check(t, repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), txs.AppendTo(&ts), notifs.AppendTo(&ns)))
	if len(us) != 1 || len(ts) != 40 || len(ns) != 12 {
		t.Errorf("collected %d users, %d transactions, %d notifications", len(us), len(ts), len(ns))
	}

	var order []string
	for v, err := range repo.Stream(t.Context(), tbl, q, users, txs, notifs) {
		check(t, err)
		switch v := v.(type) {
		case User:
			order = append(order, "PROFILE")
		case Tx:
			order = append(order, v.ID)
		case Notif:
			order = append(order, v.ID)
		}
	}
	var want []string
	for n := range 12 {
		want = append(want, fmt.Sprintf("notif-%02d", n))
	}
	want = append(want, "PROFILE")
	for n := range 40 {
		want = append(want, newTx(n).ID)
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order of the stream (-want +got):\n%s", diff)
	}
}

func TestAnUnknownTypeIsAnErrorUnlessSkipped(t *testing.T) {
	t.Parallel()
	tbl, users, txs, _ := newCollection(t)
	q := table.Query{PK: keys.User.PK("u-123"), Descending: true}

	us := []User{{ID: "was there"}}
	var ts []Tx
	err := repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), txs.AppendTo(&ts))
	if !errors.Is(err, table.ErrWrongType) {
		t.Errorf("error: %v", err)
	}
	if len(us) != 1 || len(ts) != 0 {
		t.Errorf("after the error the slices hold %d users and %d transactions", len(us), len(ts))
	}
	check(t, repo.Collect(t.Context(), tbl, q, users.AppendTo(&us), txs.AppendTo(&ts), repo.IgnoreUnknown()))
	if len(us) != 2 || len(ts) != 40 {
		t.Errorf("collected %d users, %d transactions", len(us), len(ts))
	}
	if err := repo.Collect(t.Context(), tbl, q, txs.AppendTo(&ts), txs); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("two members for a type: %v", err)
	}
}

func TestAStreamCanBeLeft(t *testing.T) {
	t.Parallel()
	tbl, users, _, _ := newCollection(t)
	seen := 0
	for _, err := range repo.Stream(t.Context(), tbl, table.Query{PK: keys.User.PK("u-123")}, users, repo.IgnoreUnknown()) {
		check(t, err)
		seen++
		break
	}
	if seen != 1 {
		t.Errorf("saw %d values", seen)
	}
}
