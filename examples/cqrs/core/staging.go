package core

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// ErrOtherSource means that an import was begun with other rows, or another file, under
// that id.
var ErrOtherSource = errors.New("import was begun with other rows")

// Import is the head of the temporary area of an import:
// IMPORT#<tenant>#<id> / METADATA. Its rows are in the same partition.
type Import struct {
	ID         string `dynamodbav:"importId"`
	TenantCode string `dynamodbav:"tenantCode"`
	Total      int    `dynamodbav:"total"`  // 0 for a file
	Digest     string `dynamodbav:"digest"` // of all rows, or of the file: a resumed import has the same
	Staged     int    `dynamodbav:"staged"` // how many rows have reached the area
}

// Row is a row that waits in the temporary area: ROW#<number>. It leaves in the
// transaction that publishes it.
type Row struct {
	ImportID   string `dynamodbav:"importId"`
	TenantCode string `dynamodbav:"tenantCode"`
	Number     int    `dynamodbav:"number"`
	Change     Change `dynamodbav:"change"`
	CreatedBy  string `dynamodbav:"createdBy"`
	CreatedIP  string `dynamodbav:"createdIp"`
}

// caller brought the row into the area, and publishes it.
func (r Row) caller() Caller {
	return Caller{
		Tenant: r.TenantCode, User: r.CreatedBy, IP: r.CreatedIP,
		Source: importTask, RequestID: fmt.Sprintf("%s/%d", r.ImportID, r.Number),
	}
}

// Reject is a row that could not be published, and why: REJECT#<number>.
type Reject struct {
	Row
	Reason string `dynamodbav:"reason"`
}

const (
	importPrefix keys.Prefix = "IMPORT"
	rowPrefix    keys.Prefix = "ROW"
	rejectPrefix keys.Prefix = "REJECT"
)

const (
	rowWidth   = 9
	importTask = "import"
)

var (
	importEntity = repo.Entity[Import]{Type: "IMPORT", Key: Import.Key}
	rowEntity    = repo.Entity[Row]{Type: "IMPORT_ROW", Key: Row.Key}
	rejectEntity = repo.Entity[Reject]{Type: "IMPORT_REJECT", Key: Reject.Key}
)

// Key returns the key of the head.
func (i Import) Key() keys.Key {
	return keys.Key{PK: importPrefix.PK(i.TenantCode, i.ID), SK: keys.Metadata}
}

// Key returns the key of the row while it waits.
func (r Row) Key() keys.Key { return r.key(rowPrefix) }

// Key returns the key of the row that was set aside.
func (r Reject) Key() keys.Key { return r.key(rejectPrefix) }

func (r Row) key(p keys.Prefix) keys.Key {
	return keys.Key{PK: importPrefix.PK(r.TenantCode, r.ImportID), SK: p.SK(keys.Int(r.Number, rowWidth))}
}

// Import brings the rows of an import into its temporary area. When all of them are there,
// it returns nil, and the task with the import's id publishes them: nothing is published
// of an import that was not brought in to its end. A process that dies can be followed by
// another one with the same id and rows, and several may do it at the same time: each row
// is published once.
//
// Rows that cannot be published because of what is stored, such as the record
// itself, are set aside with the reason: see [Tenant.Rejected].
//
// Errors:
//   - [ErrInvalid] and [keys.ErrInvalid], with the number of the row, before anything is
//     written.
//   - [ErrOtherSource].
//   - [table.ErrExists], if another task has the id.
func (t Tenant) Import(ctx context.Context, id string, source []Change) error {
	source, err := t.checkSource(source)
	if err != nil {
		return err
	}
	text, err := json.Marshal(source)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	task := t.newTask(id, importTask, len(source))
	task.Status, task.ExpiresAt = Staging, t.expiry()
	im, err := t.openImport(ctx, task, text)
	if err != nil {
		return err
	}
	return t.stage(ctx, im, source)
}

// stageChunk is how many rows go into the temporary area in a transaction.
const stageChunk = 20

