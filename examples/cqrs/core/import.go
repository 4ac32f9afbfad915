package core

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/table"
)

// importChunk is how many rows are published in a transaction: up to five ops each and
// the task's, and DynamoDB takes 100.
const importChunk = 16

// importSome publishes the first rows of the temporary area: parents before what was
// staged below them.
func (t Tenant) importSome(ctx context.Context, id string) error {
	page, err := t.rows.Query(ctx, table.Query{
		PK: importPrefix.PK(t.caller.Tenant, id), Range: rowPrefix.All(), Limit: importChunk, Consistent: true,
	})
	if err != nil || len(page.Items) == 0 {
		return err
	}
	err = t.importTogether(ctx, id, page.Items)
	if err == nil || failed(err, opRow) {
		return nil // failed(opRow): another process has published some
	}
	if !refused(err) {
		return err
	}
	// One row is enough to refuse them all: find out which.
	for _, row := range page.Items {
		if err := t.importOne(ctx, id, row); err != nil {
			return err
		}
	}
	return nil
}

const opRow = "row"

// importTogether publishes rows in one transaction.
func (t Tenant) importTogether(ctx context.Context, id string, rows []Row) error {
	ops := []table.Op{t.progress(id, len(rows), 0)}
	for _, row := range rows {
		_, publish := t.as(row.caller()).publishOps(row.Change, Record{})
		ops = append(append(ops, publish...), t.leave(row))
	}
	return t.turn(ctx, ops...)
}

// leave is the op that takes a row out of the temporary area. It fails for a row
// that has left, and with it everything else in the transaction.
func (t Tenant) leave(row Row) table.Op {
	there := expression.AttributeExists(expression.Name("number"))
	return table.Delete(row.Key()).If(there).WithName(opRow)
}

// importOne publishes one row, or sets it aside.
func (t Tenant) importOne(ctx context.Context, id string, row Row) error {
	err := t.importTogether(ctx, id, []Row{row})
	if err == nil || failed(err, opRow) {
		return nil
	}
	if errors.Is(err, ErrNotRunning) {
		return err
	}
	err = explain(err)
	if !errors.Is(err, table.ErrStale) && table.Classify(err) != table.Permanent {
		return err
	}
	ops := append(t.rejects.CreateOps(new(Reject{Row: row, Reason: reason(err)})), t.leave(row), t.progress(id, 0, 1))
	err = t.turn(ctx, ops...)
	if failed(err, opRow) {
		return nil
	}
	return err
}

// refused reports whether a transaction failed for a reason that lies in its
// rows.
func refused(err error) bool {
	if errors.Is(err, table.ErrOutcomeUnknown) || errors.Is(err, ErrNotRunning) {
		return false
	}
	return errors.Is(err, table.ErrConflict) || table.Classify(err) == table.Permanent
}

// reason says why a row was set aside, in words meant for people.
func reason(err error) string {
	switch {
	case errors.Is(err, table.ErrStale):
		return "the record exists already"
	case errors.Is(err, ErrNoParent):
		return "the parent does not exist"
	}
	return err.Error()
}

// Rejected reads the rows of an import that were set aside.
func (t Tenant) Rejected(ctx context.Context, id string) ([]Reject, error) {
	return table.Collect(t.rejects.All(ctx, table.Query{
		PK: importPrefix.PK(t.caller.Tenant, id), Range: rejectPrefix.All(),
	}))
}
