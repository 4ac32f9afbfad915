package core_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
)

func TestWhatCannotBeATransactionIsRefused(t *testing.T) {
	t.Parallel()
	s, tbl, faults := newService(t)
	good := core.NewTransaction{User: "u-123", Key: "k", Amount: 1, Currency: "ARS"}
	for _, c := range []struct {
		code   string
		change func(*core.NewTransaction)
	}{
		{"missing_idempotency_key", func(n *core.NewTransaction) { n.Key = "" }},
		{"invalid_idempotency_key", func(n *core.NewTransaction) { n.Key = "a\x00" }},
		{"invalid_amount", func(n *core.NewTransaction) { n.Amount = 0 }},
		{"invalid_amount", func(n *core.NewTransaction) { n.Amount = core.MaxAmount + 1 }},
		{"invalid_currency", func(n *core.NewTransaction) { n.Currency = "" }},
		{"invalid_currency", func(n *core.NewTransaction) { n.Currency = "AR" }},
		{"invalid_currency", func(n *core.NewTransaction) { n.Currency = "ARSX" }},
		{"invalid_currency", func(n *core.NewTransaction) { n.Currency = "XAU" }},
		{"invalid_currency", func(n *core.NewTransaction) { n.Currency = "D\nA" }},
	} {
		n := good
		c.change(&n)
		_, _, err := core.CreateTransaction(t.Context(), s, n, func(core.Transaction) (string, error) { return "", nil })
		if e, ok := errors.AsType[*core.InvalidError](err); !ok || e.Code != c.code {
			t.Errorf("%+v: error %v, want code %s", n, err, c.code)
		}
	}
	if sent := len(faults.Requests("TransactWriteItems")); sent > 0 {
		t.Errorf("%d requests were sent", sent)
	}
	good.Amount = core.MaxAmount
	if _, _, err := core.CreateTransaction(t.Context(), s, good, func(core.Transaction) (string, error) { return "ok", nil }); err != nil {
		t.Error(err)
	}
	checkStored(t, tbl, core.Pending, 0)
}

func TestAnAnswerThatCannotBeMadeCreatesNothing(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	broken := errors.New("broken")
	n := core.NewTransaction{User: "u-123", Key: "k", Amount: 1, Currency: "ARS"}
	_, _, err := core.CreateTransaction(t.Context(), s, n, func(core.Transaction) (string, error) { return "", broken })
	if !errors.Is(err, broken) {
		t.Errorf("error: %v", err)
	}
	if stored := items(t, tbl); len(stored) > 0 {
		t.Errorf("stored: %v", stored)
	}
}
