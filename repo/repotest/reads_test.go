package repotest_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// holds is an entity with a field of some type.
type holds[X any] struct {
	ID string `dynamodbav:"id"`
	X  X      `dynamodbav:"x"`
}

// seconds and others are members of x.
type (
	seconds struct {
		At time.Time `dynamodbav:"at,unixtime"`
	}
	millis struct {
		At table.UnixMilli `dynamodbav:"at"`
	}
	texts struct {
		At string `dynamodbav:"at"`
	}
	whole struct {
		At int64 `dynamodbav:"at"`
	}
	moment struct {
		At time.Time `dynamodbav:"at"`
	}
)

// refused reports whether Golden refuses that a field of type Was becomes one of type Is. The test
// fails if it does not, and an item of the former program is read as another value than want.
func refused[Was, Is any](t *testing.T, stored Was, want Is) bool {
	t.Helper()
	tbl := tabletest.New(t, spec, nil)
	was := expect.Value(repo.New(tbl, repo.Entity[holds[Was]]{Type: "A", Key: func(v holds[Was]) keys.Key { return noteKey(v.ID) }}))(t)
	is := expect.Value(repo.New(tbl, repo.Entity[holds[Is]]{Type: "A", Key: func(v holds[Is]) keys.Key { return noteKey(v.ID) }}))(t)
	path := filepath.Join(t.TempDir(), "stored.json")
	expect.Equal(t, "first", failures(t, path, true, was.Form()), "")
	refuses := failures(t, path, true, is.Form()) != ""
	expect.OK(t, was.Create(t.Context(), &holds[Was]{"1", stored}))
	got, err := is.Get(t.Context(), noteKey("1"))
	if diff := cmp.Diff(want, got.X, cmpopts.EquateApproxTime(0)); !refuses && (err != nil || diff != "") {
		t.Errorf("an item is not read as it was stored: %v %s", err, diff)
	}
	return refuses
}

func TestAFieldHoldsWhatTheFormerOneHasStored(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for name, tt := range map[string]struct {
		refused func(t *testing.T) bool
		want    bool
	}{
		"a fraction":              {func(t *testing.T) bool { return refused[float64, int64](t, 1.5, 0) }, true},
		"a large number":          {func(t *testing.T) bool { return refused[int64, int32](t, 1<<40, 0) }, true},
		"a negative number":       {func(t *testing.T) bool { return refused[int, uint](t, -1, 0) }, true},
		"a large unsigned number": {func(t *testing.T) bool { return refused[uint64, int64](t, 1<<63, 0) }, true},
		"a rounded number":        {func(t *testing.T) bool { return refused[int64, float64](t, 1<<60+1, 0) }, true},
		"a wider number":          {func(t *testing.T) bool { return refused[int32, int64](t, -1<<31, -1<<31) }, false},
		"an unsigned number":      {func(t *testing.T) bool { return refused[uint32, int64](t, 1<<32-1, 1<<32-1) }, false},
		"a number of doubles":     {func(t *testing.T) bool { return refused[int32, float64](t, 1<<30+1, 1<<30+1) }, false},
		"numbers of a list":       {func(t *testing.T) bool { return refused[[]float64, []int](t, []float64{1.5}, nil) }, true},
		"a shorter array":         {func(t *testing.T) bool { return refused[[3]int, [2]int](t, [3]int{1, 2, 3}, [2]int{}) }, true},
		"a list of any length":    {func(t *testing.T) bool { return refused(t, [3]int{1, 2, 3}, []int{1, 2, 3}) }, false},
		"bytes of a length":       {func(t *testing.T) bool { return refused(t, []byte{1, 2, 3, 4}, [3]byte{}) }, true},
		"keys of a map":           {func(t *testing.T) bool { return refused(t, map[string]int{"a": 1}, map[int]int{}) }, true},
		"texts of a map":          {func(t *testing.T) bool { return refused(t, map[int]int{1: 1}, map[string]int{"1": 1}) }, false},
		"a text as a time":        {func(t *testing.T) bool { return refused(t, texts{"x"}, moment{}) }, true},
		"a time as a text":        {func(t *testing.T) bool { return refused(t, moment{at}, texts{"2026-01-02T03:04:05.678Z"}) }, false},
		"milliseconds":            {func(t *testing.T) bool { return refused(t, whole{at.UnixMilli()}, seconds{at}) }, true},
		"milliseconds as seconds": {func(t *testing.T) bool { return refused(t, millis{table.UnixMilli{Time: at}}, seconds{at}) }, true},
		"milliseconds as numbers": {func(t *testing.T) bool { return refused(t, millis{table.UnixMilli{Time: at}}, whole{at.UnixMilli()}) }, false},
		"seconds as numbers":      {func(t *testing.T) bool { return refused(t, seconds{at}, whole{at.Unix()}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "refused", tt.refused(t), tt.want)
		})
	}
}
