package checker_test

import (
	"testing"

	"github.com/singletable/singletable/suites/soak/checker"
)

// found fails the test unless a check says what it should.
func found(t *testing.T, what string, err error, wrong bool) {
	t.Helper()
	if (err != nil) != wrong {
		t.Errorf("%s: %v, want an error: %t", what, err, wrong)
	}
}

// What a walk, versions, owners of unique values, results and projections look like when
// they are wrong.
func TestEqual(t *testing.T) {
	t.Parallel()
	type list = []int
	type owners = map[string][]string
	for name, tt := range map[string]struct {
		have, want any
		wrong      bool
	}{
		"equal lists":              {list{1, 2, 3}, list{1, 2, 3}, false},
		"two empty lists":          {list{}, list(nil), false},
		"an item lost":             {list{1, 3}, list{1, 2, 3}, true},
		"the last item lost":       {list{1, 2}, list{1, 2, 3}, true},
		"an item twice":            {list{1, 2, 2, 3}, list{1, 2, 3}, true},
		"out of order":             {list{1, 3, 2}, list{1, 2, 3}, true},
		"an item of somebody else": {list{1, 2, 4}, list{1, 2, 3}, true},
		"nothing":                  {list(nil), list{1}, true},
		"equal owners":             {owners{"x": {"ana"}}, owners{"x": {"ana"}}, false},
		"nobody has any":           {owners{}, owners(nil), false},
		"two have one":             {owners{"x": {"ana", "bob"}}, owners{"x": {"ana"}}, true},
		"not reserved":             {owners{"x": {"ana"}}, owners{}, true},
		"reserved for nobody":      {owners{}, owners{"x": {"ana"}}, true},
		"not let go":               {owners{"y": {"ana"}}, owners{"x": {"ana"}, "y": {"ana"}}, true},
		"another result":           {"a", "b", true},
		"not deleted":              {"u", "", true},
	} {
		found(t, name, checker.Equal(tt.have, tt.want), tt.wrong)
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	must, may := []int{1, 2}, []int{1, 2, 3}
	for name, tt := range map[string]struct {
		have  []int
		wrong bool
	}{
		"the least":                {[]int{2, 1}, false},
		"the most":                 {[]int{1, 2, 3}, false},
		"one lost":                 {[]int{1, 3}, true},
		"one twice":                {[]int{1, 2, 1}, true},
		"one of the others twice":  {[]int{1, 2, 3, 3}, true},
		"an item of somebody else": {[]int{1, 2, 4}, true},
		"nothing":                  {nil, true},
	} {
		found(t, name, checker.Once(tt.have, must, may), tt.wrong)
	}
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
