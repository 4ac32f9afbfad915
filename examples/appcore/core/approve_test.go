package core_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// checkStored checks that there is one transaction, in two copies that are
// equal but for their keys, in the index once, with that status; and as many
// notifications.
func checkStored(t *testing.T, tbl *table.Table, status core.Status, notifications int) {
	t.Helper()
	copies := ofType(t, tbl, "TRANSACTION")
	if len(copies) != 2 {
		t.Fatalf("%d copies", len(copies))
	}
	inIndex := 0
	for _, c := range copies {
		if text(c, "GSI1PK") != "" {
			inIndex++
		}
		if got := text(c, "status"); got != string(status) {
			t.Errorf("%s: status %s, want %s", text(c, "pk"), got, status)
		}
		maps.DeleteFunc(c, func(name string, _ types.AttributeValue) bool {
			return name == "pk" || name == "sk" || name == "GSI1PK" || name == "GSI1SK"
		})
	}
	if inIndex != 1 {
		t.Errorf("%d copies are in the index", inIndex)
	}
	check.Equal(t, "the second copy", copies[1], copies[0], cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}))
	if got := len(ofType(t, tbl, "NOTIFICATION")); got != notifications {
		t.Errorf("%d notifications, want %d", got, notifications)
	}
}

func TestApproveWritesBothCopiesAndTheNotification(t *testing.T) {
	t.Parallel()
	s, tbl, faults := newService(t)
	id := create(t, s, "u-123", "k")
	checkStored(t, tbl, core.Pending, 0)
	before := len(faults.Requests("TransactWriteItems"))
	approved := check.Must(s.Approve(t.Context(), id))(t)
	checkStored(t, tbl, core.Completed, 1)
	check.Equal(t, "writes", len(faults.Requests("TransactWriteItems", "PutItem", "UpdateItem"))-before, 1)
	stored := check.Must(s.Transaction(t.Context(), "u-123", id))(t)
	check.Equal(t, "approved", approved, stored)

	// Again changes nothing.
	check.Must(s.Approve(t.Context(), id))(t)
	checkStored(t, tbl, core.Completed, 1)
	for _, id := range []string{"tx-none", "", "\xff"} {
		check.Is(t, check.Err(s.Approve(t.Context(), id)), core.ErrNotFound, fmt.Sprintf("no such transaction %q", id))
	}
}

// A transaction stays in the shard it was given, also when their number has
// changed since.
func TestAnApprovalKeepsTheShard(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	id := create(t, s, "u-123", "k")
	key := keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata}
	for _, stored := range []string{"GLOBAL_TX", "GLOBAL_TX#1"} { // one of them is not its own
		err := tbl.Do(t.Context(), table.Update(key, expression.
			Set(expression.Name("GSI1PK"), expression.Value(stored)).
			Set(expression.Name("globalPK"), expression.Value(stored)).
			Set(expression.Name("status"), expression.Value(core.Pending))))
		check.OK(t, err)
		check.Must(s.Approve(t.Context(), id))(t)
		item := check.Must(table.Get[table.Item](t.Context(), tbl.Consistent(), key))(t)
		if got := text(item, "GSI1PK"); got != stored {
			t.Errorf("in shard %s after the approval, was in %s", got, stored)
		}
	}
}
