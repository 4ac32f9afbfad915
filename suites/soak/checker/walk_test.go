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

func TestWalk(t *testing.T) {
	t.Parallel()
	want := []int{1, 2, 3, 4, 5}
	for name, tt := range map[string]struct {
		pages [][]int
		wrong bool
	}{
		"right":                    {[][]int{{1, 2}, {3, 4}, {5}}, false},
		"an empty page":            {[][]int{{1, 2}, {}, {3, 4, 5}, nil}, false},
		"an item lost":             {[][]int{{1, 2}, {4, 5}}, true},
		"the last item lost":       {[][]int{{1, 2}, {3, 4}}, true},
		"an item twice":            {[][]int{{1, 2}, {2, 3}, {4, 5}}, true},
		"the last item twice":      {[][]int{{1, 2, 3}, {4, 5}, {5}}, true},
		"out of order in a page":   {[][]int{{1, 3, 2}, {4, 5}}, true},
		"pages out of order":       {[][]int{{3, 4}, {1, 2}, {5}}, true},
		"an item of somebody else": {[][]int{{1, 2}, {3, 4}, {6}}, true},
		"nothing":                  {nil, true},
	} {
		found(t, name, checker.Walk(tt.pages, want), tt.wrong)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	want := []string{"a", "b", "b"}
	for name, tt := range map[string]struct {
		have  []string
		wrong bool
	}{
		"right":                       {[]string{"b", "a", "b"}, false},
		"one lost":                    {[]string{"b", "a"}, true},
		"one too many":                {[]string{"b", "a", "b", "a"}, true},
		"one lost and one twice":      {[]string{"a", "a", "b"}, true},
		"one lost and another's gain": {[]string{"a", "b", "c"}, true},
	} {
		found(t, name, checker.Set(tt.have, want), tt.wrong)
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
