package core

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const importID = "imp-1"

// What the catalogue has: rows enough for two chunks in and out of the temporary
// area, and in the second a product that is in the first one too.
const (
	sourceRows = 22
	original   = 3
	repeated   = 19
)

func catalogue() []Change {
	source := make([]Change, sourceRows)
	for i := range source {
		source[i] = Change{
			Ref:  NewRef("PRODUCT", fmt.Sprintf("P-%02d", i+1)),
			Name: "Product", Attributes: map[string]any{"price": i},
		}
	}
	source[repeated] = source[original]
	return source
}

// deliver gives the changes of an import to the handlers, as often as it is called.
func deliver(ctx context.Context, who Tenant, rows int) error {
	for n := range rows {
		if err := who.importRow(ctx, Row{ImportID: importID, TenantCode: who.caller.Tenant, Number: n + 1}); err != nil {
			return err
		}
	}
	task, err := who.Task(ctx, importID)
	if err != nil {
		return err
	}
	return who.work(ctx, task)
}

// importAll stages the rows of a source and delivers their changes.
func importAll(ctx context.Context, who Tenant, source []Change) error {
	if err := who.Import(ctx, importID, source); err != nil {
		return err
	}
	return deliver(ctx, who, len(source))
}

// checkImported checks that each row of the catalogue was published once, and
// that nothing is left in the temporary area but the row that was set aside.
func checkImported(t *testing.T, who Tenant) {
	t.Helper()
	ctx := t.Context()
	task := check.Must(who.Task(ctx, importID))(t)
	check.Equal(t, "task", string(task.Status)+" "+task.String(), fmt.Sprintf("DONE 100 %%: %d of %d done, 1 rejected", sourceRows-1, sourceRows))
	published := check.Must(table.Collect(who.history.All(ctx, table.Query{PK: keys.Prefix("PRODUCT_HIST").PK(who.caller.Tenant)})))(t)
	var got, want []string
	for _, h := range published {
		got = append(got, fmt.Sprint(h.Code, " at ", h.Version, " price ", h.Attributes["price"], " by ", h.CreatedBy))
	}
	for i, c := range catalogue() {
		if i != repeated {
			want = append(want, fmt.Sprint(c.Code, " at 1 price ", i, " by ", who.caller.User))
		}
	}
	check.Equal(t, "published", got, want)
	commands := check.Must(table.Collect(who.commands.All(ctx, table.Query{PK: keys.Prefix("PRODUCT_CMD").PK(who.caller.Tenant)})))(t)
	check.Equal(t, "commands", len(commands), sourceRows-1)
	area := table.Query{PK: importPrefix.PK(who.caller.Tenant, importID), Range: rowPrefix.All()}
	waiting := check.Must(table.Collect(who.rows.All(ctx, area)))(t)
	check.Equal(t, "rows left", len(waiting), 0)
	rejects := check.Must(who.Rejected(ctx, importID))(t)
	if len(rejects) != 1 || rejects[0].Number != repeated+1 || rejects[0].Reason != "the record exists already" {
		t.Errorf("set aside: %+v", rejects)
	}
}

func TestAnImportIsDoneByTheStream(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	check.OK(t, s.acme().Import(t.Context(), importID, catalogue()))
	s.settle(t)
	checkImported(t, s.acme())
	checkAudit(t, s.acme())
	check.Equal(t, "products", len(check.Must(s.acme().List(t.Context(), "PRODUCT", 0, ""))(t).Items), sourceRows-1)
	check.Equal(t, "listings", len(check.Must(s.acme().Catalogue(t.Context(), 0, ""))(t).Items), sourceRows-1)

	check.Is(t, s.acme().Import(t.Context(), importID, catalogue()[1:]), ErrOtherSource, "other rows")
	check.OK(t, s.acme().Import(t.Context(), importID, catalogue())) // done already
	check.OK(t, s.acme().Import(t.Context(), "none", nil))
	s.settle(t)
	checkImported(t, s.acme())
	check.Equal(t, "status of an import of nothing", check.Must(s.acme().Task(t.Context(), "none"))(t).Status, Done)
}

func TestAnImportSurvivesItsEndAtEveryWrite(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	const write = "TransactWriteItems"
	for name, last := range map[string]tabletest.Fault{
		"before": tabletest.DropRequest(),
		"after":  tabletest.DropResponse(), // the last write is carried out, unknown to the process
	} {
		for writes := 0; ; writes++ {
			who := s.as(Caller{Tenant: fmt.Sprintf("%s-%d", name, writes), User: "ana"})
			var faults tabletest.Faults
			faults.Next(write, append(make([]tabletest.Fault, writes), last)...)
			err := importAll(t.Context(), s.through(t, &faults).as(who.caller), catalogue())
			check.OK(t, importAll(t.Context(), who, catalogue()))
			checkImported(t, who)
			if err == nil { // it did not come to the fault
				if writes < 10 {
					t.Errorf("it took %d writes", writes)
				}
				break
			}
		}
	}
}

