package core_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
)

func TestAResponseThatCannotBeMadeCreatesNothing(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	broken := errors.New("broken")
	n := core.NewTransaction{User: "u-123", Key: "k", Amount: 1, Currency: "ARS"}
	_, _, err := core.CreateTransaction(t.Context(), s, n, func(core.Transaction) (string, error) { return "", broken })
	check.Is(t, err, broken)
	if stored := items(t, tbl); len(stored) > 0 {
		t.Errorf("stored: %v", stored)
	}
}
