package workload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// series is an entity that transactions append to. All series of a history are in
// one partition.
type series struct {
	History  string   `dynamodbav:"history"`
	Name     string   `dynamodbav:"name"`
	Values   []string `dynamodbav:"values"`
	Revision string   `dynamodbav:"revision"`
}

const seriesPrefix keys.Prefix = "SERIES"

func (s series) key() keys.Key {
	return keys.Key{PK: seriesPrefix.PK(s.History), SK: seriesPrefix.SK(keys.Str(s.Name))}
}

var seriesEntity = repo.Entity[series]{
	Type: "SERIES", Key: series.key, Indexes: repo.Indexes[series]{listIndex: series.key}, Version: "revision",
}

const (
	perHistory   = 30 // transactions of a worker
	seriesNumber = 3
)

// transactionPhase has all workers run transactions over the same entities, and
// checks the history of each round of them.
func (w *world) transactionPhase(ctx context.Context, b budget) error {
	b.enough = func() bool {
		return w.report.Complete([]report.Promise{report.Serializable, report.Committed}, nil)
	}
	for n := 0; b.left(n*perHistory) && ctx.Err() == nil; n++ {
		if err := w.transactions(ctx, n); err != nil {
			return fmt.Errorf("seed %d, history %d: %w", w.Seed, n, err)
		}
	}
	return nil
}

// transactions runs one history and checks it.
func (w *world) transactions(ctx context.Context, n int) error {
	h := &checker.Transactions{}
	name := strconv.Itoa(n)
	calm, err := newTransactor(w.newWorker(0), name, h)
	if err != nil {
		return err
	}
	for _, s := range calm.all {
		if err := calm.series.Create(ctx, &s); err != nil {
			return err
		}
	}
	err = w.parallel(w.Workers, func(id int) error {
		t, err := newTransactor(w.newWorker(id), name, h)
		if err != nil {
			return err
		}
		for i := range perHistory {
			t.transact(ctx, n*perHistory+i)
		}
		return nil
	})
	final := map[string][]string{}
	for _, s := range calm.all {
		stored, getErr := calm.series.Get(ctx, s.key())
		final[s.Name], err = stored.Values, errors.Join(err, getErr)
	}
	if err != nil {
		return err
	}
	where := fmt.Sprintf("seed %d, history %d", w.Seed, n)
	w.report.Check(report.Serializable, where, h.Serializable(final))
	if reads, err := h.Committed(final); reads > 0 {
		w.report.Check(report.Committed, where, err)
	}
	return nil
}

// transactor is a worker that runs transactions.
type transactor struct {
	*worker
	history *checker.Transactions
	series  *repo.Repo[series]
	all     []series
}

func newTransactor(w *worker, history string, h *checker.Transactions) (*transactor, error) {
	w.lot = 1 << 60
	if err := w.renew(w.id); err != nil {
		return nil, err
	}
	t := &transactor{worker: w, history: h}
	for i := range seriesNumber {
		t.all = append(t.all, series{History: history, Name: strconv.Itoa(i), Values: []string{}})
	}
	var err error
	t.series, err = repo.New(t.table.Consistent(), seriesEntity)
	return t, err
}

// transact runs one transaction.
func (t *transactor) transact(ctx context.Context, op int) {
	t.draw(op)
	switch t.r.IntN(12) {
	case 0, 1, 2:
		_, _ = t.read(ctx, t.some(2))
	case 3, 4:
		t.appendBlindly(ctx, t.some(2))
	case 5:
		t.appendBlindly(ctx, t.some(1)[:1])
	case 6, 7, 8:
		t.readAndAppend(ctx, t.some(2))
	case 9:
		t.updateWith(ctx, t.some(2))
	case 10:
		t.get(ctx, t.some(1)[0])
	default:
		t.readEach(ctx)
	}
}

// some draws at least n of the series.
func (t *transactor) some(n int) []series {
	var some []series
	for _, i := range t.r.Perm(len(t.all))[:n+t.r.IntN(len(t.all)-n+1)] {
		some = append(some, t.all[i])
	}
	return some
}

// values are what an operation appends to a series: one value, or two at once.
func (t *transactor) values(s series) []string {
	values := []string{t.by + "/" + s.Name}
	if t.r.IntN(3) == 0 {
		values = append(values, values[0]+"b")
	}
	return values
}

// record runs a transaction under faults and adds it to the history.
func (t *transactor) record(ctx context.Context, name string, txn checker.Transaction, run func(context.Context) (reads map[string][]string, err error)) error {
	met, err := t.try(ctx, name, t.faults(), func(ctx context.Context) (err error) {
		txn.Reads, err = run(ctx)
		return err
	})
	txn.Name = t.by + " " + name
	switch {
	case err == nil:
		txn.Outcome = checker.Done
	case errors.Is(err, table.ErrOutcomeUnknown):
		txn.Outcome, txn.Reads = checker.Unknown, nil
	default:
		txn.Outcome, txn.Reads = checker.Refused, nil
	}
	t.history.Add(txn)
	contended := errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrConditionFailed)
	if err != nil && len(met) == 0 && !contended {
		t.check(report.Explained, fmt.Errorf("%s: %w", name, err))
	}
	return err
}

