package check_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/internal/suites/soak/check"
)

type lists = map[string][]string

// txn is a committed transaction.
func txn(name string, reads, appends lists) check.Transaction {
	return check.Transaction{Name: name, Outcome: check.Done, Reads: reads, Appends: appends}
}

func TestSerializable(t *testing.T) {
	t.Parallel()
	aborted := check.Transaction{Name: "T1", Outcome: check.Refused, Appends: lists{"x": {"1"}}}
	unknown := check.Transaction{Name: "T1", Outcome: check.Unknown, Appends: lists{"x": {"1"}, "y": {"2"}}}
	each := check.Transaction{Name: "query", Outcome: check.Done, Reads: lists{"x": {"1"}, "y": {}}, Each: true}
	both := txn("T1", nil, lists{"x": {"1"}, "y": {"2"}})
	for name, tt := range map[string]struct {
		all   []check.Transaction
		final lists
		want  error
	}{
		"nothing":                       {nil, nil, nil},
		"one after the other":           {[]check.Transaction{both, txn("T2", lists{"x": {"1"}, "y": {"2"}}, lists{"x": {"3"}})}, lists{"x": {"1", "3"}, "y": {"2"}}, nil},
		"a read before":                 {[]check.Transaction{both, txn("T2", lists{"x": {}, "y": {}}, nil)}, lists{"x": {"1"}, "y": {"2"}}, nil},
		"a read in the past":            {[]check.Transaction{txn("T1", nil, lists{"x": {"1"}}), txn("T2", lists{"x": {}}, nil)}, lists{"x": {"1"}}, nil},
		"unknown, and committed":        {[]check.Transaction{unknown}, lists{"x": {"1"}, "y": {"2"}}, nil},
		"unknown, and not":              {[]check.Transaction{unknown}, nil, nil},
		"a query between two items":     {[]check.Transaction{both, each}, lists{"x": {"1"}, "y": {"2"}}, nil},
		"unknown, and partly committed": {[]check.Transaction{unknown}, lists{"x": {"1"}}, check.Lost},
		"a lost write":                  {[]check.Transaction{both}, lists{"x": {"1"}}, check.Lost},
		"a write that is applied twice": {[]check.Transaction{txn("T1", nil, lists{"x": {"1"}})}, lists{"x": {"1", "1"}}, check.Duplicate},
		"a value from nowhere":          {nil, lists{"x": {"1"}}, check.Garbage},
		"a value of another list":       {[]check.Transaction{both}, lists{"x": {"1", "2"}, "y": {}}, check.Garbage},
		"G1a":                           {[]check.Transaction{aborted, txn("T2", lists{"x": {"1"}}, nil)}, nil, check.Aborted},
		"G1a, and kept":                 {[]check.Transaction{aborted}, lists{"x": {"1"}}, check.Aborted},
		"G1b": {[]check.Transaction{
			txn("T1", nil, lists{"x": {"1", "2"}}), txn("T2", lists{"x": {"1"}}, nil),
		}, lists{"x": {"1", "2"}}, check.Intermediate},
		"two orders": {[]check.Transaction{
			txn("T1", nil, lists{"x": {"1"}}), txn("T2", nil, lists{"x": {"2"}}), txn("T3", lists{"x": {"2"}}, nil),
		}, lists{"x": {"1", "2"}}, check.Incompatible},
		"G0": {[]check.Transaction{
			both, txn("T2", nil, lists{"x": {"3"}, "y": {"4"}}),
		}, lists{"x": {"1", "3"}, "y": {"4", "2"}}, check.WriteCycle},
		"G0 in one list": {[]check.Transaction{
			txn("T1", nil, lists{"x": {"1", "2"}}), txn("T2", nil, lists{"x": {"3"}}),
		}, lists{"x": {"1", "3", "2"}}, check.WriteCycle},
		"G1c": {[]check.Transaction{
			txn("T1", lists{"y": {"2"}}, lists{"x": {"1"}}), txn("T2", lists{"x": {"1"}}, lists{"y": {"2"}}),
		}, lists{"x": {"1"}, "y": {"2"}}, check.ReadCycle},
		"G-single, a stale item": {[]check.Transaction{
			both, txn("T2", lists{"x": {"1"}, "y": {}}, nil),
		}, lists{"x": {"1"}, "y": {"2"}}, check.Single},
		"G-single, a lost update": {[]check.Transaction{
			txn("T1", lists{"x": {}}, lists{"x": {"1"}}), txn("T2", lists{"x": {}}, lists{"x": {"2"}}),
		}, lists{"x": {"1", "2"}}, check.Single},
		"G2-item, write skew": {[]check.Transaction{
			txn("T1", lists{"x": {}}, lists{"y": {"1"}}), txn("T2", lists{"y": {}}, lists{"x": {"2"}}),
		}, lists{"x": {"2"}, "y": {"1"}}, check.Item},
		"G2-item, long fork": {[]check.Transaction{
			txn("T1", nil, lists{"x": {"1"}}), txn("T2", nil, lists{"y": {"2"}}),
			txn("T3", lists{"x": {"1"}, "y": {}}, nil), txn("T4", lists{"x": {}, "y": {"2"}}, nil),
		}, lists{"x": {"1"}, "y": {"2"}}, check.Item},
	} {
		var h check.Transactions
		for _, one := range tt.all {
			h.Add(one)
		}
		if err := h.Serializable(tt.final); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestCommitted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reads lists
		want  error
	}{
		"between two items":     {lists{"x": {"1", "2"}, "y": {}}, nil},
		"an intermediate value": {lists{"x": {"1"}}, check.Intermediate},
		"an aborted value":      {lists{"z": {"5"}}, check.Aborted},
		"another order":         {lists{"y": {"4"}}, check.Incompatible},
	} {
		var h check.Transactions
		h.Add(txn("T1", nil, lists{"x": {"1", "2"}, "y": {"3"}}))
		h.Add(txn("T2", nil, lists{"y": {"4"}}))
		h.Add(check.Transaction{Name: "T3", Outcome: check.Refused, Appends: lists{"z": {"5"}}})
		h.Add(check.Transaction{Name: "query", Outcome: check.Done, Reads: tt.reads, Each: true})
		n, err := h.Committed(lists{"x": {"1", "2"}, "y": {"3", "4"}})
		if n != 1 || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d reads, %v, want %v", name, n, err, tt.want)
		}
	}
}
