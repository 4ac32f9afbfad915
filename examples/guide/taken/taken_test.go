package taken

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThePages -update

func TestThePagesQuoteTheCode(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{"from-onetable-and-toolbox": 2, "share-a-table": 1} {
		if n := generated.Code(t, "../../../docs/"+page+".md", "."); n != want {
			t.Errorf("%s: %d quotations, want %d", page, n, want)
		}
	}
}

// An item of the other program is read and written, keeps what this one does not know,
// and moves in the index.
func TestTheItemsOfAnotherProgram(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, Schema, nil)
	tasks := check.Must(repo.New(tbl, entity))(t)
	for _, id := range []string{"t-1", "t-2"} {
		due := "2030-06-0" + id[2:] + "T12:00:00Z"
		check.OK(t, tbl.Do(ctx, table.Put(taskKey("p", id), map[string]any{
			"_type": "Task", "projectId": "p", "taskId": id, "title": "paint", "due": due, "color": "red",
			"created": 1890000000000, "updated": 1890000000000, "gs1pk": "project#p", "gs1sk": "due#" + due + "#" + id,
		})))
	}
	moved := check.Must(Postpone(ctx, tasks, "p", "t-1", time.Date(2030, 7, 1, 0, 0, 0, 0, time.UTC)))(t)
	page := check.Must(DuePage(ctx, tasks, "p", ""))(t)
	stored := check.Must(table.Get[struct {
		Color string  `dynamodbav:"color"`
		SK    keys.SK `dynamodbav:"gs1sk"`
	}](ctx, tbl, taskKey("p", "t-1")))(t)
	if len(page.Items) != 2 || page.Items[1] != moved || moved.Updated != 1890000000001 {
		t.Errorf("%+v", page.Items)
	}
	if stored.Color != "red" || stored.SK != "due#2030-07-01T00:00:00Z#t-1" {
		t.Errorf("%+v", stored)
	}
}

// The other program sets updated with each write. So a change that it makes between the read
// and the write of Update is seen, and kept.
func TestAChangeOfTheOtherProgramIsKept(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, Schema, nil)
	tasks := check.Must(repo.New(tbl, entity))(t)
	check.OK(t, tasks.Create(ctx, &Task{Project: "p", ID: "t", Title: "paint", Due: "2030-06-01T12:00:00Z"}))
	runs := 0
	got := check.Must(tasks.Update(ctx, taskKey("p", "t"), func(v *Task) error {
		if runs++; runs == 1 {
			check.OK(t, tbl.Do(ctx, table.Update(taskKey("p", "t"), expression.
				Set(expression.Name("title"), expression.Value("wash")).
				Set(expression.Name("updated"), expression.Value(1890000000000)))))
		}
		v.Due = "2030-07-01T12:00:00Z"
		return nil
	}))(t)
	if runs != 2 || got.Title != "wash" || got.Updated != 1890000000001 {
		t.Errorf("%d runs: %+v", runs, got)
	}
}

// An e-mail is one user's, in the items by which the other program knows it.
func TestUniqueValuesOfAnotherProgram(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, Schema, nil)
	users := check.Must(repo.New(tbl, userEntity))(t)
	taken := func(email string) bool {
		item, err := table.Get[map[string]string](ctx, tbl.Consistent(), uniqueEmail(email))
		return err == nil && item["_type"] == "_Unique"
	}
	check.OK(t, tbl.Do(ctx, table.Put(userKey("ana"), map[string]any{"_type": "User", "id": "ana", "email": "ana@x", "updated": 1890000000000})),
		tbl.Do(ctx, table.Put(uniqueEmail("ana@x"), map[string]any{"_type": "_Unique"})))
	check.OK(t, SignUp(ctx, tbl, users, User{ID: "bob", Email: "bob@x"}))
	for _, err := range []error{SignUp(ctx, tbl, users, User{ID: "eve", Email: "ana@x"}), ChangeEmail(ctx, users, "ana", "bob@x")} {
		if _, failed := table.FailedOp(err, "e-mail"); !failed || !errors.Is(err, table.ErrExists) {
			t.Errorf("an e-mail that is taken: %v", err)
		}
	}
	check.OK(t, ChangeEmail(ctx, users, "ana", "ana@y"), ChangeEmail(ctx, users, "ana", "ana@y"), Leave(ctx, tbl, users, "bob"))
	for email, want := range map[string]bool{"ana@x": false, "ana@y": true, "bob@x": false} {
		check.Equal(t, email, taken(email), want)
	}
}
