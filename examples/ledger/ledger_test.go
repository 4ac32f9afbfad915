package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/ledger"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

// newLedger returns a ledger in a table of its own, with the accounts ana and bob.
func newLedger(t *testing.T, faults *tabletest.Faults, opts *table.Options) (*ledger.Ledger, *table.Table) {
	t.Helper()
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), ledger.Schema, opts)
	l, err := ledger.New(tbl)
	must(t, err)
	must(t, l.Open(t.Context(), "ana", 100))
	must(t, l.Open(t.Context(), "bob", 0))
	return l, tbl
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// balances fails the test unless ana and bob have that much.
func balances(t *testing.T, l *ledger.Ledger, ana, bob int64) {
	t.Helper()
	for name, want := range map[string]int64{"ana": ana, "bob": bob} {
		got, err := l.Balance(t.Context(), name)
		if err != nil || got != want {
			t.Errorf("%s has %d (%v), want %d", name, got, err, want)
		}
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, to string
		amount   int64
		want     error
		ana, bob int64
	}{
		"some":             {"ana", "bob", 30, nil, 70, 30},
		"all":              {"ana", "bob", 100, nil, 0, 100},
		"too much":         {"ana", "bob", 101, ledger.ErrInsufficient, 100, 0},
		"nothing":          {"ana", "bob", 0, ledger.ErrAmount, 100, 0},
		"from nobody":      {"cid", "bob", 30, ledger.ErrNoAccount, 100, 0},
		"to nobody":        {"ana", "cid", 30, ledger.ErrNoAccount, 100, 0},
		"to the same":      {"ana", "ana", 30, table.ErrInvalid, 100, 0},
		"to an empty name": {"ana", "", 30, keys.ErrInvalid, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := newLedger(t, &tabletest.Faults{}, nil)
			if err := l.Move(t.Context(), tt.from, tt.to, tt.amount); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			balances(t, l, tt.ana, tt.bob)
		})
	}
}

// TestMoveUnderFaults shows that money is moved once or not at all, and that the
// caller is not told otherwise.
func TestMoveUnderFaults(t *testing.T) {
	t.Parallel()
	const attempts = 4 // of the SDK's client
	for name, tt := range map[string]struct {
		faults   []tabletest.Fault
		want     error
		ana, bob int64
	}{
		"the response is lost": {
			[]tabletest.Fault{tabletest.DropResponse()},
			nil, 70, 30,
		},
		"others move money at the same time": {
			[]tabletest.Fault{tabletest.CancelTransaction("TransactionConflict", "None"), tabletest.Throttle()},
			nil, 70, 30,
		},
		"every response is lost": {
			slices.Repeat([]tabletest.Fault{tabletest.DropResponse()}, attempts),
			table.ErrOutcomeUnknown, 70, 30,
		},
		"no request arrives": {
			slices.Repeat([]tabletest.Fault{tabletest.DropRequest()}, attempts),
			table.ErrOutcomeUnknown, 100, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			l, _ := newLedger(t, &faults, nil)
			faults.Next("TransactWriteItems", tt.faults...)
			if err := l.Move(t.Context(), "ana", "bob", 30); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			balances(t, l, tt.ana, tt.bob)
		})
	}
}

// TestCost holds the access patterns to what they may cost.
func TestCost(t *testing.T) {
	t.Parallel()
	var summary telemetry.Summary
	l, _ := newLedger(t, &tabletest.Faults{}, &table.Options{Observe: summary.Observe})
	must(t, l.Move(t.Context(), "ana", "bob", 30))
	balances(t, l, 70, 30)

	got := summary.Rows()
	for i := range got {
		got[i].Duration, got[i].Slowest = 0, 0 // differ from run to run
	}
	want := []telemetry.Row{
		{Pattern: "balance", Operation: "GetItem", Requests: 2, Attempts: 2, ReadUnits: 2},
		{Pattern: "move money", Operation: "TransactWriteItems", Requests: 1, Attempts: 1, WriteUnits: 4},
		{Pattern: "open account", Operation: "PutItem", Requests: 2, Attempts: 2, WriteUnits: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
}
