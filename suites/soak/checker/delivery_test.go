package checker_test

import (
	"slices"
	"testing"

	"github.com/singletable/singletable/suites/soak/checker"
)

func change(item, sequence, before, after string) checker.Delivery {
	return checker.Delivery{Item: item, Sequence: sequence, Old: before, New: after}
}

// delivered are the changes of two items, one of which is gone, with a repetition.
var delivered = []checker.Delivery{
	change("a", "1", "", "x"), change("b", "2", "", "u"), change("a", "3", "x", "y"),
	change("b", "2", "", "u"), change("a", "3", "x", "y"), change("b", "4", "u", ""),
	change("a", "5", "y", "x"),
}

var (
	stored  = map[string]string{"a": "x"}
	effects = map[string][]string{"a": {"1", "3", "5"}, "b": {"2", "4"}}
)

func without(i ...int) []checker.Delivery {
	var kept []checker.Delivery
	for j, d := range delivered {
		if !slices.Contains(i, j) {
			kept = append(kept, d)
		}
	}
	return kept
}

func TestDelivered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		all    []checker.Delivery
		stored map[string]string
		wrong  bool
	}{
		"right":                    {delivered, stored, false},
		"nothing":                  {nil, nil, false},
		"once each":                {without(3, 4), stored, false},
		"the first is skipped":     {without(0), stored, true},
		"one is skipped":           {without(2, 4), stored, true},
		"the last is skipped":      {without(6), stored, true},
		"a deletion is skipped":    {without(5), stored, true},
		"an item is skipped":       {delivered, map[string]string{"a": "x", "c": "z"}, true},
		"one overtakes another":    {append(without(2, 4, 6), delivered[6], delivered[2]), stored, true},
		"one too many at the end":  {append(without(), change("a", "6", "x", "z")), stored, true},
		"a change of another item": {append(without(), change("c", "6", "", "z")), stored, true},
	} {
		found(t, name, checker.Delivered(tt.all, tt.stored), tt.wrong)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		effects map[string][]string
		wrong   bool
	}{
		"right":                    {effects, false},
		"one is missing":           {map[string][]string{"a": {"1", "5"}, "b": {"2", "4"}}, true},
		"all of one are missing":   {map[string][]string{"a": {"1", "3", "5"}}, true},
		"one is doubled":           {map[string][]string{"a": {"1", "3", "3", "5"}, "b": {"2", "4"}}, true},
		"in another order":         {map[string][]string{"a": {"3", "1", "5"}, "b": {"2", "4"}}, true},
		"one without a delivery":   {map[string][]string{"a": {"1", "3", "5", "6"}, "b": {"2", "4"}}, true},
		"an item without delivery": {map[string][]string{"a": {"1", "3", "5"}, "b": {"2", "4"}, "c": {"7"}}, true},
	} {
		found(t, name, checker.Equal(tt.effects, checker.Effects(delivered)), tt.wrong)
	}
}

func TestTold(t *testing.T) {
	t.Parallel()
	left := func(text string) string { return text }
	found(t, "right", checker.Told(delivered, left, []string{"x", "y"}, []string{"v"}), false)
	found(t, "acknowledged, not delivered", checker.Told(delivered, left, []string{"x", "v"}, nil), true)
	found(t, "refused, delivered", checker.Told(delivered, left, nil, []string{"u"}), true)
}

func TestWritten(t *testing.T) {
	t.Parallel()
	var h checker.History
	for value, outcome := range map[string]checker.Outcome{"a": checker.Done, "b": checker.Exists, "c": checker.Unknown} {
		h.Begin(0, checker.Call{Verb: checker.Create, Value: value})(checker.Response{Outcome: outcome})
	}
	h.Begin(0, checker.Call{Verb: checker.Get})(checker.Response{Outcome: checker.Done})
	done, refused := h.Written()
	if !slices.Equal(done, []string{"a"}) || !slices.Equal(refused, []string{"b"}) {
		t.Errorf("done %q, refused %q", done, refused)
	}
}
