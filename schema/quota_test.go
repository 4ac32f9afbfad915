package schema_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
)

// manyIndexes is a schema with n global indexes.
func manyIndexes(n int) schema.Table {
	s := schema.Table{Name: "Notes"}
	for i := range n {
		s.Indexes = append(s.Indexes, schema.Index{Name: fmt.Sprintf("GSI%d", i+1), PK: fmt.Sprintf("gsi%dpk", i+1)})
	}
	return s
}

// TestPlanOfManyIndexes plans more global indexes than AWS allows by default. Those
// of other releases count.
func TestPlanOfManyIndexes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		live, want int // live is -1 if there is no table
		quotas     []string
	}{
		"a new table with 20":       {-1, 20, []string{""}},
		"a new table with 21":       {-1, 21, []string{"21"}},
		"the twentieth":             {19, 20, []string{""}},
		"the last of three":         {18, 21, []string{"", "", "21"}},
		"two more than the default": {20, 22, []string{"21", "22"}},
		"as the schema says":        {21, 21, nil},
	} {
		spec := manyIndexes(tt.want)
		client, faults := faulty(noTTL)
		faults.Always("DescribeTable", canned(http.StatusBadRequest, "ResourceNotFoundException", `{"message":"Injected."}`))
		if tt.live >= 0 {
			faults.Always("DescribeTable", (&building{t: t, schema: manyIndexes(tt.live)}).describe)
		}
		plan := expect.Value(spec.Plan(t.Context(), client))(t)
		equal(t, name+": manual", len(plan.Manual), 0)
		equal(t, name+": changes", len(plan.Changes), len(tt.quotas))
		for i, c := range plan.Changes {
			want := ""
			if tt.quotas[i] != "" {
				want = "ask AWS for a quota of " + tt.quotas[i] + " global indexes"
			}
			if want == "" && strings.Contains(c.Action, "quota") || !strings.HasPrefix(c.Action, want) {
				t.Errorf("%s: %v, want %q", name, c, want)
			}
		}
	}
}

// An index that the quota does not allow is refused as one is that has to wait.
// Nobody waits for it.
func TestEnsureBeyondTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spec := manyIndexes(21)
		client, faults := faulty(noTTL)
		faults.Always("DescribeTable", (&building{t: t, schema: manyIndexes(20)}).describe)
		faults.Always("UpdateTable", canned(http.StatusBadRequest, "LimitExceededException", `{"message":"Injected."}`))
		start := time.Now()
		err := spec.Ensure(t.Context(), client)
		e, ok := errors.AsType[*schema.Error](err)
		if limit := (*types.LimitExceededException)(nil); !ok || e.Index != "GSI21" || !errors.As(err, &limit) {
			t.Errorf("%v", err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		equal(t, "updates", len(faults.Requests("UpdateTable")), 2)
	})
}

// A table with a higher quota has all of its indexes.
func TestEnsureWithAHigherQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spec := manyIndexes(21)
		client, faults := faulty(noTTL)
		live := &building{t: t, schema: manyIndexes(20), takes: time.Minute}
		// Another process begins an index just before.
		faults.Next("UpdateTable", canned(http.StatusBadRequest, "LimitExceededException", `{"message":"Injected."}`))
		faults.Always("DescribeTable", live.describe)
		faults.Always("UpdateTable", live.update)
		must(t, spec.Ensure(t.Context(), client))
	})
}
