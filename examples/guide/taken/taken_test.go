package taken

import (
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThePage -update

func TestThePageQuotesTheCode(t *testing.T) {
	t.Parallel()
	if n := generated.Code(t, "../../../docs/from-onetable-and-toolbox.md", "."); n != 2 {
		t.Errorf("%d quotations, want 2", n)
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
	now := time.Date(2030, 5, 1, 0, 0, 0, 0, time.UTC)
	moved := check.Must(Postpone(ctx, tasks, "p", "t-1", time.Date(2030, 7, 1, 0, 0, 0, 0, time.UTC), now))(t)
	page := check.Must(DuePage(ctx, tasks, "p", ""))(t)
	stored := check.Must(table.Get[struct {
		Color string  `dynamodbav:"color"`
		SK    keys.SK `dynamodbav:"gs1sk"`
	}](ctx, tbl, taskKey("p", "t-1")))(t)
	if len(page.Items) != 2 || page.Items[1] != moved || moved.Version == 0 || moved.Updated != now.UnixMilli() {
		t.Errorf("%+v", page.Items)
	}
	if stored.Color != "red" || stored.SK != "due#2030-07-01T00:00:00Z#t-1" {
		t.Errorf("%+v", stored)
	}
}
