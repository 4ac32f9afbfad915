package main

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var lamp = ref("PRODUCT", "LAMP")

func priced(version int64, price float64) Change {
	return Change{Ref: lamp, Name: "Lamp", Attributes: map[string]any{"price": price}, Version: version}
}

func TestPublishingWritesDataCommandAndHistory(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ana := s.acme()
	bob := s.as(Caller{Tenant: "ACME", User: "bob", IP: "198.51.100.9"})
	created := s.clock.read()
	first := must[Record](t)(ana.publish(t.Context(), priced(0, 40)))
	updated := created.Add(time.Hour)
	s.clock.set(updated)
	second := must[Record](t)(bob.publish(t.Context(), priced(1, 45)))

	want := Record{
		ID: "PRODUCT#ACME#LAMP", Code: "LAMP", Name: "Lamp", TenantCode: "ACME", Type: "PRODUCT", Version: 1,
		Attributes: map[string]any{"price": 40.0},
		CreatedBy:  "ana", CreatedAt: created, CreatedIP: "192.0.2.7",
		UpdatedBy: "ana", UpdatedAt: created, UpdatedIP: "192.0.2.7",
	}
	equal(t, "first", first, want)
	equal(t, "version 1", must[History](t)(ana.version(t.Context(), lamp, 1)), History{Record: want, Seq: 1})
	want.Version, want.Attributes = 2, map[string]any{"price": 45.0}
	want.UpdatedBy, want.UpdatedAt, want.UpdatedIP = "bob", updated, "198.51.100.9"
	equal(t, "second", second, want)
	equal(t, "version 2", must[History](t)(ana.version(t.Context(), lamp, 2)), History{Record: want, Seq: 2})
	equal(t, "data", must[Record](t)(ana.get(t.Context(), lamp)), want)
	equal(t, "by id", must[Record](t)(ana.byID(t.Context(), want.ID)), want)
	equal(t, "by code", must[[]Record](t)(ana.byCode(t.Context(), "LAMP")), []Record{want})

	want.CreatedBy, want.CreatedAt, want.CreatedIP = "bob", updated, "198.51.100.9"
	page := must[table.Page[Command]](t)(ana.commandsOf(t.Context(), lamp, 1, ""))
	equal(t, "newest command", page.Items, []Command{{Record: want, Expected: 1}})
	if _, err := ana.version(t.Context(), lamp, 3); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("version 3: %v", err)
	}
}

