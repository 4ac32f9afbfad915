package keys_test

import (
	"errors"
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
)

const (
	order keys.Prefix = "ORDER"
	dept  keys.Prefix = "DEPT"
)

// at is an instant that needs no rounding.
var at = time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)

// rule returns the rule that err names, or "" for a nil error. Any other error
// fails the test.
func rule(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*keys.Error](err)
	if !ok || !errors.Is(err, keys.ErrInvalid) {
		t.Fatalf("got error %v (%T), want a *keys.Error that matches ErrInvalid", err, err)
	}
	return invalid.Rule
}