func keysOf(some []series) []keys.Key {
	var ks []keys.Key
	for _, s := range some {
		ks = append(ks, s.key())
	}
	return ks
}

func readsOf(some []series) map[string][]string {
	reads := map[string][]string{}
	for _, s := range some {
		reads[s.Name] = s.Values
	}
	return reads
}

// read reads series in one transaction, and returns them.
func (t *transactor) read(ctx context.Context, some []series) (found []series, err error) {
	err = t.record(ctx, "TransactGet", checker.Transaction{}, func(ctx context.Context) (map[string][]string, error) {
		got, err := table.TransactGet[series](ctx, t.table, keysOf(some))
		found = slices.Collect(maps.Values(got))
		return readsOf(found), err
	})
	return found, err
}

// get reads one series.
func (t *transactor) get(ctx context.Context, s series) {
	_ = t.record(ctx, "repo Get", checker.Transaction{}, func(ctx context.Context) (map[string][]string, error) {
		found, err := t.series.Get(ctx, s.key())
		return readsOf([]series{found}), err
	})
}

// appendOp returns the op that appends to a series whatever it holds.
func appendOp(s series, values []string) table.Op {
	name := expression.Name("values")
	return table.Update(s.key(), expression.
		Set(name, expression.ListAppend(name, expression.Value(values))).
		Set(expression.Name("revision"), expression.Value(rand.Text())))
}

// appendBlindly appends without reading, to several series in one transaction, or to
// one without.
func (t *transactor) appendBlindly(ctx context.Context, some []series) {
	txn := checker.Transaction{Appends: map[string][]string{}}
	var ops []table.Op
	for _, s := range some {
		txn.Appends[s.Name] = t.values(s)
		ops = append(ops, appendOp(s, txn.Appends[s.Name]))
	}
	name := "Transact"
	if len(ops) == 1 {
		name = "Do"
	}
	_ = t.record(ctx, name, txn, func(ctx context.Context) (map[string][]string, error) {
		if len(ops) == 1 {
			return nil, t.table.Do(ctx, ops[0])
		}
		return nil, t.table.Transact(ctx, ops...)
	})
}

// readAndAppend reads series and appends to some of them, provided that all are
// as they were read.
func (t *transactor) readAndAppend(ctx context.Context, some []series) {
	found, err := t.read(ctx, some)
	if err != nil {
		return
	}
	txn := checker.Transaction{Appends: map[string][]string{}}
	var ops []table.Op
	for i, old := range found {
		if i > 0 && t.r.IntN(2) == 0 {
			same := expression.Name("revision").Equal(expression.Value(old.Revision))
			ops = append(ops, table.Check(old.key(), same))
			continue
		}
		next := old
		txn.Appends[old.Name] = t.values(old)
		next.Values = append(slices.Clip(old.Values), txn.Appends[old.Name]...)
		ops = append(ops, t.series.UpdateOps(old, &next)...)
	}
	_ = t.record(ctx, "Transact of repo UpdateOps", txn, func(ctx context.Context) (map[string][]string, error) {
		return readsOf(found), t.table.Transact(ctx, ops...)
	})
}

// updateWith changes one series, and appends to the others with it.
func (t *transactor) updateWith(ctx context.Context, some []series) {
	txn := checker.Transaction{Appends: map[string][]string{}}
	var others []table.Op
	for i, s := range some {
		txn.Appends[s.Name] = t.values(s)
		if i > 0 {
			others = append(others, appendOp(s, txn.Appends[s.Name]))
		}
	}
	_ = t.record(ctx, "repo UpdateWith", txn, func(ctx context.Context) (map[string][]string, error) {
		var read series
		_, err := t.series.UpdateWith(ctx, some[0].key(), func(s *series) ([]table.Op, error) {
			read = *s
			s.Values = append(slices.Clip(s.Values), txn.Appends[s.Name]...)
			return others, nil
		})
		return readsOf([]series{read}), err
	})
}

// readEach reads series by an operation that is no transaction.
func (t *transactor) readEach(ctx context.Context) {
	q := table.Query{PK: t.all[0].key().PK}
	reading := []struct {
		name string
		read func(ctx context.Context) ([]series, error)
	}{
		{"All", func(ctx context.Context) ([]series, error) {
			return table.Collect(table.All[series](ctx, t.table, q))
		}},
		{"All", func(ctx context.Context) ([]series, error) {
			indexed := q
			indexed.Index = listIndex
			return table.Collect(table.All[series](ctx, t.table, indexed))
		}},
		{"BatchGet", func(ctx context.Context) ([]series, error) {
			found, err := table.BatchGet[series](ctx, t.table, keysOf(t.all))
			return slices.Collect(maps.Values(found)), err
		}},
	}[t.r.IntN(3)]
	_ = t.record(ctx, reading.name, checker.Transaction{Each: true}, func(ctx context.Context) (map[string][]string, error) {
		found, err := reading.read(ctx)
		return readsOf(found), err
	})
}
