package core

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// importChunk is how many rows are published in a transaction: up to five ops each and
// the task's, and DynamoDB takes 100. AWS: "Constraints in Amazon DynamoDB", Amazon
// DynamoDB Developer Guide.
const importChunk = 16

// waiting is a row of an import that is next.
type waiting struct {
	Row
	// reason says why it cannot be published, if that is known.
	reason string
	// leave takes it off the temporary area. A row of a file has none.
	leave []table.Op
	// from and to are the positions in the file before and after it.
	from, to string
}

// importSome publishes the first rows of the temporary area: parents before what was
// staged below them.
func (t Tenant) importSome(ctx context.Context, id string) error {
	page, err := t.rows.Query(ctx, table.Query{
		PK: importPrefix.PK(t.caller.Tenant, id), Range: rowPrefix.All(), Limit: importChunk, Consistent: true,
	})
	if err != nil || len(page.Items) == 0 {
		return err
	}
	there := expression.AttributeExists(expression.Name("number"))
	rows := make([]waiting, len(page.Items))
	for i, row := range page.Items {
		// It fails for a row that has left, and with it everything else in the transaction.
		//mutants:guard cqrs: a row is published only while it waits | TestScheduleImport | there => there.Or(expression.AttributeNotExists(expression.Name("number")))
		rows[i] = waiting{Row: row, leave: []table.Op{table.Delete(row.Key()).If(there).WithName(opRow)}}
	}
	err = t.importRows(ctx, id, rows)
	if failed(err, opRow) {
		return nil // another process has published some
	}
	return err
}

const opRow = "row"

// importRows publishes rows, or sets them aside.
func (t Tenant) importRows(ctx context.Context, id string, rows []waiting) error {
	err := t.importTogether(ctx, id, rows)
	if err == nil || !refused(err) {
		return err
	}
	// One row is enough to refuse them all: find out which.
	for _, row := range rows {
		err := t.importTogether(ctx, id, []waiting{row})
		if err != nil && refused(err) {
			err = explain(err)
			if !errors.Is(err, table.ErrStale) && table.Classify(err) != table.Permanent {
				return err
			}
			row.reason = reason(err)
			if !errors.Is(err, table.ErrStale) && !errors.Is(err, ErrNoParent) {
				row.Change = Change{Ref: row.Change.Ref} // the rest may be what cannot be stored
			}
			err = t.importTogether(ctx, id, []waiting{row})
		}
		if err != nil && !failed(err, opRow) {
			return err
		}
	}
	return nil
}

// importTogether publishes rows in one transaction, and sets those with a reason aside.
func (t Tenant) importTogether(ctx context.Context, id string, rows []waiting) error {
	ops := []table.Op{t.count(id, rows)}
	for _, row := range rows {
		publish := t.rejects.CreateOps(new(Reject{Row: row.Row, Reason: row.reason}))
		if row.reason == "" {
			_, publish = t.as(row.caller()).publishOps(row.Change, Record{})
		}
		ops = append(append(ops, publish...), row.leave...)
	}
	return t.turn(ctx, ops...)
}

// count returns the op that counts rows. For those of a file, it moves the task's position
// behind them, and fails unless that is before them.
func (t Tenant) count(id string, rows []waiting) table.Op {
	rejected := 0
	for _, row := range rows {
		if row.reason != "" {
			rejected++
		}
	}
	first, last := rows[0], rows[len(rows)-1]
	if last.to == "" {
		return t.progress(id, len(rows)-rejected, rejected)
	}
	u := expression.Set(expression.Name("position"), expression.Value(last.to)).
		Add(expression.Name("total"), expression.Value(len(rows))).
		Add(expression.Name("done"), expression.Value(len(rows)-rejected)).
		Add(expression.Name("rejected"), expression.Value(rejected))
	return t.step(id, u, Running).If(table.If("position = ?", first.from))
}

// refused reports whether a transaction failed for a reason that lies in its
// rows.
func refused(err error) bool {
	if errors.Is(err, table.ErrOutcomeUnknown) || errors.Is(err, ErrNotRunning) || failed(err, opRow) {
		return false
	}
	return errors.Is(err, table.ErrConflict) || table.Classify(err) == table.Permanent
}

// reason says why a row was set aside, in words meant for people.
func reason(err error) string {
	_, ofTable := errors.AsType[*table.Error](err)
	switch {
	case errors.Is(err, table.ErrStale):
		return "the record exists already"
	case errors.Is(err, ErrNoParent):
		return "the parent does not exist"
	case errors.Is(err, ErrInvalid):
		return err.Error()
	case ofTable:
		return "the row cannot be stored"
	case errors.Is(err, keys.ErrInvalid):
		return "a code is empty, too long or not text"
	}
	return err.Error()
}

// Rejected reads a page of the rows of an import that were set aside.
func (t Tenant) Rejected(ctx context.Context, id string, limit int, after string) (table.Page[Reject], error) {
	return t.rejects.Query(ctx, table.Query{
		PK: importPrefix.PK(t.caller.Tenant, id), Range: rejectPrefix.All(), Limit: limit, After: after, Scope: t.caller.Tenant,
	})
}
