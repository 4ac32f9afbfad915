package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// openAt returns an empty shop with a clock.
func openAt(t *testing.T, now func() time.Time) *Shop {
	t.Helper()
	return on(t, tabletest.New(t, Schema("Shop"), &table.Options{Now: now}))
}

// faultyShop returns the same shop by a client that meets the faults and does not retry.
func faultyShop(t *testing.T, s *Shop, faults *tabletest.Faults) *Shop {
	t.Helper()
	noRetry := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
	return on(t, check.Must(table.New(tabletest.Client(t, faults.Install, noRetry), s.table.Schema(), &table.Options{MaxAttempts: 1}))(t))
}

func event(t *testing.T, s *Shop, ops ...table.Op) json.RawMessage {
	t.Helper()
	return check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.table, ops...))(t)
}

// changed changes a product and returns the event of it.
func changed(t *testing.T, s *Shop, id string, change func(*Product)) json.RawMessage {
	t.Helper()
	old := check.Must(s.products.Consistent().Get(t.Context(), ProductKey(id)))(t)
	p := old
	change(&p)
	return event(t, s, s.products.UpdateOps(old, &p)...)
}

// orderedEvent places an order of two products, lamp and bowl, and returns the event of it.
func orderedEvent(t *testing.T, s *Shop, id string) json.RawMessage {
	t.Helper()
	lines := []CartLine{{UserID: "ana", ProductID: "lamp", Name: "Lamp", Quantity: 2}, {UserID: "ana", ProductID: "bowl", Name: "Bowl", Quantity: 1}}
	for i := range lines {
		check.OK(t, s.cartLines.Create(t.Context(), &lines[i]))
	}
	return event(t, s, check.Must(s.draft(t.Context(), "ana", id, noon))(t).ops...)
}

func auditorOf(t *testing.T, s *Shop) *stream.Router {
	t.Helper()
	return check.Must(s.Auditor())(t)
}

func trail(t *testing.T, s *Shop, entity, id string) []Audit {
	t.Helper()
	return check.Must(table.Collect(s.audits.Consistent().All(t.Context(), AuditsQuery(entity, id))))(t)
}

// The records of an order are those of its two items, its lines, the cart and the
// products: one audit of the order and one of each product.
func TestAChangeIsAuditedOnceHoweverOftenItIsDelivered(t *testing.T) {
	t.Parallel()
	s := openAt(t, func() time.Time { return noon })
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Price: 4900, Stock: 3}, Product{ID: "bowl", Name: "Bowl", Price: 900, Stock: 5})
	router := auditorOf(t, s)
	batch := orderedEvent(t, s, "o-1")
	status := check.Must(s.orders.Get(t.Context(), OrderKey("o-1")))(t)
	paidOrder := status
	paidOrder.Status, paidOrder.ChangedBy = Paid, "eva"
	second := event(t, s, s.orders.UpdateOps(status, &paidOrder)...)
	check.OK(t, check.Errors(4, func(int) error { // at the same time
		response, err := router.Handle(t.Context(), batch)
		return errors.Join(err, response.Err)
	})...)
	check.Deliver(t, router, second)
	check.Deliver(t, router, batch) // late
	check.Deliver(t, router, second)

	end := noon.Add(auditLife)
	fields := []string{"items", "orderId", "placedAt", "status", "total", "userId"}
	order := map[string]any{
		"items": 2.0, "orderId": "o-1", "placedAt": noon.Format(time.RFC3339), "status": "PLACED", "total": 10700.0, "userId": "ana",
	}
	unknown := cmpopts.IgnoreFields(Audit{}, "Sequence", "EventID")
	check.Equal(t, "audits of the order", trail(t, s, "ORDER", "o-1"), []Audit{
		{Type: "ORDER", ID: "o-1", Kind: stream.Insert, By: "ana", At: noon, Changed: fields, New: order, ExpiresAt: end},
		{
			Type: "ORDER", ID: "o-1", Kind: stream.Modify, By: "eva", At: noon, ExpiresAt: end,
			Changed: []string{"status"}, Old: map[string]any{"status": "PLACED"}, New: map[string]any{"status": "PAID"},
		},
	}, unknown, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0))
	check.Equal(t, "audits of the lamp", trail(t, s, "PRODUCT", "lamp"), []Audit{{
		Type: "PRODUCT", ID: "lamp", Kind: stream.Modify, By: "ana", At: noon, ExpiresAt: end,
		Changed: []string{"stock"}, Old: map[string]any{"stock": 3.0}, New: map[string]any{"stock": 1.0},
	}}, unknown, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0))
	check.Equal(t, "audits of the bowl", len(trail(t, s, "PRODUCT", "bowl")), 1)
}

