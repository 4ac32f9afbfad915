package core_test

import (
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
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
	if diff := cmp.Diff(copies[0], copies[1], cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{})); diff != "" {
		t.Errorf("the copies differ:\n%s", diff)
	}
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
	approved, err := s.Approve(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	checkStored(t, tbl, core.Completed, 1)
	if writes := len(faults.Requests("TransactWriteItems", "PutItem", "UpdateItem")) - before; writes != 1 {
		t.Errorf("%d writes, want one transaction", writes)
	}
	stored, err := s.Transaction(t.Context(), "u-123", id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, approved); diff != "" {
		t.Errorf("Approve returned another transaction (-stored +returned):\n%s", diff)
	}

	// Again changes nothing.
	if _, err := s.Approve(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	checkStored(t, tbl, core.Completed, 1)
	for _, id := range []string{"tx-none", "", "\xff"} {
		if _, err := s.Approve(t.Context(), id); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("no such transaction %q: %v", id, err)
		}
	}
}

func TestAnApprovalThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]tabletest.Fault{
		"first copy":   tabletest.CancelTransaction("ConditionalCheckFailed", "None", "None"),
		"second copy":  tabletest.CancelTransaction("None", "TransactionConflict", "None"),
		"notification": tabletest.CancelTransaction("None", "None", "ThrottlingError"),
		"throttled":    tabletest.Throttle(),
		"connection":   tabletest.DropRequest(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, tbl, faults := newService(t)
			id := create(t, s, "u-123", "k")
			faults.Always("TransactWriteItems", fault)
			if _, err := s.Approve(t.Context(), id); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("error: %v", err)
			}
			faults.Always("TransactWriteItems", nil)
			checkStored(t, tbl, core.Pending, 0)
			if _, err := s.Approve(t.Context(), id); err != nil {
				t.Error(err)
			}
			checkStored(t, tbl, core.Completed, 1)
		})
	}
}

func TestAnApprovalWhoseAnswerWasLostNotifiesOnce(t *testing.T) {
	t.Parallel()
	s, tbl, faults := newService(t)
	id := create(t, s, "u-123", "k")
	faults.Always("TransactWriteItems", tabletest.DropResponse())
	_, err := s.Approve(t.Context(), id)
	if !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("error: %v", err)
	}
	faults.Always("TransactWriteItems", nil)
	if _, err := s.Approve(t.Context(), id); err != nil {
		t.Error(err)
	}
	checkStored(t, tbl, core.Completed, 1)
}

func TestManyApprovalsNotifyOnce(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	id := create(t, s, "u-123", "k")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := s.Approve(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkStored(t, tbl, core.Completed, 1)
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
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Approve(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		item, err := table.Get[table.Item](t.Context(), tbl.Consistent(), key)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(item, "GSI1PK"); got != stored {
			t.Errorf("in shard %s after the approval, was in %s", got, stored)
		}
	}
}