// checkSource returns the rows as they are published. It refuses invalid rows
// before anything is written.
func (t Tenant) checkSource(source []Change) (rows []Change, err error) {
	if len(source) == 0 {
		return nil, fmt.Errorf("%w: an import without rows", ErrInvalid)
	}
	rows = make([]Change, len(source))
	for i, c := range source {
		rows[i], err = t.checkRow(c)
		if text, bad := json.Marshal(rows[i]); err == nil && (bad != nil || len(text) > MaxRow) {
			err = fmt.Errorf("%w: longer than %d KB as JSON, or none", ErrInvalid, MaxRow>>10)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return rows, nil
}

// checkRow returns a row as it is published. Keys and numbers that cannot be stored are refused
// here, and not by the transaction.
func (t Tenant) checkRow(c Change) (Change, error) {
	prepared, err := t.entities.prepare(c)
	err = cmp.Or(err, t.entities.given(c))
	for _, key := range []keys.Key{
		dataKey(t.caller.Tenant, c.Ref), codeKey(t.caller.Tenant, c.Ref),
		commands.key(t.caller.Tenant, c.Ref, 1), histories.key(t.caller.Tenant, c.Ref, 1),
	} {
		err = cmp.Or(err, key.Validate())
	}
	if err == nil && c.Version != 0 {
		err = fmt.Errorf("%w: an import makes new records, not later versions", ErrInvalid)
	}
	return prepared, err
}

// openImport begins an import of a source, or finds the one that was begun before.
func (t Tenant) openImport(ctx context.Context, task Task, source []byte) (im Import, err error) {
	sum := sha256.Sum256(source)
	im = Import{ID: task.ID, TenantCode: t.caller.Tenant, Total: task.Total, Digest: hex.EncodeToString(sum[:])}
	var found Import
	err = t.table.Retry(ctx, func(ctx context.Context) error {
		found = im
		exists := t.table.Transact(ctx, append(t.imports.CreateOps(new(im)), t.tasks.CreateOps(new(task))...)...)
		if !errors.Is(exists, table.ErrExists) {
			return exists
		}
		found, err = t.imports.Consistent().Get(ctx, im.Key())
		if errors.Is(err, table.ErrNotFound) {
			return exists // the task of something else
		}
		if err != nil {
			return err
		}
		_, err = t.Task(ctx, im.ID)
		switch {
		case errors.Is(err, table.ErrNotFound): // it has expired
			return cmp.Or(t.sweep(ctx, task), table.ErrConflict)
		case err == nil && found.Digest != im.Digest:
			return ErrOtherSource
		}
		return err
	})
	return found, err
}

// sweepChunk is how many items are deleted in a transaction.
const sweepChunk = 50

// sweep deletes what an import has left in its area, unless a task has its id: another
// import. The head is deleted last: nobody can begin an import with that id before.
func (t Tenant) sweep(ctx context.Context, task Task) error {
	if task.Name != importTask {
		return nil
	}
	head := Import{ID: task.ID, TenantCode: t.caller.Tenant}.Key()
	gone := table.CheckMissing(taskKey(t.caller.Tenant, task.ID)).WithName(opTask)
	for _, within := range []keys.Range{rowPrefix.All(), rejectPrefix.All(), {}} {
		for {
			page, err := table.QueryPage[table.Item](ctx, t.table, table.Query{PK: head.PK, Range: within, Limit: sweepChunk, Consistent: true})
			if err != nil {
				return err
			}
			if len(page.Items) == 0 {
				break
			}
			ops := []table.Op{gone}
			for _, item := range page.Items {
				ops = append(ops, table.Delete(t.table.KeyOf("", item)))
			}
			err = t.turn(ctx, ops...)
			if errors.Is(err, ErrNotRunning) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// stage brings the rows that are still missing into the temporary area, and starts the
// task with the last ones. Each transaction expects the number of rows that are there and adds to it: a
// process that comes too late cannot bring back rows that were published.
func (t Tenant) stage(ctx context.Context, im Import, source []Change) error {
	for im.Staged < im.Total {
		from, to := im.Staged, min(im.Staged+stageChunk, im.Total)
		ops := t.imports.PatchOps(im.Key(), repo.Patch{
			Set: map[string]any{"staged": to},
			//mutants:guard cqrs: rows are staged once | TestALateImporter | If: => If: expression.ConditionBuilder{}, // If:
			If: table.If("staged = ?", from),
		})
		for n := from; n < to; n++ {
			ops = append(ops, t.rows.CreateOps(new(Row{
				ImportID: im.ID, TenantCode: t.caller.Tenant, Number: n + 1, Change: source[n],
				CreatedBy: t.caller.User, CreatedIP: t.caller.IP,
			}))...)
		}
		if to == im.Total {
			ops = append(ops, t.step(im.ID, setStatus(Pending).Remove(expression.Name("expiresAt")), Staging))
		}
		err := t.table.Transact(ctx, ops...)
		switch {
		case err == nil:
			im.Staged = to
		case errors.Is(err, table.ErrConditionFailed): // another process was faster
			if im, err = t.imports.Consistent().Get(ctx, im.Key()); err != nil {
				return err
			}
			if im.Staged == from {
				return fmt.Errorf("rows %d to %d: %w", from+1, to, table.ErrConflict)
			}
		default:
			return err
		}
	}
	return nil
}