// The auditor is killed before and after each of its requests, and its batch is
// delivered again from the record on that was not handled.
func TestTheTrailSurvivesAKillAtEachRequest(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]tabletest.Fault{"before": tabletest.DropRequest(), "after": tabletest.DropResponse()} {
		s := open(t)
		stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 90}, Product{ID: "bowl", Name: "Bowl", Stock: 90})
		again := auditorOf(t, s)
		for passed := 0; ; passed++ {
			id := fmt.Sprintf("o-%d", passed)
			batch := orderedEvent(t, s, id)
			var faults tabletest.Faults
			faults.Next("", append(make([]tabletest.Fault, passed), kill)...)
			faults.Always("", tabletest.DropRequest())
			response := check.Must(auditorOf(t, faultyShop(t, s, &faults)).Handle(t.Context(), batch))(t)
			check.Deliver(t, again, batch)
			check.Equal(t, "audits of the order, killed "+name, len(trail(t, s, "ORDER", id)), 1)
			check.Equal(t, "audits of the lamp, killed "+name, len(trail(t, s, "PRODUCT", "lamp")), passed+1)
			check.Equal(t, "audits of the bowl, killed "+name, len(trail(t, s, "PRODUCT", "bowl")), passed+1)
			if len(response.BatchItemFailures) == 0 {
				check.Equal(t, "requests", passed, 3)
				break
			}
		}
	}
}

func TestSecretsAreNotInTheTrail(t *testing.T) {
	t.Parallel()
	s := open(t)
	router := auditorOf(t, s)
	first := User{ID: "ana", Email: "ana@example.com", Name: "Ana", ChangedBy: "ana", CreatedAt: noon, Password: check.Must(newPassword("secret-1", 1))(t)}
	check.Deliver(t, router, event(t, s, s.users.CreateOps(&first)...))
	second := first
	second.Password = check.Must(newPassword("another-1", 1))(t)
	check.Deliver(t, router, event(t, s, s.users.UpdateOps(first, &second)...))
	gone := event(t, s, s.users.DeleteOps(second)...)
	check.Deliver(t, router, gone)

	audits := trail(t, s, "USER", "ana")
	check.Equal(t, "audits", len(audits), 3)
	all := []string{"createdAt", "email", "name", "password", "role", "userId"}
	for i, want := range []struct {
		kind     stream.Kind
		by       string
		changed  []string
		old, new int
	}{
		{stream.Insert, "ana", all, 0, 5},
		{stream.Modify, "ana", []string{"password"}, 0, 0},
		{stream.Remove, "", all, 5, 0},
	} {
		a := audits[i]
		if a.Kind != want.kind || a.By != want.by || len(a.Old) != want.old || len(a.New) != want.new {
			t.Errorf("audit %d: %+v", i, a)
		}
		check.Equal(t, "attributes", a.Changed, want.changed)
		for _, values := range []map[string]any{a.Old, a.New} {
			if _, told := values["password"]; told {
				t.Errorf("audit %d has the password", i)
			}
		}
	}
}