func TestImportersAtTheSameTimeShareTheWork(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	check.Together(4, func(int) {
		err := table.ErrConflict
		for errors.Is(err, table.ErrConflict) {
			err = importAll(t.Context(), s.acme(), catalogue())
		}
		if err != nil {
			t.Error(err)
		}
	})
	checkImported(t, s.acme())
}

// A process that was thought dead, and stopped between two of its requests,
// comes back when another one has finished its import.
func TestALateImporterChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for requests := range 8 {
		caller := Caller{Tenant: fmt.Sprint("T-", requests), User: "ana"}
		release, reached := make(chan struct{}), make(chan struct{})
		var faults tabletest.Faults
		faults.Next("", append(make([]tabletest.Fault, requests), stop(reached, release))...)
		late := s.through(t, &faults).as(caller)
		ended := make(chan error, 1)
		go func() { ended <- importAll(t.Context(), late, catalogue()) }()
		<-reached
		check.OK(t, importAll(t.Context(), s.as(caller), catalogue()))
		close(release)
		if err := <-ended; err != nil {
			t.Errorf("late after %d requests: %v", requests, err)
		}
		checkImported(t, s.as(caller))
	}
}

func TestImportedRowsMustBeRight(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for name, c := range map[string]Change{
		"type":    {Ref: NewRef("TASK", "X")},
		"code":    {Ref: NewRef("PRODUCT", "")},
		"version": {Ref: NewRef("PRODUCT", "X"), Version: 1},
	} {
		if err := s.acme().Import(t.Context(), importID, append(catalogue(), c)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	check.Is(t, check.Err(s.acme().Task(t.Context(), importID)), table.ErrNotFound, "the task")
}

// The rows of a tree are delivered from the last to the first. Parents are published
// before what is below them.
func TestAnImportMayHoldATree(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var source []Change
	for _, path := range [][]string{{"A"}, {"A", "B"}, {"A", "C"}, {"A", "B", "D"}, {"Z", "ORPHAN"}} {
		source = append(source, Change{Ref: NewRef("DEPT", path...)})
	}
	check.OK(t, s.acme().Import(t.Context(), importID, source))
	for n := len(source); n > 0; n-- {
		check.OK(t, s.acme().importRow(t.Context(), Row{ImportID: importID, TenantCode: "ACME", Number: n}))
	}
	task := check.Must(s.acme().Task(t.Context(), importID))(t)
	check.Equal(t, "progress", task.String(), "100 %: 4 of 5 done, 1 rejected")
	rejects := check.Must(s.acme().Rejected(t.Context(), importID))(t)
	if len(rejects) != 1 || rejects[0].Reason != "the parent does not exist" {
		t.Errorf("set aside: %+v", rejects)
	}
}

func TestARowHasLeftWhenItsHandlerReturns(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	check.OK(t, s.acme().Import(t.Context(), importID, catalogue()))
	last := Row{ImportID: importID, TenantCode: "ACME", Number: sourceRows} // delivered first
	check.OK(t, s.acme().importRow(t.Context(), last))
	check.Is(t, check.Err(s.rows.Consistent().Get(t.Context(), last.Key())), table.ErrNotFound)
}

func TestAnImportThatWasStoppedStaysSo(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	check.OK(t, acme.Import(t.Context(), importID, catalogue()))
	check.OK(t, acme.importRow(t.Context(), Row{ImportID: importID, TenantCode: "ACME", Number: 1}))
	check.OK(t, acme.Cancel(t.Context(), importID, "called off"))
	s.settle(t) // no row blocks the stream
	check.OK(t, acme.Import(t.Context(), importID, catalogue()))
	s.settle(t)
	check.Equal(t, "status", check.Must(acme.Task(t.Context(), importID))(t).Status, Failed)
	page := check.Must(acme.List(t.Context(), "PRODUCT", 0, ""))(t)
	check.Equal(t, "products", len(page.Items), importChunk)
}

// stop is a request that says that it was reached, and waits.
func stop(reached chan<- struct{}, release <-chan struct{}) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		close(reached)
		select {
		case <-release:
			return next.RoundTrip(r)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}
