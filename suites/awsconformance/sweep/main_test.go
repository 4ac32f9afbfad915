package main

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/awsconformance"
	"github.com/singletable/singletable/table/tabletest"
)

// TestSweep shows that nothing is deleted without a confirmation.
func TestSweep(t *testing.T) {
	t.Parallel()
	plain := tabletest.Client(t)
	g := expect.Value(awsconformance.NewGuard(plain, "sweep"))(t)
	spec := schema.Table{Name: g.TablePrefix() + "x"}
	expect.OK(t, spec.Ensure(t.Context(), tabletest.Client(t, g.Install)))
	for _, tt := range []struct{ confirm, says string }{
		{"", "1 tables of runs with the prefix sweep; none was deleted"},
		{"no", "1 tables of runs with the prefix sweep; none was deleted"},
		{"yes", spec.Name + "\n1 tables deleted"},
		{"yes", "0 tables of runs with the prefix sweep; none was deleted"},
	} {
		var said strings.Builder
		if err := sweep(t.Context(), &said, plain, "sweep", tt.confirm); err != nil || !strings.Contains(said.String(), tt.says) {
			t.Errorf("%q: %v, %q", tt.confirm, err, &said)
		}
	}
}
