package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// ErrNotRunning means that a task cannot make that progress: it has ended or not
// begun, or more would be done than there is to do.
var ErrNotRunning = fmt.Errorf("task cannot go on: %w", table.ErrConditionFailed)

// errNoTask means that there is no task of an id.
var errNoTask = fmt.Errorf("task: %w", table.ErrNotFound)

// Status says how far a task is.
type Status string

// The ways of a task: Pending, Running, then Done or Failed. That of an import is Staging
// first.
const (
	Staging Status = "STAGING"
	Pending Status = "PENDING"
	Running Status = "RUNNING"
	Done    Status = "DONE"
	Failed  Status = "FAILED"
)

// Task is work that outlasts a request, and is done by the handler of its changes:
// TASK#<tenant> / TASK#<id>. Its progress is counted in the transactions that do the
// work, so it is exactly the work that was done, whenever the process dies.
type Task struct {
	ID         string    `dynamodbav:"taskId"`
	TenantCode string    `dynamodbav:"tenantCode"`
	Name       string    `dynamodbav:"name"`
	Status     Status    `dynamodbav:"status"`
	Total      int       `dynamodbav:"total"`
	Done       int       `dynamodbav:"done"`
	Rejected   int       `dynamodbav:"rejected"`
	Left       int       `dynamodbav:"left"`
	Position   string    `dynamodbav:"position"` // where a rebuild, or an import of a file, goes on
	Reason     string    `dynamodbav:"reason,omitempty"`
	CreatedBy  string    `dynamodbav:"createdBy"`
	CreatedAt  time.Time `dynamodbav:"createdAt"`
	CreatedIP  string    `dynamodbav:"createdIp"`
	UpdatedAt  time.Time `dynamodbav:"updatedAt"`
	// ExpiresAt is when the task is deleted, in seconds since 1970. It is 0 while it is
	// pending or running, and for tasks that earlier releases have ended.
	ExpiresAt int64 `dynamodbav:"expiresAt,omitempty"`
	// File is the name of the file that an import reads, with its revision and its size in
	// bytes. It is empty for other tasks.
	File     string `dynamodbav:"file,omitempty"`
	Revision string `dynamodbav:"fileRevision,omitempty"`
	Size     int64  `dynamodbav:"fileSize,omitempty"`
}

// taskLife is how long a task is kept after its end, and an import that is not brought in
// to its end.
const taskLife = 30 * 24 * time.Hour

// Percent returns how much of the task is over, from 0 to 100. That of a rebuild is not known
// before its end.
func (t Task) Percent() int {
	switch {
	case t.Status == Done:
		return 100
	case t.Size > 0:
		return int(100 * t.offset() / t.Size)
	case t.Total == 0 || t.Name == rebuildTask:
		return 0
	}
	return 100 * (t.Total - t.Left) / t.Total
}

const taskPrefix keys.Prefix = "TASK"

func taskKey(tenant, id string) keys.Key {
	return keys.Key{PK: taskPrefix.PK(tenant), SK: taskPrefix.SK(keys.Str(id))}
}

// The attributes of open-tasks, which holds the tasks of all tenants that have not ended:
// OPEN / TASK#<tenant>#<id>. The end of a task removes them.
const openPK, openSK = "openPK", "openSK"

const openTasks keys.PK = "OPEN"

var taskEntity = repo.Entity[Task]{
	Type: "TASK",
	Key:  Task.Key,
	Indexes: repo.Indexes[Task]{openIndex: func(t Task) keys.Key {
		return keys.Key{PK: openTasks, SK: taskPrefix.SK(keys.Str(t.TenantCode), keys.Str(t.ID))}
	}},
}

// Key returns the key of the task.
func (t Task) Key() keys.Key { return taskKey(t.TenantCode, t.ID) }

// String returns the progress of the task.
func (t Task) String() string {
	return fmt.Sprintf("%d %%: %d of %d done, %d rejected", t.Percent(), t.Done, t.Total, t.Rejected)
}

func (t Task) caller() Caller {
	return Caller{Tenant: t.TenantCode, User: t.CreatedBy, IP: t.CreatedIP}
}

const opTask = "task"

// newTask returns a pending task of so many steps, yet to be stored.
func (t Tenant) newTask(id, name string, total int) Task {
	now := t.table.Now().UTC()
	return Task{
		ID: id, TenantCode: t.caller.Tenant, Name: name, Status: Pending, Total: total, Left: total,
		CreatedBy: t.caller.User, CreatedAt: now, CreatedIP: t.caller.IP, UpdatedAt: now,
	}
}

// createTask stores a pending task. An id that was used before is
// [table.ErrExists].
func (t Tenant) createTask(ctx context.Context, id, name string, total int) error {
	return t.tasks.Create(ctx, new(t.newTask(id, name, total)))
}

// Task reads a task and its progress.
func (t Tenant) Task(ctx context.Context, id string) (Task, error) {
	return t.tasks.Consistent().Get(ctx, taskKey(t.caller.Tenant, id))
}

// Tasks reads a page of the tenant's tasks.
func (t Tenant) Tasks(ctx context.Context, limit int, after string) (table.Page[Task], error) {
	return t.tasks.Query(ctx, table.Query{
		PK: taskPrefix.PK(t.caller.Tenant), Range: taskPrefix.All(), Limit: limit, After: after, Scope: t.caller.Tenant,
	})
}

