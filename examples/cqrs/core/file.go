package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Files are where imports are read from, such as a bucket of S3 or a directory.
// Implementations are safe for concurrent use.
type Files interface {
	// Read returns a part of a file: at most so many bytes from an offset on, which is
	// less than the file's size, or 0. A file that has another revision than the given
	// one is [ErrFileChanged]; an empty revision matches every one.
	//
	// Errors: [ErrNoFile], [ErrFileChanged].
	Read(ctx context.Context, name, revision string, from, most int64) (Part, error)
}

// Part is a part of a file.
type Part struct {
	Data []byte
	// Revision changes with the contents of the file, whose size is Size.
	Revision string
	Size     int64
}

var (
	// ErrNoFile means that there is no file of a name.
	ErrNoFile = errors.New("there is no such file")
	// ErrFileChanged means that a file is another one than when its import began.
	ErrFileChanged = errors.New("the file has changed since the import began")
)

// noFiles has no files.
type noFiles struct{}

func (noFiles) Read(context.Context, string, string, int64, int64) (Part, error) {
	return Part{}, ErrNoFile
}

// MaxRow is the greatest length of a row in a file, in bytes.
const MaxRow = 64 << 10

// fileForm is that of a name of a file.
var fileForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// fileOf returns the name of a tenant's file among those of all tenants: <tenant>/<name>.
// The tenant is escaped, so that it is one part of a path.
func fileOf(tenant, name string) string {
	tenant = url.PathEscape(tenant)
	if strings.HasPrefix(tenant, ".") {
		tenant = "%2E" + tenant[1:]
	}
	return tenant + "/" + name
}

// ImportFile begins an import of the tenant's file of that name. It has a row in each line,
// as JSON: see [Change.UnmarshalJSON]. A task with the import's id reads the file, and
// publishes rows as it reads them. A row that is invalid, or cannot be published because
// of what is stored, is set aside with the reason: see [Tenant.Rejected]. A call with the
// same id and file changes nothing.
//
// The task fails if the file changes or is deleted before its end, and if a row is longer
// than [MaxRow].
//
// Errors:
//   - [ErrInvalid], if no file can be called so, or it is empty.
//   - [ErrNoFile], [ErrOtherSource].
//   - [table.ErrExists], if another task has the id.
func (t Tenant) ImportFile(ctx context.Context, id, name string) error {
	if !fileForm.MatchString(name) {
		return fmt.Errorf("%w: a file is called by up to 200 letters, digits, dots, hyphens and underscores", ErrInvalid)
	}
	part, err := t.files.Read(ctx, fileOf(t.caller.Tenant, name), "", 0, 1)
	if err != nil {
		return err
	}
	if part.Size == 0 {
		return fmt.Errorf("%w: an import without rows", ErrInvalid)
	}
	task := t.newTask(id, importTask, 0)
	task.File, task.Revision, task.Size = name, part.Revision, part.Size
	_, err = t.openImport(ctx, task, []byte(name+"\n"+part.Revision))
	return err
}

// offset is the position in the file of an import.
func (t Task) offset() int64 {
	n, _ := strconv.ParseInt(t.Position, 10, 64) // 0 at the beginning
	return n
}

// importFile publishes the next rows of a file.
func (t Tenant) importFile(ctx context.Context, task Task) error {
	if task.offset() == task.Size {
		return t.finishTask(ctx, task.ID)
	}
	part, err := t.files.Read(ctx, fileOf(t.caller.Tenant, task.File), task.Revision, task.offset(), 2*MaxRow)
	if errors.Is(err, ErrNoFile) || errors.Is(err, ErrFileChanged) {
		return t.Cancel(ctx, task.ID, reason(err))
	}
	if err != nil {
		return err
	}
	rows := t.rowsOf(task, part.Data)
	if len(rows) == 0 {
		return t.Cancel(ctx, task.ID, fmt.Sprintf("row %d is longer than %d KB", task.Total+1, MaxRow>>10))
	}
	return t.importRows(ctx, task.ID, rows)
}

// rowsOf returns the rows that text begins with, up to one that is too long. Text is where
// the task is in its file.
func (t Tenant) rowsOf(task Task, text []byte) (rows []waiting) {
	for at := task.offset(); len(rows) < importChunk && at < task.Size; {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		end := at + int64(len(text)-len(rest))
		if !whole && end < task.Size || len(line) > MaxRow {
			return rows
		}
		row := waiting{
			Row: Row{
				ImportID: task.ID, TenantCode: t.caller.Tenant, Number: task.Total + len(rows) + 1,
				CreatedBy: task.CreatedBy, CreatedIP: task.CreatedIP,
			},
			from: strconv.FormatInt(at, 10), to: strconv.FormatInt(end, 10),
		}
		if len(rows) == 0 {
			row.from = task.Position // which is empty at the beginning
		}
		var c Change
		err := c.UnmarshalJSON(line)
		if err == nil {
			c, err = t.checkRow(c)
		}
		if err != nil {
			c, row.reason = Change{Ref: c.Ref}, reason(err)
		}
		row.Change = c
		rows = append(rows, row)
		text, at = rest, end
	}
	return rows
}
