package core

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
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

// importAll stages the rows of a source and does the steps of the task.
func importAll(ctx context.Context, who Tenant, source []Change) error {
	if err := who.Import(ctx, importID, source); err != nil {
		return err
	}
	return who.finish(ctx, importID)
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
	rejects := check.Must(who.Rejected(ctx, importID, 0, ""))(t).Items
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
	s.settle(t)
	checkImported(t, s.acme())

	// All changes are delivered again.
	before := generated.Stored(t, s.table)
	s.settleAs(t, "again")
	after := slices.DeleteFunc(generated.Stored(t, s.table), func(item table.Item) bool {
		return s.table.KeyOf("", item).PK == "MARKER#again"
	})
	check.Equal(t, "table", after, before, cmp.Comparer(func(a, b types.AttributeValue) bool { return reflect.DeepEqual(a, b) }))

	check.OK(t, s.acme().RebuildCatalogue(t.Context(), "rebuild"))
	check.Is(t, s.acme().Import(t.Context(), "rebuild", catalogue()), table.ErrExists, "the id of another task")
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
	check.Is(t, s.acme().Import(t.Context(), importID, nil), ErrInvalid, "without rows")
	check.Is(t, check.Err(s.acme().Task(t.Context(), importID)), table.ErrNotFound, "the task")
}

func TestAnImportMayHoldATree(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var source []Change
	for _, path := range [][]string{{"A"}, {"A", "B"}, {"A", "C"}, {"A", "B", "D"}, {"Z", "ORPHAN"}} {
		source = append(source, Change{Ref: NewRef("DEPT", path...)})
	}
	check.OK(t, importAll(t.Context(), s.acme(), source))
	task := check.Must(s.acme().Task(t.Context(), importID))(t)
	check.Equal(t, "progress", task.String(), "100 %: 4 of 5 done, 1 rejected")
	rejects := check.Must(s.acme().Rejected(t.Context(), importID, 0, ""))(t).Items
	if len(rejects) != 1 || rejects[0].Reason != "the parent does not exist" {
		t.Errorf("set aside: %+v", rejects)
	}
}

func TestAnImportThatWasCancelledStaysSo(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	check.OK(t, acme.Import(t.Context(), importID, catalogue()))
	for range 2 { // it begins, and publishes the first rows
		check.OK(t, acme.work(t.Context(), check.Must(acme.Task(t.Context(), importID))(t)))
	}
	check.OK(t, acme.Cancel(t.Context(), importID, "called off"))
	s.settle(t) // it blocks no stream
	check.OK(t, acme.Import(t.Context(), importID, catalogue()))
	s.settle(t)
	check.Equal(t, "status", check.Must(acme.Task(t.Context(), importID))(t).Status, Failed)
	page := check.Must(acme.List(t.Context(), "PRODUCT", 0, ""))(t)
	check.Equal(t, "products", len(page.Items), importChunk)
}

// Nothing is published of an import whose process died before all rows were staged.
func TestAnImportIsStagedAsAWhole(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var faults tabletest.Faults
	faults.Next("", nil, nil) // the head, and the first rows
	faults.Always("", tabletest.DropRequest())
	dying := s.through(t, &faults).as(s.acme().caller)
	if err := dying.Import(t.Context(), importID, catalogue()); err == nil {
		t.Fatal("the process did not die")
	}
	s.settle(t)
	check.Equal(t, "tasks that were resumed", check.Must(s.Resume(t.Context(), 0))(t), 0)
	check.Equal(t, "status", check.Must(s.acme().Task(t.Context(), importID))(t).Status, Staging)
	check.Equal(t, "products", len(check.Must(s.acme().List(t.Context(), "PRODUCT", 0, ""))(t).Items), 0)

	check.OK(t, s.acme().Import(t.Context(), importID, catalogue()))
	s.settle(t)
	checkImported(t, s.acme())
}

// The process that works on imports and a rebuild is killed after some of its requests.
// No stream is delivered. The next process finds what is left.
func TestTasksAreResumedAtTheStart(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for requests := 1; ; requests += 13 {
		var tenants []Tenant
		for i := range 2 {
			who := s.as(Caller{Tenant: fmt.Sprintf("T-%d-%d", requests, i), User: "ana"})
			check.OK(t, who.Import(t.Context(), importID, catalogue()))
			tenants = append(tenants, who)
		}
		check.OK(t, tenants[0].RebuildCatalogue(t.Context(), "rebuild"))
		var faults tabletest.Faults
		faults.Next("", make([]tabletest.Fault, requests)...)
		ctx, kill := context.WithCancel(t.Context())
		faults.Always("", func(*http.Request, http.RoundTripper) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		})
		_, died := s.through(t, &faults).Resume(ctx, 0)
		kill()
		left := check.Must(s.Resume(t.Context(), 0))(t)
		for _, who := range tenants {
			checkImported(t, who)
		}
		check.Equal(t, "rebuild", check.Must(tenants[0].Task(t.Context(), "rebuild"))(t).Status, Done)
		check.Equal(t, "left after that", check.Must(s.Resume(t.Context(), 0))(t), 0)
		if died == nil {
			check.Equal(t, "left", left, 0)
			return
		}
	}
}

func TestATaskThatCannotGoOnIsAnError(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	check.OK(t, s.acme().Import(t.Context(), importID, catalogue()[:2]))
	first := Row{ImportID: importID, TenantCode: "ACME", Number: 1}
	check.OK(t, s.table.Do(t.Context(), table.Delete(first.Key()))) // by another program
	other := s.as(Caller{Tenant: "GLOBEX", User: "bob"})
	check.OK(t, other.Import(t.Context(), importID, catalogue()))
	found, err := s.Resume(t.Context(), 0)
	check.Equal(t, "tasks", found, 2)
	check.Is(t, err, ErrStuck)
	checkImported(t, other)
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
