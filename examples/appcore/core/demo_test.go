package core_test

import (
	"testing"
	"time"

	"github.com/singletable/singletable/examples/appcore/core"
)

func TestTheDemoIsMadeOnce(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	for range 2 {
		if err := s.Demo(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{"USER": 2, "TRANSACTION": 2 * 24, "NOTIFICATION": 8, "IDEMPOTENCY": 24} {
			if got := len(ofType(t, tbl, name)); got != want {
				t.Errorf("%d items of type %s, want %d", got, name, want)
			}
		}
	}
	page, err := s.Transactions(t.Context(), core.List{User: core.DemoUsers[0], Limit: core.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	completed := 0
	for i, tx := range page.Items {
		if i > 0 && !tx.CreatedAt.Before(page.Items[i-1].CreatedAt) {
			t.Errorf("transaction %d is not older than the one before", i)
		}
		if tx.CreatedAt.After(time.Now()) {
			t.Errorf("transaction %d is of the future: %v", i, tx.CreatedAt)
		}
		if tx.Status == core.Completed {
			completed++
		}
	}
	if len(page.Items) != 12 || completed != 4 {
		t.Errorf("%d transactions, %d of them completed", len(page.Items), completed)
	}
}
