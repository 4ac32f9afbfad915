package core

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
)

func TestATaskTakesItsStepsInOrder(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	ctx := t.Context()
	refused := func(what string, err error) {
		t.Helper()
		check.Is(t, err, table.ErrConditionFailed, what)
	}
	count := func(done, rejected int) error { return s.table.Transact(ctx, acme.progress("t", done, rejected)) }
	refused("work for no task", count(1, 0))
	refused("begin no task", acme.beginTask(ctx, "t"))
	check.Is(t, acme.Cancel(ctx, "t", "no disk"), table.ErrNotFound, "cancel no task")
	check.OK(t, acme.createTask(ctx, "t", "test", 10))
	check.Is(t, acme.createTask(ctx, "t", "test", 10), table.ErrExists, "an id twice")
	refused("work before the beginning", count(1, 0))
	check.Is(t, acme.Cancel(ctx, "t", "no disk"), ErrNotRunning, "cancel before the beginning")
	check.OK(t, acme.beginTask(ctx, "t"))
	refused("begin twice", acme.beginTask(ctx, "t"))
	check.OK(t, count(6, 1))
	refused("more than there is", count(3, 1))
	refused("finish early", acme.finishTask(ctx, "t"))
	got := check.Must(acme.Task(ctx, "t"))(t)
	check.Equal(t, "progress", got.String(), "70 %: 6 of 10 done, 1 rejected")
	check.OK(t, acme.Cancel(ctx, "t", "no disk"))
	refused("work after the end", count(1, 0))
	check.Is(t, acme.Cancel(ctx, "t", "no disk"), ErrNotRunning, "cancel twice")
	refused("finish after the end", acme.finishTask(ctx, "t"))
	got = check.Must(acme.Task(ctx, "t"))(t)
	check.Equal(t, "end", string(got.Status)+": "+got.Reason, "FAILED: no disk")
	all := check.Must(acme.Tasks(ctx, 0, ""))(t).Items
	check.Equal(t, "list", all, []Task{got})
	check.Equal(t, "not begun", Task{Status: Pending}.Percent(), 0)
	check.Equal(t, "a rebuild", Task{Status: Running, Name: rebuildTask, Total: 25, Done: 25}.Percent(), 0)
	check.Equal(t, "half of a file", Task{Status: Running, Size: 10, Position: "5"}.Percent(), 50)
	check.Equal(t, "nothing to do", Task{Status: Done}.Percent(), 100)
}
