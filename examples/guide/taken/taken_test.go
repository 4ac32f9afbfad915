package taken

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
		due := "2030-06-0" + id[2:] + "T12:00:00.000Z"
		check.OK(t, tbl.Do(ctx, table.Put(taskKey("p", id), map[string]any{
			"_type": "Task", "projectId": "p", "taskId": id, "title": "paint", "due": due, "color": "red",
			"created": 1700000000000, "updated": 1700000000000, "gs1pk": "project#p", "gs1sk": "due#" + due + "#" + id,
		})))
	}
	moved := check.Must(Postpone(ctx, tasks, "p", "t-1", time.Date(2030, 7, 1, 0, 0, 0, 0, time.UTC)))(t)
	page := check.Must(DuePage(ctx, tasks, "p", ""))(t)
	stored := check.Must(table.Get[struct {
		Color string  `dynamodbav:"color"`
		SK    keys.SK `dynamodbav:"gs1sk"`
	}](ctx, tbl, taskKey("p", "t-1")))(t)
	if len(page.Items) != 2 || page.Items[1] != moved || moved.Updated <= 1700000000000 {
		t.Errorf("%+v", page.Items)
	}
	if stored.Color != "red" || stored.SK != "due#2030-07-01T00:00:00.000Z#t-1" {
		t.Errorf("%+v", stored)
	}
}

// The other program sets updated with each write. So a change that it makes between the read
// and the write of Update is seen, and kept.
func TestAChangeOfTheOtherProgramIsKept(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, Schema, nil)
	tasks := check.Must(repo.New(tbl, entity))(t)
	check.OK(t, Add(ctx, tasks, Task{Project: "p", ID: "t", Title: "paint", Due: table.ISOTime{Time: time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)}}))
	runs := 0
	got := check.Must(tasks.Update(ctx, taskKey("p", "t"), func(v *Task) error {
		if runs++; runs == 1 {
			check.OK(t, tbl.Do(ctx, table.Update(taskKey("p", "t"), expression.
				Set(expression.Name("title"), expression.Value("wash")).
				Set(expression.Name("updated"), expression.Value(1700000000000)))))
		}
		v.Due.Time = time.Date(2030, 7, 1, 12, 0, 0, 0, time.UTC)
		return nil
	}))(t)
	if runs != 2 || got.Title != "wash" || got.Updated <= 1700000000000 {
		t.Errorf("%d runs: %+v", runs, got)
	}
}

// DynamoDB-Toolbox throws for an item without both times.
func TestItemsForToolbox(t *testing.T) {
	t.Parallel()
	ctx, spec := t.Context(), Schema
	spec.TypeAttribute = "_et"
	tbl := tabletest.New(t, spec, nil)
	notes := check.Must(repo.New(tbl, noteEntity))(t)
	check.OK(t, AddNote(ctx, notes, Note{ID: "n", Text: "a"}))
	first := check.Must(notes.Get(ctx, noteKey("n")))(t)
	_, err := notes.Update(ctx, noteKey("n"), func(n *Note) error { n.Text = "b"; return nil })
	check.OK(t, err)
	stored := check.Must(table.Get[map[string]string](ctx, tbl, noteKey("n")))(t)
	check.Equal(t, "text", stored["text"], "b")
	if stored["_et"] != "Note" || stored["_ct"] != first.Created.String() || stored["_md"] <= first.Modified {
		t.Errorf("%v after %v", stored, first)
	}
}

