package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/table"
)

// importChunk is how many rows are published in a transaction: up to five ops
// each and the task's, and DynamoDB takes 100.
const importChunk = 16

// importRows publishes many records, as the task with the import's id. First all
// rows go into a temporary area, then they leave it, some at a time, in the
// transaction that publishes them and counts the progress. So wherever the
// process dies, calling importRows again with the same id and rows goes on from
// there, and each row is published once. Several processes may even do it at the
// same time.
//
// Rows that cannot be published because of what is stored, such as the record
// itself, are set aside with the reason: see rejected. watch, which may
// be nil, is called after each transaction.
func (t tenant) importRows(ctx context.Context, id string, source []Change, watch func(Task)) (Task, error) {
	im, err := t.openImport(ctx, id, source)
	if err != nil {
		return Task{}, err
	}
	if err := t.stage(ctx, im, source); err != nil {
		return Task{}, err
	}
	// ErrNotRunning: it has begun before, and the task as it stands says more.
	if err := t.beginTask(ctx, id); err != nil && !errors.Is(err, ErrNotRunning) {
		return Task{}, err
	}
	for {
		task, err := t.task(ctx, id)
		if err != nil {
			return Task{}, err
		}
		if watch != nil {
			watch(task)
		}
		switch {
		case task.Status == Done:
			return task, nil
		case task.Status != Running:
			return task, ErrNotRunning
		case task.Left == 0:
			if err := t.finishTask(ctx, id); err != nil && !errors.Is(err, ErrNotRunning) {
				return task, err
			}
			continue
		}
		if err := t.importSome(ctx, id); err != nil {
			return task, err
		}
	}
}

// importSome publishes the first rows of the temporary area.
func (t tenant) importSome(ctx context.Context, id string) error {
	page, err := t.rows.Query(ctx, table.Query{
		PK: importPrefix.PK(t.caller.Tenant, id), Range: rowPrefix.All(), Limit: importChunk, Consistent: true,
	})
	if err != nil {
		return err
	}
	rows := page.Items
	if len(rows) == 0 {
		return t.checkNothingLeft(ctx, id)
	}
	err = t.importTogether(ctx, id, rows)
	if err == nil || failed(err, opRow) {
		return nil // failed(opRow): another process has published some; see what is left
	}
	if !refused(err) {
		return err
	}
	// One row is enough to refuse them all: find out which.
	for _, row := range rows {
		if err := t.importOne(ctx, id, row); err != nil {
			return err
		}
	}
	return nil
}

// checkNothingLeft is for an empty area: a row leaves it in the transaction that
// counts it, so a task that still waits for rows has lost them.
func (t tenant) checkNothingLeft(ctx context.Context, id string) error {
	task, err := t.task(ctx, id)
	if err == nil && task.Status == Running && task.Left > 0 {
		err = fmt.Errorf("%d rows of the import are missing: %w", task.Left, table.ErrNotFound)
	}
	return err
}

const opRow = "row"

// importTogether publishes rows in one transaction.
func (t tenant) importTogether(ctx context.Context, id string, rows []Row) error {
	ops := []table.Op{t.progress(id, len(rows), 0)}
	for _, row := range rows {
		_, publish := t.publishOps(row.Change, Record{})
		ops = append(append(ops, publish...), t.leave(row))
	}
	return t.turn(ctx, ops...)
}

// leave is the op that takes a row out of the temporary area. It fails for a row
// that has left, and with it everything else in the transaction.
func (t tenant) leave(row Row) table.Op {
	there := expression.AttributeExists(expression.Name("number"))
	return table.Delete(rowEntity.Key(row)).If(there).WithName(opRow)
}

// importOne publishes one row, or sets it aside.
func (t tenant) importOne(ctx context.Context, id string, row Row) error {
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

// refused reports whether a transaction was not carried out for a reason that
// lies in its rows.
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

// rejected reads the rows of an import that were set aside.
func (t tenant) rejected(ctx context.Context, id string) ([]Reject, error) {
	return table.Collect(t.rejects.All(ctx, table.Query{
		PK: importPrefix.PK(t.caller.Tenant, id), Range: rejectPrefix.All(),
	}))
}
