package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// shelf is files in memory.
type shelf map[string]string

func (s shelf) Read(_ context.Context, name, revision string, from, most int64) (Part, error) {
	text, ok := s[name]
	now := fmt.Sprint("v", len(text))
	switch {
	case !ok:
		return Part{}, ErrNoFile
	case revision != "" && revision != now:
		return Part{}, ErrFileChanged
	}
	size := int64(len(text))
	return Part{Data: []byte(text[from:min(from+most, size)]), Revision: now, Size: size}, nil
}

// lines is a file of the catalogue, with rows that are invalid and none at the end of the
// last line.
func lines() string {
	var b strings.Builder
	for i, c := range catalogue() {
		fmt.Fprintf(&b, `{"type":"PRODUCT","path":[%q],"name":"Product","attributes":{"price":%d}}`+"\n", c.Code, c.Attributes["price"])
		if i == original {
			b.WriteString(`{"type":"PRODUCT","path":["X"],"NAME":"X"}` + "\n\n" + `{"type":"ORDER","path":["2024","ORD-000001"]}` + "\n")
			b.WriteString(`{"type":"PRODUCT","path":["X"],"version":1}` + "\n" + `{"type":"DEPT","path":["NO","TEAM"]}` + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// withFiles returns the system with files.
func (s system) withFiles(t *testing.T, tbl *table.Table, files Files) *Service {
	t.Helper()
	return check.Must(New(tbl, &Options{Files: files}))(t)
}

// checkFile checks that each row of the file was published or set aside, once.
func checkFile(t *testing.T, who Tenant) {
	t.Helper()
	task := check.Must(who.Task(t.Context(), importID))(t)
	check.Equal(t, "task", fmt.Sprint(task.Status, " ", task), fmt.Sprintf("DONE 100 %%: %d of %d done, 6 rejected", sourceRows-1, sourceRows+5))
	products := check.Must(who.history.Query(t.Context(), histories.query(who.caller.Tenant, NewRef("PRODUCT", "P-22"))))(t).Items
	check.Equal(t, "last product", []any{len(products), products[0].CreatedBy, products[0].Attributes["price"]}, []any{1, "ana", 21.0})
	var reasons []string
	for after := ""; ; { // a page of each length is the same list
		page := check.Must(who.Rejected(t.Context(), importID, 4, after))(t)
		for _, r := range page.Items {
			reasons = append(reasons, fmt.Sprintf("%d %s %s", r.Number, r.Change.Code, r.Reason))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	check.Equal(t, "set aside", reasons, []string{
		"5  an object has an unknown member", "6  the text must be one JSON value in UTF-8",
		"7 ORD-000001 invalid request: only a sequence gives numbers to a new ORDER",
		"8 X invalid request: an import makes new records, not later versions",
		"9 TEAM the parent does not exist", "25 P-04 the record exists already",
	})
}

// The process is killed after each of its requests, and the next one goes on.
func TestAnImportOfAFileGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	files := shelf{}
	for requests := 0; ; requests++ {
		caller := Caller{Tenant: fmt.Sprint("T-", requests), User: "ana"}
		files[caller.Tenant+"/rows.jsonl"] = lines()
		who := s.withFiles(t, s.table, files).as(caller)
		check.OK(t, who.ImportFile(t.Context(), importID, "rows.jsonl"))
		check.OK(t, who.ImportFile(t.Context(), importID, "rows.jsonl")) // a repeated call
		var faults tabletest.Faults
		faults.Next("", make([]tabletest.Fault, requests)...)
		faults.Always("", tabletest.DropRequest())
		dying := s.withFiles(t, s.through(t, &faults).table, files).as(caller)
		died := dying.finish(t.Context(), importID)
		check.OK(t, who.finish(t.Context(), importID))
		checkFile(t, who)
		if died == nil {
			return
		}
	}
}

func TestAFileThatCannotBeImported(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	const row = `{"type":"PRODUCT","path":["A"]}` + "\n"
	files := shelf{"ACME/rows": row, "ACME/empty": "", "ACME/long": row + `"` + strings.Repeat("x", MaxRow) + `"`, "ACME/endless": strings.Repeat("x", 3*MaxRow), "GLOBEX/theirs": row, "%2E%2E%2FACME/rows": row + row}
	acme := s.withFiles(t, s.table, files).as(s.acme().caller)
	check.Is(t, acme.ImportFile(t.Context(), importID, "theirs"), ErrNoFile, "of another tenant")
	for _, name := range []string{"", "../GLOBEX/theirs", "a/b", ".", "..", "empty", strings.Repeat("x", 201)} {
		check.Is(t, acme.ImportFile(t.Context(), importID, name), ErrInvalid, name)
	}
	check.Is(t, s.acme().ImportFile(t.Context(), importID, "rows"), ErrNoFile, "without files")
	for tenant, name := range map[string]string{"..": "%2E./x", ".": "%2E/x", "a/b": "a%2Fb/x", "a b%": "a%20b%25/x", "é": "%C3%A9/x"} {
		check.Equal(t, tenant, fileOf(tenant, "x"), name)
	}

	check.OK(t, acme.ImportFile(t.Context(), importID, "rows"))
	check.Is(t, acme.ImportFile(t.Context(), importID, "long"), ErrOtherSource, "another file")
	check.Is(t, acme.Import(t.Context(), importID, catalogue()), ErrOtherSource, "rows")
	files["ACME/rows"] += row
	check.OK(t, acme.finish(t.Context(), importID))
	task := check.Must(acme.Task(t.Context(), importID))(t)
	check.Equal(t, "changed", string(task.Status)+" "+task.Reason, "FAILED the file has changed since the import began")

	for name, want := range map[string]string{"long": "FAILED row 2 is longer than 64 KB 1", "endless": "FAILED row 1 is longer than 64 KB 0"} {
		check.OK(t, acme.ImportFile(t.Context(), name, name), acme.finish(t.Context(), name))
		task := check.Must(acme.Task(t.Context(), name))(t)
		check.Equal(t, name, fmt.Sprint(task.Status, " ", task.Reason, " ", task.Done), want)
	}
}

// A task that has ended expires, and what its import has left goes with it. One that runs
// does not expire.
func TestTasksExpire(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	ctx := t.Context()
	begun := s.clock.read()
	for _, id := range []string{"done", "cancelled", "running"} {
		check.OK(t, acme.Import(ctx, id, catalogue()))
	}
	check.OK(t, acme.finish(ctx, "done"))
	check.OK(t, acme.beginTask(ctx, "cancelled"), acme.Cancel(ctx, "cancelled", "called off"))
	check.OK(t, acme.beginTask(ctx, "running"))
	check.Equal(t, "kept until", check.Must(acme.Task(ctx, "done"))(t).ExpiresAt, begun.Add(taskLife).Unix())
	var faults tabletest.Faults
	faults.Next("", nil)
	faults.Always("", tabletest.DropRequest())
	if s.through(t, &faults).as(acme.caller).Import(ctx, "staging", catalogue()) == nil {
		t.Fatal("the process did not die")
	}

	s.clock.set(begun.Add(taskLife + time.Hour))
	left := check.Must(acme.Tasks(ctx, 0, ""))(t).Items
	check.Equal(t, "tasks left", []any{len(left), left[0].ID}, []any{1, "running"})
	// DynamoDB deletes them days later. Until then, the id can be used again.
	check.OK(t, acme.Import(ctx, "done", catalogue()[:1]))
	check.OK(t, acme.Import(ctx, "staging", catalogue()[:1]))
	check.OK(t, s.table.Do(ctx, table.Delete(taskKey("ACME", "cancelled"))))
	s.settle(t)
	for id, want := range map[string]int{"done": 2, "staging": 2, "cancelled": 0, "running": 1 + sourceRows} { // with the head
		area := table.Query{PK: importPrefix.PK("ACME", id)}
		found := check.Must(table.Collect(table.All[table.Item](ctx, s.table, area)))(t)
		check.Equal(t, "left of "+id, len(found), want)
	}
	check.OK(t, acme.sweep(ctx, Task{ID: "done", Name: importTask})) // a change of the former one, late
	check.Equal(t, "set aside", len(check.Must(acme.Rejected(ctx, "done", 0, ""))(t).Items), 1)
}

// A row that cannot be stored is set aside, and holds up nobody.
func TestARowThatCannotBeStoredIsSetAside(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ctx := t.Context()
	long := strings.Repeat("x", 1010) // too long for the key of a command only
	files := shelf{"ACME/rows.jsonl": `{"type":"PRODUCT","path":["A"],"attributes":{"price":1e-200}}` + "\n" +
		`{"type":"PRODUCT","path":["` + long + `"],"attributes":{"price":1}}` + "\n" +
		`{"type":"PRODUCT","path":["B"],"attributes":{"price":1}}`}
	who := s.withFiles(t, s.table, files).As(s.acme().caller)
	check.OK(t, who.ImportFile(ctx, importID, "rows.jsonl"))
	check.OK(t, who.finish(ctx, importID))
	check.Equal(t, "task", check.Must(who.Task(ctx, importID))(t).String(), "100 %: 1 of 3 done, 2 rejected")
	rejects := check.Must(who.Rejected(ctx, importID, 0, ""))(t).Items
	check.Equal(t, "reason", rejects[1].Reason, "a code is empty, too long or not text")

	// What no check has seen is refused as it is published, and its row is kept without it.
	check.OK(t, who.ImportFile(ctx, "unchecked", "rows.jsonl"))
	check.OK(t, who.beginTask(ctx, "unchecked"))
	tiny := waiting{Row: Row{ImportID: "unchecked", TenantCode: "ACME", Number: 1, Change: Change{Ref: lamp, Attributes: map[string]any{"price": 1e-200}}}, to: "1"}
	task := check.Must(who.Task(ctx, "unchecked"))(t)
	tiny.from = task.Position
	check.OK(t, who.importRows(ctx, "unchecked", []waiting{tiny}))
	rejects = check.Must(who.Rejected(ctx, "unchecked", 0, ""))(t).Items
	check.Equal(t, "unchecked", []any{len(rejects), rejects[0].Reason, rejects[0].Change.Code, len(rejects[0].Change.Attributes)},
		[]any{1, "the row cannot be stored", lamp.Code, 0})
}

// A row that no transaction could hold is refused before the import begins.
func TestARowThatCannotBeStoredBeginsNoImport(t *testing.T) {
	t.Parallel()
	who := newSystem(t).acme()
	for name, c := range map[string]Change{
		"key":  {Ref: NewRef("PRODUCT", strings.Repeat("x", 1010))},
		"size": {Ref: lamp, Name: strings.Repeat("x", MaxRow)},
	} {
		err := who.Import(t.Context(), importID, []Change{{Ref: NewRef("PRODUCT", "A")}, c})
		if !errors.Is(err, ErrInvalid) && !errors.Is(err, keys.ErrInvalid) || !strings.HasPrefix(err.Error(), "row 2: ") {
			t.Errorf("%s: %v", name, err)
		}
		check.Is(t, check.Err(who.Task(t.Context(), importID)), table.ErrNotFound, name)
	}
}
