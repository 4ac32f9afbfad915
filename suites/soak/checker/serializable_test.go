package checker_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/suites/soak/checker"
)

type lists = map[string][]string

// txn is a committed transaction.
func txn(name string, reads, appends lists) checker.Transaction {
	return checker.Transaction{Name: name, Outcome: checker.Done, Reads: reads, Appends: appends}
}

func TestSerializable(t *testing.T) {
	t.Parallel()
	aborted := checker.Transaction{Name: "T1", Outcome: checker.Refused, Appends: lists{"x": {"1"}}}
	unknown := checker.Transaction{Name: "T1", Outcome: checker.Unknown, Appends: lists{"x": {"1"}, "y": {"2"}}}
	each := checker.Transaction{Name: "query", Outcome: checker.Done, Reads: lists{"x": {"1"}, "y": {}}, Each: true}
	both := txn("T1", nil, lists{"x": {"1"}, "y": {"2"}})
	for name, tt := range map[string]struct {
		all   []checker.Transaction
		final lists
		want  error
	}{
		"nothing":                       {nil, nil, nil},
		"one after the other":           {[]checker.Transaction{both, txn("T2", lists{"x": {"1"}, "y": {"2"}}, lists{"x": {"3"}})}, lists{"x": {"1", "3"}, "y": {"2"}}, nil},
		"a read before":                 {[]checker.Transaction{both, txn("T2", lists{"x": {}, "y": {}}, nil)}, lists{"x": {"1"}, "y": {"2"}}, nil},
		"a read in the past":            {[]checker.Transaction{txn("T1", nil, lists{"x": {"1"}}), txn("T2", lists{"x": {}}, nil)}, lists{"x": {"1"}}, nil},
		"unknown, and committed":        {[]checker.Transaction{unknown}, lists{"x": {"1"}, "y": {"2"}}, nil},
		"unknown, and not":              {[]checker.Transaction{unknown}, nil, nil},
		"a query between two items":     {[]checker.Transaction{both, each}, lists{"x": {"1"}, "y": {"2"}}, nil},
		"unknown, and partly committed": {[]checker.Transaction{unknown}, lists{"x": {"1"}}, checker.Lost},
		"a lost write":                  {[]checker.Transaction{both}, lists{"x": {"1"}}, checker.Lost},
		"a write that is applied twice": {[]checker.Transaction{txn("T1", nil, lists{"x": {"1"}})}, lists{"x": {"1", "1"}}, checker.Duplicate},
		"a value from nowhere":          {nil, lists{"x": {"1"}}, checker.Garbage},
		"a value of another list":       {[]checker.Transaction{both}, lists{"x": {"1", "2"}, "y": {}}, checker.Garbage},
		"G1a":                           {[]checker.Transaction{aborted, txn("T2", lists{"x": {"1"}}, nil)}, nil, checker.Aborted},
		"G1a, and kept":                 {[]checker.Transaction{aborted}, lists{"x": {"1"}}, checker.Aborted},
		"G1b": {[]checker.Transaction{
			txn("T1", nil, lists{"x": {"1", "2"}}), txn("T2", lists{"x": {"1"}}, nil),
		}, lists{"x": {"1", "2"}}, checker.Intermediate},
		"two orders": {[]checker.Transaction{
			txn("T1", nil, lists{"x": {"1"}}), txn("T2", nil, lists{"x": {"2"}}), txn("T3", lists{"x": {"2"}}, nil),
		}, lists{"x": {"1", "2"}}, checker.Incompatible},
		"G0": {[]checker.Transaction{
			both, txn("T2", nil, lists{"x": {"3"}, "y": {"4"}}),
		}, lists{"x": {"1", "3"}, "y": {"4", "2"}}, checker.WriteCycle},
		"G0 in one list": {[]checker.Transaction{
			txn("T1", nil, lists{"x": {"1", "2"}}), txn("T2", nil, lists{"x": {"3"}}),
		}, lists{"x": {"1", "3", "2"}}, checker.WriteCycle},
		"G1c": {[]checker.Transaction{
			txn("T1", lists{"y": {"2"}}, lists{"x": {"1"}}), txn("T2", lists{"x": {"1"}}, lists{"y": {"2"}}),
		}, lists{"x": {"1"}, "y": {"2"}}, checker.ReadCycle},
		"G-single, a stale item": {[]checker.Transaction{
			both, txn("T2", lists{"x": {"1"}, "y": {}}, nil),
		}, lists{"x": {"1"}, "y": {"2"}}, checker.Single},
		"G-single, a lost update": {[]checker.Transaction{
			txn("T1", lists{"x": {}}, lists{"x": {"1"}}), txn("T2", lists{"x": {}}, lists{"x": {"2"}}),
		}, lists{"x": {"1", "2"}}, checker.Single},
		"G2-item, write skew": {[]checker.Transaction{
			txn("T1", lists{"x": {}}, lists{"y": {"1"}}), txn("T2", lists{"y": {}}, lists{"x": {"2"}}),
		}, lists{"x": {"2"}, "y": {"1"}}, checker.Item},
		"G2-item, long fork": {[]checker.Transaction{
			txn("T1", nil, lists{"x": {"1"}}), txn("T2", nil, lists{"y": {"2"}}),
			txn("T3", lists{"x": {"1"}, "y": {}}, nil), txn("T4", lists{"x": {}, "y": {"2"}}, nil),
		}, lists{"x": {"1"}, "y": {"2"}}, checker.Item},
	} {
		var h checker.Transactions
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
		"an intermediate value": {lists{"x": {"1"}}, checker.Intermediate},
		"an aborted value":      {lists{"z": {"5"}}, checker.Aborted},
		"another order":         {lists{"y": {"4"}}, checker.Incompatible},
	} {
		var h checker.Transactions
		h.Add(txn("T1", nil, lists{"x": {"1", "2"}, "y": {"3"}}))
		h.Add(txn("T2", nil, lists{"y": {"4"}}))
		h.Add(checker.Transaction{Name: "T3", Outcome: checker.Refused, Appends: lists{"z": {"5"}}})
		h.Add(checker.Transaction{Name: "query", Outcome: checker.Done, Reads: tt.reads, Each: true})
		n, err := h.Committed(lists{"x": {"1", "2"}, "y": {"3", "4"}})
		if n != 1 || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d reads, %v, want %v", name, n, err, tt.want)
		}
	}
}
