package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// finding is what an inspection says of a promise.
type finding struct {
	promise report.Promise
	err     error
}

// look looks at a round that everybody has left.
func (s *round) look(ctx context.Context) ([]finding, error) {
	session, err := s.newSession(&clock{}, false, false)
	if err != nil {
		return nil, err
	}
	i := &inspector{round: s, session: session, table: session.calm.Consistent()}
	for _, look := range []func(context.Context) error{i.members, i.counter, i.requests, i.seats} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	return i.findings, nil
}

// inspect looks at a round and reports what it has found.
func (s *round) inspect(ctx context.Context) error {
	findings, err := s.look(ctx)
	_ = s.reported(findings) // the report has it
	return err
}

// reported puts findings into the report, and returns what is wrong.
func (s *round) reported(findings []finding) error {
	var errs []error
	for _, f := range findings {
		s.report.Check(f.promise, fmt.Sprintf("seed %d, %s", s.Seed, s.name), f.err)
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}

// inspector reads a round without faults.
type inspector struct {
	*round
	session  *session
	table    *table.Table
	findings []finding
}

func (i *inspector) check(p report.Promise, err error) {
	i.findings = append(i.findings, finding{p, err})
}

// find reads an item that may be missing.
func find[T any](ctx context.Context, t *table.Table, key keys.Key) (v T, found bool, err error) {
	v, err = table.Get[T](ctx, t, key)
	if errors.Is(err, table.ErrNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}

// owners are the entities that have a value.
type owners map[string][]string

func (o owners) add(value, owner string) { o[value] = append(o[value], owner) }

// upTo returns the versions from 1.
func upTo(last int64) (versions []int64) {
	for v := range last {
		versions = append(versions, v+1)
	}
	return versions
}

// members checks items, unique e-mails and nicks, and the changes that were
// kept.
func (i *inspector) members(ctx context.Context) error {
	mails, nicks := owners{}, owners{} // by the items that are under them
	for n := range max(roundEmails, roundNicks) {
		mail, nick := fmt.Sprintf("%d@%s", n, i.name), i.nick(n)
		for key, reserve := range map[keys.Key]func(owner string){
			emailKey(mail): func(owner string) { mails.add(mail, owner) },
			nickKey(nick):  func(owner string) { nicks.add(nick, owner) },
		} {
			m, found, err := find[member](ctx, i.table, key)
			if err != nil {
				return err
			}
			if found {
				reserve(m.ID)
			}
		}
	}
	held, called := owners{}, owners{}
	for n := range i.round.members {
		m, found, err := find[nicked](ctx, i.table, memberKey(i.memberID(n)))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		held.add(m.Email, m.ID)
		if m.Nick != "" {
			called.add(m.Nick, m.ID)
		}
		main, err := i.session.read(ctx, []keys.Key{memberKey(m.ID)})
		if err != nil {
			return err
		}
		want := placedWithNick(i.table.Schema(), m, main[memberKey(m.ID)])
		got, err := i.session.read(ctx, slices.Collect(maps.Keys(want)))
		if err != nil {
			return err
		}
		i.check(report.Items, differ(got, want))
		releases, err := newReleases(i.table, i.deleted(n))
		if err != nil {
			return err
		}
		_, err = releases[2].get(ctx, memberKey(m.ID))
		i.check(report.Kept, err)
		if i.deleted(n) {
			continue
		}
		if err := i.changes(ctx, m); err != nil {
			return err
		}
	}
	i.check(report.Unique, checker.Equal(held, mails))
	i.check(report.Unique, checker.Equal(called, nicks))
	return nil
}

// changes checks a member against the changes that led to it: there is one for each
// version, and what the last one of a release has set is there, whatever the other
// release has written since.
func (i *inspector) changes(ctx context.Context, m nicked) error {
	changes, err := table.Collect(table.All[change](ctx, i.table, table.Query{
		PK: memberPrefix.PK(m.ID), Range: keys.Prefix(changeType).All(),
	}))
	if err != nil {
		return err
	}
	versions := make([]int64, len(changes))
	var by, nick string
	for j, c := range changes { // by version
		versions[j], by = c.Of, c.By
		if c.Release > 1 {
			nick = c.Nick
		}
	}
	i.check(report.Gapless, checker.Equal(versions, upTo(m.Version)))
	var complaint error
	if m.By != by || m.Nick != nick {
		complaint = fmt.Errorf("%s: written by %q with nick %q, want %q with %q", m.ID, m.By, m.Nick, by, nick)
	}
	i.check(report.Kept, complaint)
	return nil
}

// receipts returns a counter and its receipts.
func (i *inspector) receipts(ctx context.Context, name string) (counter int64, receipts map[string]int64, err error) {
	key := i.counterKey(name)
	receipts = map[string]int64{}
	for d, err := range table.All[doc](ctx, i.table, table.Query{PK: key.PK}) {
		if err != nil {
			return 0, nil, err
		}
		if d.SK == key.SK {
			counter = d.N
			continue
		}
		parts, err := keys.Parse(d.SK)
		if err != nil {
			return 0, nil, err
		}
		receipts[parts[1]] = d.N
	}
	return counter, receipts, nil
}

func (i *inspector) counter(ctx context.Context) error {
	counter, receipts, err := i.receipts(ctx, "plain")
	if err == nil {
		i.check(report.Counters, checker.Counted(counter, receipts, i.acknowledged, i.refused))
	}
	return err
}

// requests checks that each request had one effect at most, repeats it, and
// checks that it had exactly one then, and that all results are the same.
func (i *inspector) requests(ctx context.Context) error {
	store, err := idempotency.New(i.table, nil)
	if err != nil {
		return err
	}
	for n := range roundRequests {
		key := fmt.Sprintf("r%d", n)
		before, _, err := i.receipts(ctx, key)
		if err != nil {
			return err
		}
		result, err := i.request(ctx, store, key, "inspector")
		if err != nil {
			return err
		}
		results := append(i.results[key], result)
		counter, receipts, err := i.receipts(ctx, key)
		if err != nil {
			return err
		}
		var complaint error
		if before > 1 || counter != 1 || len(receipts) != 1 || len(i.results[key]) > 0 && before != 1 {
			complaint = fmt.Errorf("%d effects, %d after repeating it, %d receipts, %d results", before, counter, len(receipts), len(results))
		}
		i.check(report.Once, complaint)
		for by := range receipts {
			results = append(results, strings.ToUpper(by))
		}
		i.check(report.Result, checker.Equal(results, slices.Repeat(results[:1], len(results))))
	}
	return nil
}
