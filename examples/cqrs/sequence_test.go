package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestNoNumberIsGivenOutTwice(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	const writers = 64
	var mu sync.Mutex
	var got, want []string
	var group sync.WaitGroup
	for i := range writers {
		want = append(want, fmt.Sprintf("ORD-%06d", i+1))
		group.Go(func() {
			r, err := s.acme().placeOrder(t.Context(), "order", nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r.Code)
		})
	}
	group.Wait()
	slices.Sort(got)
	equal(t, "numbers", got, want)
	page := must[table.Page[Record]](t)(s.acme().below(t.Context(), ref("ORDER", "2024"), 0, ""))
	equal(t, "orders", codesOf(page.Items), want)
}

// A number costs one request, whatever the number of writers. Each writer that
// finds no sequence takes three more at most, to create it.
func TestANumberIsOneRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	acme := s.through(t, &faults).as(s.acme().caller)
	const writers, each, perNumber = 64, 50, 1.1
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				if _, err := acme.number(t.Context(), orderNumbers); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	last := must[Number](t)(acme.number(t.Context(), orderNumbers))
	equal(t, "last number", last.N, int64(writers*each+1))
	if got := float64(len(faults.Requests())) / float64(last.N); got > perNumber {
		t.Errorf("%.3f requests a number, want %v at most", got, perNumber)
	}
}

func TestNumbersBeginAnewEachYearForEachTenant(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	globex := s.as(Caller{Tenant: "GLOBEX", User: "gil"})
	var got []string
	place := func(who tenant) {
		t.Helper()
		r := must[Record](t)(who.placeOrder(t.Context(), "order", nil))
		got = append(got, r.ID)
	}
	place(s.acme())
	place(s.acme())
	place(globex)
	s.clock.set(time.Date(2024, 12, 31, 23, 59, 59, 0, time.UTC))
	place(s.acme())
	s.clock.set(time.Date(2025, 1, 1, 1, 0, 0, 0, time.FixedZone("east", 7200))) // it is still 2024 in UTC
	place(s.acme())
	s.clock.set(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	place(s.acme())
	place(globex)
	equal(t, "ids", got, []string{
		"ORDER#ACME#2024#ORD-000001", "ORDER#ACME#2024#ORD-000002", "ORDER#GLOBEX#2024#ORD-000001",
		"ORDER#ACME#2024#ORD-000003", "ORDER#ACME#2024#ORD-000004",
		"ORDER#ACME#2025#ORD-000001", "ORDER#GLOBEX#2025#ORD-000001",
	})
	found := must[[]Record](t)(s.acme().byCode(t.Context(), "ORD-000001"))
	equal(t, "of both years", len(found), 2)
}

func TestALostAnswerDoesNotRepeatANumber(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	first := must[Number](t)(s.acme().number(t.Context(), orderNumbers))
	equal(t, "number", first.String(), "ORD-000001")

	var faults tabletest.Faults
	faults.Next("UpdateItem", tabletest.DropResponse())
	_, err := s.through(t, &faults).as(s.acme().caller).number(t.Context(), orderNumbers)
	if !errors.Is(err, table.ErrOutcomeUnknown) {
		t.Errorf("error: %v", err)
	}
	third := must[Number](t)(s.acme().number(t.Context(), orderNumbers))
	equal(t, "number", third.String(), "ORD-000003")
}

func TestASequenceEndsWithItsDigits(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	short := Sequence{Prefix: "ONE", Digits: 1}
	for n := range 9 {
		got := must[Number](t)(s.acme().number(t.Context(), short))
		equal(t, "number", got.String(), fmt.Sprintf("ONE-%d", n+1))
	}
	if _, err := s.acme().number(t.Context(), short); !errors.Is(err, ErrUsedUp) {
		t.Errorf("error: %v", err)
	}
	if _, err := s.acme().number(t.Context(), Sequence{Digits: 3}); !errors.Is(err, keys.ErrInvalid) {
		t.Errorf("without a prefix: %v", err)
	}
}
