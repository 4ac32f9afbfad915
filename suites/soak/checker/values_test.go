package checker_test

import (
	"testing"

	"github.com/singletable/singletable/suites/soak/checker"
)

func TestGapless(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		versions []int64
		last     int64
		wrong    bool
	}{
		"right":              {[]int64{3, 1, 2}, 3, false},
		"none yet":           {nil, 0, false},
		"a gap":              {[]int64{1, 3}, 3, true},
		"a gap at the start": {[]int64{2, 3}, 3, true},
		"one twice":          {[]int64{1, 2, 2}, 3, true},
		"the last missing":   {[]int64{1, 2}, 3, true},
		"one too many":       {[]int64{1, 2, 3}, 2, true},
		"version 0":          {[]int64{0, 1}, 1, true},
	} {
		found(t, name, checker.Gapless(tt.versions, tt.last), tt.wrong)
	}
}

func TestUnique(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reserved, held map[string]string
		wrong          bool
	}{
		"right":               {map[string]string{"x": "ana"}, map[string]string{"ana": "x"}, false},
		"nobody has any":      {nil, nil, false},
		"two have one":        {map[string]string{"x": "ana"}, map[string]string{"ana": "x", "bob": "x"}, true},
		"not reserved":        {nil, map[string]string{"ana": "x"}, true},
		"reserved for nobody": {map[string]string{"x": "ana"}, nil, true},
		"not let go":          {map[string]string{"x": "ana", "y": "ana"}, map[string]string{"ana": "y"}, true},
	} {
		found(t, name, checker.Unique(tt.reserved, tt.held), tt.wrong)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	found(t, "no result", checker.Same[string](nil), false)
	found(t, "equal results", checker.Same([]string{"a", "a"}), false)
	found(t, "another result", checker.Same([]string{"a", "a", "b"}), true)
}

func TestCounted(t *testing.T) {
	t.Parallel()
	receipts := map[string]int64{"a": 2, "b": 3}
	for name, tt := range map[string]struct {
		counter               int64
		acknowledged, refused []string
		wrong                 bool
	}{
		"right":                     {5, []string{"a"}, []string{"c"}, false},
		"counted twice":             {7, nil, nil, true},
		"not counted":               {3, nil, nil, true},
		"a write lost":              {5, []string{"a", "c"}, nil, true},
		"a refused one carried out": {5, []string{"a"}, []string{"b"}, true},
	} {
		found(t, name, checker.Counted(tt.counter, receipts, tt.acknowledged, tt.refused), tt.wrong)
	}
}
