// Package taken has the code of docs/from-onetable-and-toolbox.md and
// docs/share-a-table.md: a program on the table of another one.
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

// Task has the properties of the model. A time in a key is text of one width, so that it
// sorts; created and updated are milliseconds. OneTable sets updated with each write, so it
// serves as the version.
type Task struct {
	Project string `dynamodbav:"projectId"`
	ID      string `dynamodbav:"taskId"`
	Title   string `dynamodbav:"title"`
	Due     string `dynamodbav:"due"`
	Created int64  `dynamodbav:"created"`
	Updated int64  `dynamodbav:"updated"`
}

var entity = repo.Entity[Task]{
	Type: "Task", Version: "updated",
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
func Postpone(ctx context.Context, tasks *repo.Repo[Task], project, id string, due time.Time) (Task, error) {
	return tasks.Update(ctx, taskKey(project, id), func(t *Task) error {
		t.Due = due.UTC().Format(time.RFC3339)
		return nil
	})
}

// User has an e-mail that is unique: true in the other program.
type User struct {
	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Updated int64  `dynamodbav:"updated"`
}

var userEntity = repo.Entity[User]{
	Type: "User", Version: "updated",
	Key: func(u User) keys.Key { return userKey(u.ID) },
}

func userKey(id string) keys.Key { return keys.Key{PK: keys.PK("user#" + id), SK: "user#"} }

func uniqueEmail(email string) keys.Key {
	return keys.Key{PK: keys.PK("_unique#User#email#" + email), SK: "_unique#"}
}

func take(email string) table.Op {
	return table.Create(uniqueEmail(email), map[string]string{"_type": "_Unique"}).WithName("e-mail")
}

// SignUp stores a new user, whose e-mail no other one has.
func SignUp(ctx context.Context, t *table.Table, users *repo.Repo[User], u User) error {
	return t.Transact(ctx, append(users.CreateOps(&u), take(u.Email))...)
}

// ChangeEmail gives the former e-mail free.
func ChangeEmail(ctx context.Context, users *repo.Repo[User], id, email string) error {
	_, err := users.UpdateWith(ctx, userKey(id), func(u *User) ([]table.Op, error) {
		if u.Email == email {
			return nil, nil
		}
		ops := []table.Op{table.Delete(uniqueEmail(u.Email)), take(email)}
		u.Email = email
		return ops, nil
	})
	return err
}

// Leave deletes a user with the e-mail.
func Leave(ctx context.Context, t *table.Table, users *repo.Repo[User], id string) error {
	u, err := users.Consistent().Get(ctx, userKey(id))
	if err != nil {
		return err
	}
	return t.Transact(ctx, append(users.DeleteOps(u), table.Delete(uniqueEmail(u.Email)))...)
}