func TestPublishingIsOneTransaction(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	must[Record](t)(s.acme().publish(t.Context(), priced(0, 40)))
	var faults tabletest.Faults
	must[Record](t)(s.through(t, &faults).as(s.acme().caller).publish(t.Context(), priced(1, 45)))
	var operations []string
	for _, r := range faults.Requests() {
		operations = append(operations, r.Operation)
	}
	equal(t, "requests", operations, []string{"GetItem", "TransactWriteItems"})

	type attribute struct{ S string }
	var body struct {
		TransactItems []struct {
			Put struct {
				Item struct{ PK, SK attribute }
			}
			Update struct {
				Key struct{ PK, SK attribute }
			}
		}
	}
	if err := json.Unmarshal(faults.Requests("TransactWriteItems")[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	var written []keys.Key
	for _, w := range body.TransactItems {
		written = append(written, keys.Key{
			PK: keys.PK(w.Put.Item.PK.S + w.Update.Key.PK.S), SK: keys.SK(w.Put.Item.SK.S + w.Update.Key.SK.S),
		})
	}
	equal(t, "keys", written, []keys.Key{
		{PK: "PRODUCT#ACME", SK: "PRODUCT#LAMP"},
		{PK: "PRODUCT_CMD#ACME", SK: "PRODUCT_CMD#LAMP#0000000002"},
		{PK: "PRODUCT_HIST#ACME", SK: "PRODUCT_HIST#LAMP#0000000002"},
	})
}

func TestStaleCommandsAreConflictsAndChangeNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	must[Record](t)(acme.publish(t.Context(), priced(0, 40)))
	now := must[Record](t)(acme.publish(t.Context(), priced(1, 45)))
	for _, version := range []int64{0, 1, 3, -1} {
		_, err := acme.publish(t.Context(), priced(version, 99))
		if !errors.Is(err, table.ErrStale) || !errors.Is(err, table.ErrConflict) {
			t.Errorf("expecting version %d: %v", version, err)
		}
	}
	if _, err := acme.publish(t.Context(), Change{Ref: ref("PRODUCT", "NEW"), Version: 1}); !errors.Is(err, table.ErrStale) {
		t.Errorf("expecting a version of what is not there: %v", err)
	}
	equal(t, "data", must[Record](t)(acme.get(t.Context(), lamp)), now)
	equal(t, "history", versionsOf(t, acme, lamp), []int64{2, 1})
}

// versionsOf returns the sequences of a record's history, newest first, and
// checks that its commands are the same.
func versionsOf(t *testing.T, who tenant, r Ref) []int64 {
	t.Helper()
	var seqs, asked []int64
	for after := ""; ; {
		page := must[table.Page[History]](t)(who.versions(t.Context(), r, 7, after))
		for _, h := range page.Items {
			seqs = append(seqs, h.Seq)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	page := must[table.Page[Command]](t)(who.commandsOf(t.Context(), r, 0, ""))
	for _, c := range page.Items {
		asked = append(asked, c.Version)
	}
	equal(t, "versions of the commands", asked, seqs)
	return seqs
}

func TestOfManyWritersAtOneVersionOneWins(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for version := range int64(3) {
		var won atomic.Int64
		var writers sync.WaitGroup
		for i := range 16 {
			writers.Go(func() {
				switch _, err := s.acme().publish(t.Context(), priced(version, float64(i))); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, table.ErrConflict):
					t.Error(err)
				}
			})
		}
		writers.Wait()
		equal(t, "winners", won.Load(), 1)
	}
	equal(t, "history", versionsOf(t, s.acme(), lamp), []int64{3, 2, 1})
}

func TestUpdatesUnderVersionsAreNotLost(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	must[Record](t)(acme.publish(t.Context(), priced(0, 0)))
	const writers, each = 6, 4
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for done := 0; done < each; {
				now, err := acme.get(t.Context(), lamp)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = acme.publish(t.Context(), priced(now.Version, now.Attributes["price"].(float64)+1))
				switch {
				case err == nil:
					done++
				case !errors.Is(err, table.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	now := must[Record](t)(acme.get(t.Context(), lamp))
	equal(t, "price", now.Attributes["price"], any(float64(writers*each)))
	var want []int64
	for seq := range int64(writers*each + 1) {
		want = append(want, seq+1)
		h := must[History](t)(acme.version(t.Context(), lamp, seq+1))
		equal(t, "price then", h.Attributes["price"], any(float64(seq)))
	}
	slices.Reverse(want)
	equal(t, "history", versionsOf(t, acme, lamp), want)
}

func TestALostAnswerIsFoundOutAbout(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := newSystemWith(t, tabletest.Client(t, faults.Install))
	faults.Next("TransactWriteItems", tabletest.DropResponse()) // the SDK asks again
	must[Record](t)(s.acme().publish(t.Context(), priced(0, 40)))
	equal(t, "history", versionsOf(t, s.acme(), lamp), []int64{1})

	// Without a second try, nobody can tell.
	var cut tabletest.Faults
	cut.Next("TransactWriteItems", tabletest.DropResponse())
	_, err := s.through(t, &cut).as(s.acme().caller).publish(t.Context(), priced(1, 45))
	if !errors.Is(err, table.ErrOutcomeUnknown) || errors.Is(err, table.ErrStale) {
		t.Errorf("error: %v", err)
	}
}

func TestAConflictThatPassesIsNotStale(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	faults.Always("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict", "None", "None"))
	_, err := s.through(t, &faults).as(s.acme().caller).publish(t.Context(), priced(0, 40))
	if !errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrStale) {
		t.Errorf("error: %v", err)
	}
}
