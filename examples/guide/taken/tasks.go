// Package taken has the code of docs/from-onetable-and-toolbox.md: a program that takes
// over the table of another one.
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
	Name: "Tracker", Type: "_type",
	Indexes: []schema.Index{{Name: "gs1", PK: "gs1pk", SK: "gs1sk"}},
}

// Task has the properties of the model. A time in a key is text of one width, so that it
// sorts; created and updated are milliseconds.
type Task struct {
	Project string `dynamodbav:"projectId"`
	ID      string `dynamodbav:"taskId"`
	Title   string `dynamodbav:"title"`
	Due     string `dynamodbav:"due"`
	Created int64  `dynamodbav:"created"`
	Updated int64  `dynamodbav:"updated"`
	Version int64  `dynamodbav:"version"`
}

var entity = repo.Entity[Task]{
	Type: "Task", Version: "version",
	Key: func(t Task) keys.Key { return taskKey(t.Project, t.ID) },
	Indexes: repo.Indexes[Task]{"gs1": func(t Task) keys.Key {
		return keys.Key{PK: keys.PK("project#" + t.Project), SK: keys.SK("due#" + t.Due + "#" + t.ID)}
	}},
}

// Keys of the other program's templates, not escaped.
func taskKey(project, id string) keys.Key {
	return keys.Key{PK: keys.PK("project#" + project), SK: keys.SK("task#" + id)}
}

// DuePage reads the tasks of a project by the time at which they are due.
func DuePage(ctx context.Context, tasks *repo.Repo[Task], project, after string) (table.Page[Task], error) {
	return tasks.Query(ctx, table.Query{
		Index: "gs1", PK: keys.PK("project#" + project), Range: keys.Range{Prefix: "due#"},
		Limit: 20, After: after, Scope: project,
	})
}

// Postpone changes a task and its key in the index.
func Postpone(ctx context.Context, tasks *repo.Repo[Task], project, id string, due, now time.Time) (Task, error) {
	return tasks.Update(ctx, taskKey(project, id), func(t *Task) error {
		t.Due, t.Updated = due.UTC().Format(time.RFC3339), now.UnixMilli()
		return nil
	})
}
