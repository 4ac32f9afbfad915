package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/hedge"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// warm is the number of pages before a measurement.
const warm = 20

// connections counts those that pages open.
func (m *measurement) connections(ctx context.Context) error {
	for _, shards := range []int{16, 32} {
		for _, way := range []struct {
			name            string
			wrapped, hedged bool
		}{{"the SDK's default pool", true, false}, {"the table's", false, false}, {"the hedge's", false, true}} {
			var opened figures
			for range m.rounds {
				r, err := m.latest(shards, way.wrapped, way.hedged)
				if err != nil {
					return err
				}
				if _, err := r.times(ctx, warm); err != nil {
					return err
				}
				before, hedges := m.accepted.Load(), r.stats().Hedges
				if _, err := r.times(ctx, m.pages/4); err != nil {
					return err
				}
				opened.add(float64(m.accepted.Load()-before-(r.stats().Hedges-hedges)) / float64(m.pages/4))
			}
			line(fmt.Sprintf("connections a page, %d shards, %s (less one a hedge)", shards, way.name), opened)
		}
	}
	return nil
}

// fanOut compares a page over 16 shards with one query.
func (m *measurement) fanOut(ctx context.Context) error {
	one, err := m.latest(1, false, false)
	if err != nil {
		return err
	}
	all, err := m.latest(16, false, false)
	if err != nil {
		return err
	}
	before, err := m.latest(16, true, false)
	if err != nil {
		return err
	}
	var ratio, ratioBefore figures
	for i := range 1 + m.rounds {
		var times [3][]time.Duration
		for j, r := range []*reader{one, all, before} {
			if times[j], err = r.times(ctx, m.pages/4); err != nil {
				return err
			}
		}
		if i > 0 { // the first is for connections
			ratio.ratio(median(times[1]), median(times[0]))
			ratioBefore.ratio(median(times[2]), median(times[0]))
		}
	}
	line("median of Latest(10) over 16 shards, by that of one query", ratio)
	line("… with the SDK's default pool", ratioBefore)
	return nil
}

// tail compares the latencies with one query of a hundred late and without.
func (m *measurement) tail(ctx context.Context) error {
	plain, err := m.latest(16, false, false)
	if err != nil {
		return err
	}
	hedged, err := m.latest(16, false, true)
	if err != nil {
		return err
	}
	var without, with, calm, calmMedian, extra, calmExtra figures
	for i := range 1 + m.rounds {
		quiet, err := plain.times(ctx, m.pages)
		if err != nil {
			return err
		}
		before := hedged.stats()
		calmHedged, err := hedged.times(ctx, m.pages)
		if err != nil {
			return err
		}
		calmShare := hedged.share(before)
		m.fault.Store(int64(someLate))
		late, err := plain.times(ctx, m.pages/4)
		if err != nil {
			return err
		}
		before = hedged.stats()
		lateHedged, err := hedged.times(ctx, m.pages)
		if err != nil {
			return err
		}
		m.fault.Store(int64(none))
		if i == 0 {
			continue
		}
		without.ratio(p99(late), p99(quiet))
		with.ratio(p99(lateHedged), p99(quiet))
		calm.ratio(p99(calmHedged), p99(quiet))
		calmMedian.ratio(median(calmHedged), median(quiet))
		calmExtra.add(calmShare)
		extra.add(hedged.share(before))
	}
	line("p99 of Latest(10), 1 % of queries 300 ms late, by that without", without)
	line("… hedged", with)
	line("… hedges of queries", extra)
	line("p99 of Latest(10), nothing late, hedged, by not hedged", calm)
	line("… median", calmMedian)
	line("… hedges of queries", calmExtra)
	return nil
}

// outage counts the hedges when all queries are late, and when all fail, among all
// since the client was made.
func (m *measurement) outage(ctx context.Context) error {
	for _, f := range []struct {
		name string
		fault
	}{{"all late", allLate}, {"all failing", allFailing}} {
		var extra figures
		for range m.rounds {
			r, err := m.latest(16, false, true)
			if err != nil {
				return err
			}
			if _, err := r.times(ctx, warm); err != nil {
				return err
			}
			m.fault.Store(int64(f.fault))
			for range m.pages / 16 {
				if err := r.read(ctx); (err != nil) != (f.fault == allFailing) {
					return errors.Join(fmt.Errorf("%s: unexpected outcome", f.name), err)
				}
			}
			m.fault.Store(int64(none))
			extra.add(r.share(hedge.Stats{}))
		}
		line("hedges of queries, "+f.name, extra)
	}
	return nil
}