// work does the next step of a task. It is the handler of the task's changes, and a
// step changes the task, so that the stream calls for the next one. No call is longer
// than a step. A step that was done before is refused by the task.
func (t Tenant) work(ctx context.Context, task Task) (err error) {
	switch {
	case task.Status == Pending:
		err = t.beginTask(ctx, task.ID)
	case task.Status == Running && task.Name == rebuildTask:
		err = t.rebuildSome(ctx, task)
	case task.Status == Running && task.File != "":
		err = t.importFile(ctx, task)
	case task.Status == Running && task.Left == 0:
		err = t.finishTask(ctx, task.ID)
	case task.Status == Running && task.Name == importTask:
		err = t.importSome(ctx, task.ID)
	}
	if errors.Is(err, ErrNotRunning) || errors.Is(err, errNoTask) {
		return nil
	}
	return err
}

// progress returns the op that counts steps of a running task. It belongs into
// the transaction that does them.
func (t Tenant) progress(id string, done, rejected int) table.Op {
	u := expression.Add(expression.Name("done"), expression.Value(done)).
		Add(expression.Name("rejected"), expression.Value(rejected)).
		Add(expression.Name("left"), expression.Value(-done-rejected))
	enough := table.If("left >= ?", done+rejected)
	return t.step(id, u, Running).If(enough)
}

// beginTask lets a pending task run.
func (t Tenant) beginTask(ctx context.Context, id string) error {
	return t.turn(ctx, t.step(id, setStatus(Running), Pending))
}

// finishTask ends a running task of which nothing is left to do.
func (t Tenant) finishTask(ctx context.Context, id string) error {
	nothing := table.If("left = ?", 0)
	return t.turn(ctx, t.step(id, t.end(Done), Running).If(nothing))
}

// Cancel ends a running task before it is done. No work can be counted for it
// after that.
//
// Errors: [table.ErrNotFound]; [ErrNotRunning], also of one that waits to begin.
func (t Tenant) Cancel(ctx context.Context, id, reason string) error {
	u := t.end(Failed).Set(expression.Name("reason"), expression.Value(reason))
	err := t.turn(ctx, t.step(id, u, Running))
	if errors.Is(err, ErrNotRunning) {
		_, read := t.Task(ctx, id)
		if errors.Is(read, table.ErrNotFound) {
			return errNoTask
		}
		return cmp.Or(read, err)
	}
	return err
}

func setStatus(s Status) expression.UpdateBuilder {
	return expression.Set(expression.Name("status"), expression.Value(s))
}

func (t Tenant) end(s Status) expression.UpdateBuilder {
	return setStatus(s).Remove(expression.Name(openPK)).Remove(expression.Name(openSK)).
		Set(expression.Name("expiresAt"), expression.Value(t.expiry()))
}

func (t Tenant) expiry() int64 { return t.table.Now().Add(taskLife).Unix() }

// step is an update of a task that is in the given status.
func (t Tenant) step(id string, u expression.UpdateBuilder, while Status) table.Op {
	u = u.Set(expression.Name("updatedAt"), expression.Value(t.table.Now().UTC()))
	return table.Update(taskKey(t.caller.Tenant, id), u).
		If(table.If("status = ?", while)).WithName(opTask)
}

// turn runs a step, and with it the work that it counts, if any. A step by
// itself is a transaction too: if its response is lost, its own effect is not
// mistaken for somebody else's.
func (t Tenant) turn(ctx context.Context, ops ...table.Op) error {
	err := t.table.Transact(ctx, ops...)
	if failed(err, opTask) {
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	return err
}

// ErrStuck means that a task has work left, and that a step does not change it.
var ErrStuck = errors.New("task makes no progress")

// Resume does all tasks that were begun, have not ended, and have made no step for so long.
// It returns how many it has found. It is for the start of a process: the stream goes on with tasks by itself, but
// not when it was off for a day, or when its reader has set a change aside. Other
// processes can work on the same tasks. AWS: "Change data capture for DynamoDB Streams",
// Amazon DynamoDB Developer Guide.
func (s *Service) Resume(ctx context.Context, idle time.Duration) (found int, err error) {
	var open []keys.Key
	for item, err := range table.All[table.Item](ctx, s.table, table.Query{Index: openIndex, PK: openTasks}) {
		if err != nil {
			return 0, err
		}
		open = append(open, s.table.KeyOf("", item))
	}
	tasks, err := s.tasks.Consistent().BatchGet(ctx, open)
	var failures []error
	for _, task := range tasks {
		if task.Status == Staging || s.table.Now().Sub(task.UpdatedAt) < idle {
			continue
		}
		found++
		if err := s.as(task.caller()).finish(ctx, task.ID); err != nil {
			failures = append(failures, fmt.Errorf("task of %s: %w", task.Name, err))
		}
	}
	return found, errors.Join(append(failures, err)...)
}

// finish does the steps of a task until it ends.
func (t Tenant) finish(ctx context.Context, id string) error {
	var before Task
	for {
		task, err := t.Task(ctx, id)
		switch {
		case err != nil:
			return err
		case task.Status != Pending && task.Status != Running:
			return nil
		case task == before:
			return ErrStuck
		}
		before = task
		if err := t.table.Retry(ctx, func(ctx context.Context) error { return t.work(ctx, task) }); err != nil {
			return err
		}
	}
}
