package core

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// No number is given out twice, and a number costs one request, whatever the number
// of writers. Each writer that finds no sequence takes three more at most, to create
// it.
func TestANumberIsOneRequestAndGivenOutOnce(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	acme := s.through(t, &faults).as(s.acme().caller)
	const writers, each, perNumber = 64, 50, 1.1
	var given sync.Map
	check.Together(writers, func(int) {
		for range each {
			n, err := acme.Number(t.Context(), orderNumbers)
			if _, twice := given.LoadOrStore(n, true); twice || err != nil {
				t.Errorf("%v, given out before: %t, error %v", n, twice, err)
			}
		}
	})
	last := check.Must(acme.Number(t.Context(), orderNumbers))(t)
	check.Equal(t, "last number", last.N, int64(writers*each+1))
	if got := float64(len(faults.Requests())) / float64(last.N); got > perNumber {
		t.Errorf("%.3f requests a number, want %v at most", got, perNumber)
	}
}

func TestNumbersRestartEachYearForEachTenant(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	globex := s.as(Caller{Tenant: "GLOBEX", User: "gil"})
	var got []string
	place := func(who Tenant) {
		t.Helper()
		r := check.Must(who.PlaceOrder(t.Context(), "order", nil))(t)
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
	check.Equal(t, "ids", got, []string{
		"ORDER#ACME#2024#ORD-000001", "ORDER#ACME#2024#ORD-000002", "ORDER#GLOBEX#2024#ORD-000001",
		"ORDER#ACME#2024#ORD-000003", "ORDER#ACME#2024#ORD-000004",
		"ORDER#ACME#2025#ORD-000001", "ORDER#GLOBEX#2025#ORD-000001",
	})
	s.settle(t)
	found := check.Must(s.acme().ByCode(t.Context(), "", "ORD-000001", 0, ""))(t).Items
	check.Equal(t, "of both years", len(found), 2)
}

func TestALostResponseDoesNotRepeatANumber(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	first := check.Must(s.acme().Number(t.Context(), orderNumbers))(t)
	check.Equal(t, "number", first.String(), "ORD-000001")

	var faults tabletest.Faults
	faults.Next("UpdateItem", tabletest.DropResponse())
	check.Is(t, check.Err(s.through(t, &faults).as(s.acme().caller).Number(t.Context(), orderNumbers)), table.ErrOutcomeUnknown)
	third := check.Must(s.acme().Number(t.Context(), orderNumbers))(t)
	check.Equal(t, "number", third.String(), "ORD-000003")
}

func TestASequenceEndsWithItsDigits(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	short := Sequence{Prefix: "ONE", Digits: 1}
	for n := range 9 {
		got := check.Must(s.acme().Number(t.Context(), short))(t)
		check.Equal(t, "number", got.String(), fmt.Sprintf("ONE-%d", n+1))
	}
	check.Is(t, check.Err(s.acme().Number(t.Context(), short)), ErrUsedUp)
	check.Is(t, check.Err(s.acme().Number(t.Context(), Sequence{Digits: 3})), keys.ErrInvalid, "without a prefix")
}

// A number that a sequence has yet to give out cannot be taken before.
func TestNumbersCannotBeTakenByHand(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	mine := Change{Ref: NewRef("ORDER", "2024", "ORD-000001"), Name: "mine"}
	check.Is(t, check.Err(s.acme().Publish(t.Context(), mine)), ErrInvalid, "a command")
	check.Is(t, s.acme().Import(t.Context(), importID, []Change{mine}), ErrInvalid, "an import")
	order := check.Must(s.acme().PlaceOrder(t.Context(), "theirs", nil))(t)
	check.Equal(t, "number", order.Ref(), mine.Ref)
	// Earlier releases let commands take numbers.
	for n := range 3 {
		_, ops := s.acme().publishOps(Change{Ref: NewRef("ORDER", "2024", fmt.Sprint("ORD-00000", n+2))}, Record{})
		check.OK(t, s.table.Transact(t.Context(), ops...))
	}
	check.Equal(t, "next number", check.Must(request(s, "ana", "r-1").PlaceOrder(t.Context(), "theirs", nil))(t).Code, "ORD-000005")
	mine.Version = 1
	check.Equal(t, "a later version", check.Must(s.acme().Publish(t.Context(), mine))(t).Version, int64(2))
}
