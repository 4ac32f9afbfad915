package core

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var lamp = NewRef("PRODUCT", "LAMP")

func priced(version int64, price float64) Change {
	return Change{Ref: lamp, Name: "Lamp", Attributes: map[string]any{"price": price}, Version: version}
}

func TestPublishingLeadsToDataCommandAndHistory(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ana := s.acme()
	bob := s.as(Caller{Tenant: "ACME", User: "bob", IP: "198.51.100.9"})
	created := s.clock.read()
	first := check.Must(ana.Publish(t.Context(), priced(0, 40)))(t)
	updated := created.Add(time.Hour)
	s.clock.set(updated)
	second := check.Must(bob.Publish(t.Context(), priced(1, 45)))(t)

	check.Is(t, check.Err(ana.Get(t.Context(), lamp)), table.ErrNotFound, "before the stream")
	s.settle(t)

	want := Record{
		ID: "PRODUCT#ACME#LAMP", Code: "LAMP", Name: "Lamp", TenantCode: "ACME", Type: "PRODUCT", Version: 1,
		Attributes: map[string]any{"price": 40.0},
		CreatedBy:  "ana", CreatedAt: created, CreatedIP: "192.0.2.7",
		UpdatedBy: "ana", UpdatedAt: created, UpdatedIP: "192.0.2.7",
	}
	check.Equal(t, "first", first, want)
	check.Equal(t, "version 1", check.Must(ana.Version(t.Context(), lamp, 1))(t), History{Record: want, Seq: 1})
	want.Version, want.Attributes = 2, map[string]any{"price": 45.0}
	want.UpdatedBy, want.UpdatedAt, want.UpdatedIP = "bob", updated, "198.51.100.9"
	check.Equal(t, "second", second, want)
	check.Equal(t, "version 2", check.Must(ana.Version(t.Context(), lamp, 2))(t), History{Record: want, Seq: 2})
	check.Equal(t, "data", check.Must(ana.Get(t.Context(), lamp))(t), want)
	check.Equal(t, "by id", check.Must(ana.ByID(t.Context(), want.ID))(t), want)
	check.Equal(t, "by code", check.Must(ana.ByCode(t.Context(), "", "LAMP", 0, ""))(t).Items, []Record{want})

	want.CreatedBy, want.CreatedAt, want.CreatedIP = "bob", updated, "198.51.100.9"
	page := check.Must(ana.Commands(t.Context(), lamp, 1, ""))(t)
	check.Equal(t, "newest command", page.Items, []Command{{Record: want, Expected: 1}})
	check.Is(t, check.Err(ana.Version(t.Context(), lamp, 3)), table.ErrNotFound, "version 3")
}

func TestPublishingIsOneTransaction(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	check.Must(s.acme().Publish(t.Context(), priced(0, 40)))(t)
	var faults tabletest.Faults
	check.Must(s.through(t, &faults).as(s.acme().caller).Publish(t.Context(), priced(1, 45)))(t)
	var operations []string
	for _, r := range faults.Requests() {
		operations = append(operations, r.Operation)
	}
	check.Equal(t, "requests", operations, []string{"GetItem", "TransactWriteItems"})

	type attribute struct{ S string }
	var body struct {
		TransactItems []struct {
			Put struct {
				Item struct{ PK, SK attribute }
			}
		}
	}
	check.OK(t, json.Unmarshal(faults.Requests("TransactWriteItems")[0].Body, &body))
	var written []keys.Key
	for _, w := range body.TransactItems {
		written = append(written, keys.Key{PK: keys.PK(w.Put.Item.PK.S), SK: keys.SK(w.Put.Item.SK.S)})
	}
	check.Equal(t, "keys", written, []keys.Key{
		{PK: "PRODUCT_CMD#ACME", SK: "PRODUCT_CMD#LAMP#0000000002"},
		{PK: "PRODUCT_HIST#ACME", SK: "PRODUCT_HIST#LAMP#0000000002"},
	})
}

func TestStaleCommandsAreConflictsAndChangeNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	check.Must(acme.Publish(t.Context(), priced(0, 40)))(t)
	now := check.Must(acme.Publish(t.Context(), priced(1, 45)))(t)
	for _, version := range []int64{0, 1, 3, -1} {
		_, err := acme.Publish(t.Context(), priced(version, 99))
		if !errors.Is(err, table.ErrStale) || !errors.Is(err, table.ErrConflict) {
			t.Errorf("expecting version %d: %v", version, err)
		}
	}
	check.Is(t, check.Err(acme.Publish(t.Context(), Change{Ref: NewRef("PRODUCT", "NEW"), Version: 1})), table.ErrStale, "expecting a version of what is not there")
	s.settle(t)
	check.Equal(t, "data", check.Must(acme.Get(t.Context(), lamp))(t), now)
	check.Equal(t, "history", versionsOf(t, acme, lamp), []int64{2, 1})
}

// versionsOf returns the sequences of a record's history, newest first, and
// checks that its commands are the same.
func versionsOf(t *testing.T, who Tenant, r Ref) []int64 {
	t.Helper()
	var seqs, asked []int64
	for after := ""; ; {
		page := check.Must(who.Versions(t.Context(), r, 7, after))(t)
		for _, h := range page.Items {
			seqs = append(seqs, h.Seq)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	page := check.Must(who.Commands(t.Context(), r, 0, ""))(t)
	for _, c := range page.Items {
		asked = append(asked, c.Version)
	}
	check.Equal(t, "versions of the commands", asked, seqs)
	return seqs
}

func TestAConflictThatPassesIsNotStale(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	faults.Always("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict", "None"))
	_, err := s.through(t, &faults).as(s.acme().caller).Publish(t.Context(), priced(0, 40))
	if !errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrStale) {
		t.Errorf("error: %v", err)
	}
}
