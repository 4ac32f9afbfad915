package main

import (
	"errors"
	"sync"
	"testing"

	"github.com/singletable/singletable/table"
)

func TestProgressAddsUp(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	begin(t, acme, "t-1", 40)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 5 {
				// Conflicts between transactions pass; the work was not done then.
				err := table.ErrConflict
				for errors.Is(err, table.ErrConflict) {
					err = s.table.Transact(t.Context(), acme.progress("t-1", 1, 0))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	got := must[Task](t)(acme.task(t.Context(), "t-1"))
	equal(t, "progress", progressText(got), "100 %: 40 of 40 done, 0 rejected")
	if err := acme.finishTask(t.Context(), "t-1"); err != nil {
		t.Fatal(err)
	}
	equal(t, "status", must[Task](t)(acme.task(t.Context(), "t-1")).Status, Done)
}

func begin(t *testing.T, who tenant, id string, total int) {
	t.Helper()
	if err := errors.Join(who.createTask(t.Context(), id, "test", total), who.beginTask(t.Context(), id)); err != nil {
		t.Fatal(err)
	}
}

func TestATaskTakesItsStepsInOrder(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	ctx := t.Context()
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, table.ErrConditionFailed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	count := func(done, rejected int) error { return s.table.Transact(ctx, acme.progress("t", done, rejected)) }
	refused("work for no task", count(1, 0))
	refused("begin no task", acme.beginTask(ctx, "t"))
	if err := acme.createTask(ctx, "t", "test", 10); err != nil {
		t.Fatal(err)
	}
	if err := acme.createTask(ctx, "t", "test", 10); !errors.Is(err, table.ErrExists) {
		t.Errorf("an id twice: %v", err)
	}
	refused("work before the beginning", count(1, 0))
	if err := acme.beginTask(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	refused("begin twice", acme.beginTask(ctx, "t"))
	if err := count(6, 1); err != nil {
		t.Fatal(err)
	}
	refused("more than there is", count(3, 1))
	refused("finish early", acme.finishTask(ctx, "t"))
	got := must[Task](t)(acme.task(ctx, "t"))
	equal(t, "progress", progressText(got), "70 %: 6 of 10 done, 1 rejected")
	if err := acme.failTask(ctx, "t", "no disk"); err != nil {
		t.Fatal(err)
	}
	refused("work after the end", count(1, 0))
	refused("finish after the end", acme.finishTask(ctx, "t"))
	got = must[Task](t)(acme.task(ctx, "t"))
	equal(t, "end", string(got.Status)+": "+got.Reason, "FAILED: no disk")
	all := must[[]Task](t)(acme.taskList(ctx))
	equal(t, "list", all, []Task{got})
	equal(t, "nothing to do", Task{}.Percent(), 100)
}
