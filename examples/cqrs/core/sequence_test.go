package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

// Concurrent orders have the numbers from 1 on, without gaps, also if responses are lost.
func TestNumbersHaveNoGaps(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	acme := s.through(t, &faults).as(s.acme().caller)
	faults.Next("TransactWriteItems", slices.Repeat([]tabletest.Fault{tabletest.DropResponse()}, 4)...)
	const orders = 12
	codes := make([]string, orders)
	check.Together(orders, func(i int) {
		codes[i] = check.Must(acme.PlaceOrder(t.Context(), "order", nil))(t).Code
	})
	slices.Sort(codes)
	for i, code := range codes {
		check.Equal(t, "number", code, fmt.Sprintf("ORD-%06d", i+1))
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

func TestASequenceEndsWithItsDigits(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	last := counter{TenantCode: "ACME", Prefix: orderPrefix, Year: 2024, Last: lastOrder - 1}
	check.OK(t, s.table.Transact(t.Context(), s.counters.PutOps(&last)...))
	check.Equal(t, "number", check.Must(s.acme().PlaceOrder(t.Context(), "last", nil))(t).Code, "ORD-999999")
	check.Is(t, check.Err(s.acme().PlaceOrder(t.Context(), "late", nil)), ErrUsedUp)
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
