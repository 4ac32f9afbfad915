package table_test

import (
	"net/http"
	"testing"
)

// TestVerifyOfAnAnswerWithoutTable shows that what stands in for an engine, such
// as a proxy, cannot make Verify panic.
func TestVerifyOfAnAnswerWithoutTable(t *testing.T) {
	t.Parallel()
	_, client, _ := answered(t, appCore(), answers(1, http.StatusOK, "", `{}`))
	err := appCore().Verify(t.Context(), client)
	if err == nil {
		t.Error("no error")
	}
	wellFormed(t, "Verify", err)
}
