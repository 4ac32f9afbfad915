package core

import (
	"sync"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
)

// request is a user's request with an id.
func request(s system, user, id string) Tenant {
	return s.as(Caller{Tenant: "ACME", User: user, IP: "192.0.2.7", Source: "test", RequestID: id})
}

func TestARepeatedCommandHasItsFirstResult(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	first := check.Must(request(s, "ana", "r-1").Publish(t.Context(), priced(0, 40)))(t)
	check.Must(request(s, "ana", "r-2").Publish(t.Context(), priced(1, 45)))(t)

	check.Equal(t, "repeated", check.Must(request(s, "ana", "r-1").Publish(t.Context(), priced(0, 40)))(t), first)
	check.Equal(t, "history", versionsOf(t, s.acme(), lamp), []int64{2, 1})
	command := check.Must(s.acme().Commands(t.Context(), lamp, 0, ""))(t).Items[1]
	check.Equal(t, "source and request", []string{command.Source, command.RequestID}, []string{"test", "r-1"})

	check.Is(t, check.Err(request(s, "ana", "r-1").Publish(t.Context(), priced(0, 41))), idempotency.ErrPayloadMismatch, "another price")
	check.Is(t, check.Err(request(s, "ana", "r-1").Publish(t.Context(), priced(2, 40))), idempotency.ErrPayloadMismatch, "another version")
	check.Is(t, check.Err(request(s, "bob", "r-1").Publish(t.Context(), priced(0, 40))), table.ErrStale, "another user")
	check.Is(t, check.Err(request(s, "ana", "r-3").Publish(t.Context(), priced(0, 40))), table.ErrStale, "another request")
	// A command that was refused was not finished, and its id can be used again.
	check.Must(request(s, "ana", "r-3").Publish(t.Context(), priced(2, 40)))(t)
}

func TestAnotherTenantsRequestIsAnotherRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for _, caller := range []Caller{
		{Tenant: "A", User: "B#C", RequestID: "r"}, {Tenant: "A#B", User: "C", RequestID: "r"}, {Tenant: "A", User: "B", RequestID: "C#r"},
	} {
		got := check.Must(s.as(caller).Publish(t.Context(), Change{Ref: NewRef("PRODUCT", caller.User), Name: caller.Tenant}))(t)
		check.Equal(t, "tenant", got.TenantCode, caller.Tenant)
	}
}

func TestARepeatedOrderIsOneOrder(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var mu sync.Mutex
	ids := map[string]bool{}
	check.Together(8, func(int) {
		order, err := request(s, "ana", "r-1").PlaceOrder(t.Context(), "lamp", map[string]any{"product": "LAMP"})
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		ids[order.ID] = true
	})
	check.Equal(t, "orders", len(ids), 1)
	s.settle(t)
	check.Equal(t, "orders", len(check.Must(s.acme().List(t.Context(), "ORDER", 0, ""))(t).Items), 1)
	check.Is(t, check.Err(request(s, "ana", "r-1").PlaceOrder(t.Context(), "desk", nil)), idempotency.ErrPayloadMismatch)
	// An order without a number is no command, whatever the request was.
	numberless := Change{Ref: Ref{Type: "ORDER"}, Name: "lamp", Attributes: map[string]any{"product": "LAMP"}}
	check.Is(t, check.Err(request(s, "ana", "r-1").Publish(t.Context(), numberless)), ErrInvalid)
}
