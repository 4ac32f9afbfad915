// Package taken has the code of docs/from-onetable-and-toolbox.md and
// docs/share-a-table.md: a program next to one on OneTable or DynamoDB-Toolbox.
package taken

import (
	"context"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema has OneTable's attribute for the type.
var Schema = schema.Table{
	Name: "Tracker", TypeAttribute: "_type",
	Indexes: []schema.Index{{Name: "gs1", PK: "gs1pk", SK: "gs1sk"}},
}

// Task has the properties of the model. OneTable sets updated with each write, in milliseconds.
type Task struct {
	Project string          `dynamodbav:"projectId"`
	ID      string          `dynamodbav:"taskId"`
	Title   string          `dynamodbav:"title"`
	Due     table.ISOTime   `dynamodbav:"due"`
	Created table.UnixMilli `dynamodbav:"created"`
	Updated int64           `dynamodbav:"updated"`
}

var entity = repo.Entity[Task]{
	Type: "Task", Version: "updated",
	Key: func(t Task) keys.Key { return taskKey(t.Project, t.ID) },
	Indexes: repo.Indexes[Task]{"gs1": func(t Task) keys.Key {
		return keys.Key{PK: keys.PK("project#" + t.Project), SK: keys.SK("due#" + t.Due.String() + "#" + t.ID)}
	}},
	Shared: &repo.Shared[Task]{},
}

// Keys of the other program's templates, not escaped.
func taskKey(project, id string) keys.Key {
	return keys.Key{PK: keys.PK("project#" + project), SK: keys.SK("task#" + id)}
}

// Add stores a new task, with the time as its creation.
func Add(ctx context.Context, tasks *repo.Repo[Task], t Task) error {
	t.Created.Time = time.Now()
	return tasks.Create(ctx, &t)
}

// DuePage reads the tasks of a project by the time at which they are due.
func DuePage(ctx context.Context, tasks *repo.Repo[Task], project, after string) (table.Page[Task], error) {
	return tasks.Query(ctx, table.Query{
		Index: "gs1", PK: keys.PK("project#" + project), Range: keys.Range{Prefix: "due#"},
		Limit: 20, After: after, Scope: project,
	})
}

// Postpone changes a task and its key in the index.
func Postpone(ctx context.Context, tasks *repo.Repo[Task], project, id string, due time.Time) (Task, error) {
	return tasks.Update(ctx, taskKey(project, id), func(t *Task) error {
		t.Due.Time = due
		return nil
	})
}
