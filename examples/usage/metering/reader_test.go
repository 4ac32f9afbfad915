package metering_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// fill writes the counters of a meter as messages would have, in bulk.
func (f *fixture) fill(t *testing.T, m metering.Meter, counts map[time.Time]int64) {
	t.Helper()
	days := map[time.Time]int64{}
	var ops []table.Op
	put := func(kind keys.Prefix, at time.Time, count int64) {
		ops = append(ops, table.Put(keys.Key{PK: m.PK(), SK: kind.SK(keys.Time(at))}, map[string]any{
			"count": count, "expiresAt": at.Add(retention).Unix(), "entityType": "COUNTER",
		}))
	}
	for at, count := range counts {
		put(metering.Hour, at, count)
		days[at.Truncate(day)] += count
	}
	for at, count := range days {
		put(metering.Day, at, count)
	}
	check.OK(t, f.table.BatchWrite(t.Context(), ops...))
}

func TestUsageIsTheSumOfTheHours(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	random := rand.New(rand.NewPCG(3, 4))
	counts := map[time.Time]int64{}
	for range 150 {
		counts[ten.Add(-time.Duration(random.IntN(20*24))*time.Hour)] = 1 + random.Int64N(100)
	}
	f.fill(t, user, counts)
	f.fill(t, workspace, map[time.Time]int64{ten: 1}) // of somebody else
	for range 60 {
		from := ten.Add(-time.Duration(random.IntN(22*24)) * time.Hour)
		to := from.Add(time.Duration(random.IntN(22*24)) * time.Hour)
		var want int64
		for at, count := range counts {
			if !at.Before(from) && !at.After(to) {
				want += count
			}
		}
		q := metering.Question{Meter: user, From: from, To: to}
		u, err := f.Usage(t.Context(), q)
		hourly, errHourly := f.Hourly(t.Context(), q)
		if err != nil || errHourly != nil || u.Total != want || hourly.Total != want {
			t.Errorf("%s to %s: want %d, have %d and by the hour %d; %v %v", from, to, want, u.Total, hourly.Total, err, errHourly)
		}
	}
}

func TestPartsAreReadInParallel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(t, workspace, map[time.Time]int64{
		at("2024-01-13T22"): 1, at("2024-01-13T23"): 2, at("2024-01-14T05"): 4, at("2024-01-14T06"): 8, at("2024-01-15T01"): 16, at("2024-01-15T02"): 32,
	})
	// No query gets a response before all three are in flight.
	var together sync.WaitGroup
	together.Add(3)
	f.faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		together.Done()
		all := make(chan struct{})
		go func() { together.Wait(); close(all) }()
		return tabletest.Block(all)(r, next)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	u := check.Must(f.Usage(ctx, metering.Question{Meter: workspace, From: at("2024-01-13T23"), To: at("2024-01-15T01")}))(t)
	var got []metering.PartUsage
	for _, p := range u.Parts {
		if p.Stats.Items != len(p.Periods) || p.Stats.Requests != 1 || p.Stats.Capacity == 0 {
			t.Errorf("%+v", p.Stats)
		}
		p.Stats = table.Stats{}
		got = append(got, p)
	}
	if diff := cmp.Diff([]metering.PartUsage{
		{Part: metering.Part{Kind: metering.Hour, From: at("2024-01-13T23"), To: at("2024-01-14T00")}, Total: 2, Periods: []metering.Period{{Start: at("2024-01-13T23"), Count: 2}}},
		{Part: metering.Part{Kind: metering.Day, From: at("2024-01-14T00"), To: at("2024-01-15T00")}, Total: 12, Periods: []metering.Period{{Start: at("2024-01-14T00"), Count: 12}}},
		{Part: metering.Part{Kind: metering.Hour, From: at("2024-01-15T00"), To: at("2024-01-15T02")}, Total: 16, Periods: []metering.Period{{Start: at("2024-01-15T01"), Count: 16}}},
	}, got); diff != "" {
		t.Error(diff)
	}
	if u.Total != 30 {
		t.Errorf("total %d", u.Total)
	}
}

func TestAPartThatFailsFailsTheCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.faults.Always("Query", tabletest.Match(func(r tabletest.Request) bool {
		return strings.Contains(string(r.Body), "DAY#")
	}, tabletest.Throttle()))
	u, err := f.Usage(t.Context(), metering.Question{Meter: workspace, From: ten, To: ten.Add(3 * day)})
	if !errors.Is(err, table.ErrThrottled) || u.Parts != nil {
		t.Errorf("%+v %v", u, err)
	}
}

// The longest question about the longest identifiers is three requests.
func TestTheLongestQuestionIsThreeRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := strings.Repeat("x", 128)
	m := metering.Meter{WorkspaceID: long, UserID: long, MetricID: long}
	counts := map[time.Time]int64{}
	to := ten
	from := to.Add(-rangeDays * day)
	for at := from; !at.After(to); at = at.Add(day) {
		counts[at] = 1_000_000_000_000
	}
	f.fill(t, m, counts)
	u, err := f.Usage(t.Context(), metering.Question{Meter: m, From: from, To: to})
	if err != nil || u.Total != (rangeDays+1)*1_000_000_000_000 {
		t.Errorf("total %d: %v", u.Total, err)
	}
	check.Equal(t, "requests", len(f.faults.Requests("Query")), 3)
}