func TestAChangeOfWhoHasChangedAloneIsNotAudited(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 3})
	check.Deliver(t, auditorOf(t, s), changed(t, s, "lamp", func(p *Product) { p.ChangedBy = "ben" }))
	check.Equal(t, "audits", trail(t, s, "PRODUCT", "lamp"), []Audit(nil))
	check.Must(s.ChangeProduct(t.Context(), "eva", "lamp", func(*Product) error { return nil }))(t)
	p := check.Must(s.ProductByID(t.Context(), "lamp"))(t)
	check.Equal(t, "who has changed it", p.ChangedBy, "ben")
}

func TestAuditsAreListedByEntityAndByDayUntilTheyExpire(t *testing.T) {
	t.Parallel()
	now := noon
	s := openAt(t, func() time.Time { return now })
	stock(t, s, Product{ID: "lamp", Name: "Lamp"}, Product{ID: "bowl", Name: "Bowl"})
	router := auditorOf(t, s)
	price := func(id string, price int64) {
		t.Helper()
		check.Deliver(t, router, changed(t, s, id, func(p *Product) { p.Price = price }))
	}
	price("lamp", 1)
	price("lamp", 2) // in the same second
	now = noon.Add(11 * time.Hour)
	price("bowl", 3)
	now = noon.Add(12 * time.Hour) // midnight
	price("lamp", 4)
	prices := func(page table.Page[Audit], err error) []float64 {
		t.Helper()
		check.OK(t, err)
		var all []float64
		for _, a := range page.Items {
			all = append(all, a.New["price"].(float64))
		}
		return all
	}
	check.Equal(t, "of the lamp", prices(s.AuditsByEntity(t.Context(), "PRODUCT", "lamp", 0, "")), []float64{1, 2, 4})
	check.Equal(t, "of the first day", prices(s.AuditsByDay(t.Context(), noon, 0, "")), []float64{1, 2, 3})
	check.Equal(t, "of the second day", prices(s.AuditsByDay(t.Context(), now, 0, "")), []float64{4})
	first := check.Must(s.AuditsByDay(t.Context(), noon, 2, ""))(t)
	check.Equal(t, "page 2", prices(s.AuditsByDay(t.Context(), noon, 2, first.Next)), []float64{3})

	now = noon.Add(auditLife)
	check.Equal(t, "after the expiry", prices(s.AuditsByEntity(t.Context(), "PRODUCT", "lamp", 0, "")), []float64{4})
}

func TestKeysOfAuditsAreValid(t *testing.T) {
	t.Parallel()
	a := Audit{Type: "PRODUCT", ID: "a#b", At: noon, Sequence: "42"}
	check.Equal(t, "the key", auditEntity.Key(a), keys.Key{
		PK: "AUDIT#PRODUCT#a%23b", SK: "CHANGE#2024-01-15T12:00:00.000Z#0000000000000000000000000000000000000042",
	})
	a.Sequence = "1234567890123456789012345678901234567890"
	check.OK(t, auditEntity.Key(a).Validate(), inDay(a).Validate())
}

// Kinesis gives no sequence numbers, by which changes of one second differ: what would be lost is
// an error.
func TestChangesWithoutASequenceNumberAreRefused(t *testing.T) {
	t.Parallel()
	var recorder streamtest.Recorder
	s := on(t, tabletest.NewWith(t, tabletest.Client(t, recorder.Install), Schema("Shop"), nil))
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: LowStockThreshold})
	batch := check.Must(recorder.Kinesis(s.table, func() error {
		for _, now := range []int{LowStockThreshold - 1, LowStockThreshold, 0} {
			if _, err := s.products.Update(t.Context(), ProductKey("lamp"), func(p *Product) error { p.Stock = now; return nil }); err != nil {
				return err
			}
		}
		return nil
	}))(t)
	for _, router := range []*stream.Router{auditorOf(t, s), check.Must(s.Notifier(receiver{}.send))(t)} {
		response := check.Must(router.Handle(t.Context(), batch))(t)
		check.Is(t, response.Err, errNoSequence)
		check.Equal(t, "records to deliver again", len(response.BatchItemFailures), 1)
	}
}