// An e-mail is one user's, in the items by which OneTable knows it.
func TestUniqueValuesOfAnotherProgram(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, Schema, nil)
	shared := check.Must(repo.New(tbl, users))(t)
	storeAna(t, tbl)
	check.OK(t, shared.Create(ctx, &User{ID: "bob", Email: "bob@x"}), shared.Create(ctx, &User{ID: "dan"}), shared.Create(ctx, &User{ID: "fay"}))
	for _, err := range []error{shared.Create(ctx, &User{ID: "eve", Email: "ana@x"}), check.Err(ChangeEmail(ctx, shared, "ana", "bob@x"))} {
		check.Is(t, err, table.ErrExists, "an e-mail that is taken")
	}
	check.OK(t, check.Err(ChangeEmail(ctx, shared, "ana", "ana@y")), check.Err(ChangeEmail(ctx, shared, "ana", "ana@y")), shared.Delete(ctx, userKey("bob")))
	for email, want := range map[string]bool{"ana@x": false, "ana@y": true, "bob@x": false} {
		check.Equal(t, email, isUnique(t, tbl, email), want)
	}
}

// storeAna stores a user as OneTable does.
func storeAna(t *testing.T, tbl *table.Table) {
	t.Helper()
	check.OK(t, tbl.Do(t.Context(), table.Put(userKey("ana"), map[string]any{"_type": "User", "id": "ana", "email": "ana@x", "updated": 1700000000000})),
		tbl.Do(t.Context(), table.Put(uniqueEmail("ana@x"), map[string]any{"_type": "_Unique"})))
}

func uniqueEmail(email string) keys.Key { return users.Shared.Unique(User{Email: email})[0] }

func isUnique(t *testing.T, tbl *table.Table, email string) bool {
	t.Helper()
	item, err := table.Get[map[string]string](t.Context(), tbl.Consistent(), uniqueEmail(email))
	if !errors.Is(err, table.ErrNotFound) {
		check.OK(t, err)
	}
	return item["_type"] == "_Unique"
}

// The release without Shared is guarded by the same attribute, a number or a text. So neither
// loses what the other one writes.
func TestTheNextReleaseNextToTheSharedOne(t *testing.T) {
	t.Parallel()
	nextUsers, nextNotes := users, noteEntity
	nextUsers.Shared, nextNotes.Shared = nil, nil
	user, note := User{ID: "ana", Updated: 1700000000000}, Note{ID: "n", Modified: "2026-01-02T03:04:05.000Z"}
	bothWrite(t, users, nextUsers, user, func(u *User) *string { return &u.Name })
	bothWrite(t, noteEntity, nextNotes, note, func(n *Note) *string { return &n.Text })
}

func bothWrite[T any](t *testing.T, shared, next repo.Entity[T], v T, text func(*T) *string) {
	t.Helper()
	ctx, tbl, key := t.Context(), tabletest.New(t, Schema, nil), shared.Key(v)
	releases := []*repo.Repo[T]{check.Must(repo.New(tbl, shared))(t), check.Must(repo.New(tbl, next))(t)}
	item := check.Must(attributevalue.MarshalMap(v))(t)
	item["_type"] = &types.AttributeValueMemberS{Value: shared.Type}
	check.OK(t, tbl.Do(ctx, table.Put(key, item)))
	for i, release := range releases {
		runs := 0
		_, err := release.Update(ctx, key, func(v *T) error {
			if runs++; runs == 1 {
				check.OK(t, check.Err(releases[1-i].Update(ctx, key, func(v *T) error { *text(v) += "b"; return nil })))
			}
			*text(v) += "a"
			return nil
		})
		check.OK(t, err)
	}
	got := check.Must(releases[1].Get(ctx, key))(t)
	check.Equal(t, shared.Type, *text(&got), "baba")
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), tabletest.New(t, Schema, nil)
	storeAna(t, tbl)
	taken := check.Must(repo.New(tbl, owned))(t)
	check.OK(t, TakeOver(ctx, tbl, taken))
	check.Equal(t, "OneTable's item", isUnique(t, tbl, "ana@x"), false)
	check.Is(t, taken.Create(ctx, &User{ID: "eve", Email: "ana@x"}), table.ErrExists)
	check.OK(t, check.Err(ChangeEmail(ctx, taken, "ana", "ana@y")))
	found := check.Must(taken.GetByClaim(ctx, owned.Claims(User{Email: "ana@y"})[0]))(t)
	check.Equal(t, "found", found.ID, "ana")
}
