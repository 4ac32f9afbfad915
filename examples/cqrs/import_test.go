package main

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
			Ref:  ref("PRODUCT", fmt.Sprintf("P-%02d", i+1)),
			Name: "Product", Attributes: map[string]any{"price": i},
		}
	}
	source[repeated] = source[original]
	return source
}

// checkImported checks that each row of the catalogue was published once, and
// that nothing is left in the temporary area but the row that was set aside.
func checkImported(t *testing.T, who tenant) {
	t.Helper()
	ctx := t.Context()
	task := check.Must(who.task(ctx, importID))(t)
	check.Equal(t, "task", string(task.Status)+" "+progressText(task), fmt.Sprintf("DONE 100 %%: %d of %d done, 1 rejected", sourceRows-1, sourceRows))
	page := check.Must(who.list(ctx, "PRODUCT", 0, ""))(t)
	var got, want []string
	for _, r := range page.Items {
		got = append(got, fmt.Sprint(r.Code, " at ", r.Version, " price ", r.Attributes["price"]))
	}
	for i, c := range catalogue() {
		if i != repeated {
			want = append(want, fmt.Sprint(c.Code, " at 1 price ", i))
		}
	}
	check.Equal(t, "products", got, want)
	for of, partition := range map[string]keys.PK{
		"commands": keys.Prefix("PRODUCT_CMD").PK(who.caller.Tenant),
		"history":  keys.Prefix("PRODUCT_HIST").PK(who.caller.Tenant),
	} {
		items := check.Must(table.Collect(table.All[table.Item](ctx, who.table, table.Query{PK: partition})))(t)
		check.Equal(t, of, len(items), sourceRows-1)
	}
	area := table.Query{PK: importPrefix.PK(who.caller.Tenant, importID), Range: rowPrefix.All()}
	waiting := check.Must(table.Collect(who.rows.All(ctx, area)))(t)
	check.Equal(t, "rows left", len(waiting), 0)
	rejects := check.Must(who.rejected(ctx, importID))(t)
	if len(rejects) != 1 || rejects[0].Number != repeated+1 || rejects[0].Reason != "the record exists already" {
		t.Errorf("set aside: %+v", rejects)
	}
}

func TestAnImportSurvivesItsEndAtEveryRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for name, last := range map[string]tabletest.Fault{
		"before": tabletest.DropRequest(),
		"after":  tabletest.DropResponse(), // the last request is carried out, unknown to the process
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for requests := 0; ; requests++ {
				caller := Caller{Tenant: fmt.Sprintf("%s-%d", name, requests), User: "ana"}
				var faults tabletest.Faults
				faults.Next("", append(make([]tabletest.Fault, requests), last)...)
				faults.Always("", tabletest.DropRequest())
				_, err := s.through(t, &faults).as(caller).importRows(t.Context(), importID, catalogue(), nil)
				if _, err := s.as(caller).importRows(t.Context(), importID, catalogue(), nil); err != nil {
					t.Fatalf("after %d requests: %v", requests, err)
				}
				checkImported(t, s.as(caller))
				if err == nil { // it did not come to the fault
					if requests < 15 {
						t.Errorf("it took %d requests", requests)
					}
					return
				}
			}
		})
	}
}

func TestImportersAtTheSameTimeShareTheWork(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	check.Together(4, func(int) {
		for {
			_, err := s.acme().importRows(t.Context(), importID, catalogue(), nil)
			if err == nil {
				return
			}
			if !errors.Is(err, table.ErrConflict) {
				t.Error(err)
				return
			}
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
		caller := Caller{Tenant: fmt.Sprint("T-", requests)}
		release, reached := make(chan struct{}), make(chan struct{})
		var faults tabletest.Faults
		faults.Next("", append(make([]tabletest.Fault, requests), stop(reached, release))...)
		late := s.through(t, &faults).as(caller)
		ended := make(chan error, 1)
		go func() {
			_, err := late.importRows(t.Context(), importID, catalogue(), nil)
			ended <- err
		}()
		<-reached
		check.Must(s.as(caller).importRows(t.Context(), importID, catalogue(), nil))(t)
		close(release)
		if err := <-ended; err != nil {
			t.Errorf("late after %d requests: %v", requests, err)
		}
		checkImported(t, s.as(caller))
	}
}

func TestAnImportIsBegunOnceForItsRows(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	check.Must(s.acme().importRows(t.Context(), importID, catalogue(), nil))(t)
	check.Is(t, check.Err(s.acme().importRows(t.Context(), importID, catalogue()[1:], nil)), ErrOtherSource, "other rows")
	check.Must(s.acme().importRows(t.Context(), importID, catalogue(), nil))(t) // done already
	checkImported(t, s.acme())
	empty := check.Must(s.acme().importRows(t.Context(), "none", nil, nil))(t)
	check.Equal(t, "status of an import of nothing", empty.Status, Done)
}

func TestImportedRowsMustBeRight(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for name, c := range map[string]Change{
		"type":    {Ref: ref("TASK", "X")},
		"code":    {Ref: ref("PRODUCT", "")},
		"version": {Ref: ref("PRODUCT", "X"), Version: 1},
	} {
		if _, err := s.acme().importRows(t.Context(), importID, append(catalogue(), c), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	check.Is(t, check.Err(s.acme().task(t.Context(), importID)), table.ErrNotFound, "the task")
}

func TestAnImportMayHoldATree(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var source []Change
	for _, path := range [][]string{{"A"}, {"A", "B"}, {"A", "C"}, {"A", "B", "D"}, {"Z", "ORPHAN"}} {
		source = append(source, Change{Ref: ref("DEPT", path...)})
	}
	task := check.Must(s.acme().importRows(t.Context(), importID, source, nil))(t)
	check.Equal(t, "progress", progressText(task), "100 %: 4 of 5 done, 1 rejected")
	rejects := check.Must(s.acme().rejected(t.Context(), importID))(t)
	if len(rejects) != 1 || rejects[0].Reason != "the parent does not exist" {
		t.Errorf("set aside: %+v", rejects)
	}
}

func TestAnImportThatWasStoppedStaysSo(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	watch := func(task Task) {
		if task.Done > 0 {
			if err := acme.failTask(context.Background(), importID, "called off"); err != nil {
				t.Error(err)
			}
		}
	}
	for range 2 {
		check.Is(t, check.Err(acme.importRows(t.Context(), importID, catalogue(), watch)), ErrNotRunning)
		watch = nil
	}
	page := check.Must(acme.list(t.Context(), "PRODUCT", 0, ""))(t)
	check.Equal(t, "products", len(page.Items), importChunk)
}

func TestRowsThatWereLostAreNoticed(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	faults.Next("", nil, nil, nil, nil, tabletest.DropRequest()) // open, stage twice, begin
	if _, err := s.through(t, &faults).as(s.acme().caller).importRows(t.Context(), importID, catalogue(), nil); err == nil {
		t.Fatal("it did not end")
	}
	check.OK(t, s.rows.Delete(t.Context(), rowEntity.Key(Row{TenantCode: "ACME", ImportID: importID, Number: sourceRows})))
	check.Is(t, check.Err(s.acme().importRows(t.Context(), importID, catalogue(), nil)), table.ErrNotFound)
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
