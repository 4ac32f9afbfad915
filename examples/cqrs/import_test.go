package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

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
	task := must[Task](t)(who.task(ctx, importID))
	equal(t, "task", string(task.Status)+" "+progressText(task), fmt.Sprintf("DONE 100 %%: %d of %d done, 1 rejected", sourceRows-1, sourceRows))
	page := must[table.Page[Record]](t)(who.list(ctx, "PRODUCT", 0, ""))
	var got, want []string
	for _, r := range page.Items {
		got = append(got, fmt.Sprint(r.Code, " at ", r.Version, " price ", r.Attributes["price"]))
	}
	for i, c := range catalogue() {
		if i != repeated {
			want = append(want, fmt.Sprint(c.Code, " at 1 price ", i))
		}
	}
	equal(t, "products", got, want)
	for of, partition := range map[string]keys.PK{
		"commands": keys.Prefix("PRODUCT_CMD").PK(who.caller.Tenant),
		"history":  keys.Prefix("PRODUCT_HIST").PK(who.caller.Tenant),
	} {
		items := must[[]table.Item](t)(table.Collect(table.All[table.Item](ctx, who.table, table.Query{PK: partition})))
		equal(t, of, len(items), sourceRows-1)
	}
	area := table.Query{PK: importPrefix.PK(who.caller.Tenant, importID), Range: rowPrefix.All()}
	waiting := must[[]Row](t)(table.Collect(who.rows.All(ctx, area)))
	equal(t, "rows left", len(waiting), 0)
	rejects := must[[]Reject](t)(who.rejected(ctx, importID))
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

func TestAnImportSurvivesAnyNumberOfEnds(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	random := rand.New(rand.NewPCG(7, 7))
	lives := 1
	for ; ; lives++ {
		var faults tabletest.Faults
		faults.Next("", make([]tabletest.Fault, 8+random.IntN(4))...)
		faults.Always("", tabletest.DropResponse())
		if _, err := s.through(t, &faults).as(s.acme().caller).importRows(t.Context(), importID, catalogue(), nil); err == nil {
			break
		}
		if lives == 50 {
			t.Fatal("it does not get on")
		}
	}
	if lives == 1 {
		t.Error("it did not end before it was done")
	}
	checkImported(t, s.acme())
}

func TestImportersAtTheSameTimeShareTheWork(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var importers sync.WaitGroup
	for range 4 {
		importers.Go(func() {
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
	}
	importers.Wait()
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
		must[Task](t)(s.as(caller).importRows(t.Context(), importID, catalogue(), nil))
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
	must[Task](t)(s.acme().importRows(t.Context(), importID, catalogue(), nil))
	if _, err := s.acme().importRows(t.Context(), importID, catalogue()[1:], nil); !errors.Is(err, ErrOtherSource) {
		t.Errorf("other rows: %v", err)
	}
	must[Task](t)(s.acme().importRows(t.Context(), importID, catalogue(), nil)) // done already
	checkImported(t, s.acme())
	empty := must[Task](t)(s.acme().importRows(t.Context(), "none", nil, nil))
	equal(t, "status of an import of nothing", empty.Status, Done)
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
	if _, err := s.acme().task(t.Context(), importID); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("the task: %v", err)
	}
}

func TestAnImportMayHoldATree(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var source []Change
	for _, path := range [][]string{{"A"}, {"A", "B"}, {"A", "C"}, {"A", "B", "D"}, {"Z", "ORPHAN"}} {
		source = append(source, Change{Ref: ref("DEPT", path...)})
	}
	task := must[Task](t)(s.acme().importRows(t.Context(), importID, source, nil))
	equal(t, "progress", progressText(task), "100 %: 4 of 5 done, 1 rejected")
	rejects := must[[]Reject](t)(s.acme().rejected(t.Context(), importID))
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
		if _, err := acme.importRows(t.Context(), importID, catalogue(), watch); !errors.Is(err, ErrNotRunning) {
			t.Errorf("error: %v", err)
		}
		watch = nil
	}
	page := must[table.Page[Record]](t)(acme.list(t.Context(), "PRODUCT", 0, ""))
	equal(t, "products", len(page.Items), importChunk)
}

func TestRowsThatWereLostAreNoticed(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	faults.Next("", nil, nil, nil, nil, tabletest.DropRequest()) // open, stage twice, begin
	if _, err := s.through(t, &faults).as(s.acme().caller).importRows(t.Context(), importID, catalogue(), nil); err == nil {
		t.Fatal("it did not end")
	}
	if err := s.rows.Delete(t.Context(), rowEntity.Key(Row{TenantCode: "ACME", ImportID: importID, Number: sourceRows})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.acme().importRows(t.Context(), importID, catalogue(), nil); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("error: %v", err)
	}
}
