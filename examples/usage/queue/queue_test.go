package queue_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/queue"
)

func open(t *testing.T, file string) *queue.Queue {
	t.Helper()
	return check.Must(queue.Open(queue.Options{Visibility: time.Minute, MaxReceives: 2, File: file}))(t)
}

func bodies(messages []queue.Message) (bodies []string) {
	for _, m := range messages {
		bodies = append(bodies, m.Body)
	}
	return bodies
}

func TestAMessageIsDeliveredUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := open(t, "")
		ids := q.Send("a", "b", "c")
		check.Equal(t, "first", bodies(q.Receive(t.Context(), 2)), []string{"a", "b"})
		check.Equal(t, "the rest", bodies(q.Receive(t.Context(), 2)), []string{"c"})
		check.Equal(t, "contents", q.Contents(), queue.Contents{InFlight: 3, Dead: []queue.Message{}})
		q.Delete(ids[0])

		start := time.Now()
		check.Equal(t, "again", bodies(q.Receive(t.Context(), 10)), []string{"b", "c"})
		check.Equal(t, "timeout", time.Since(start), time.Minute)
		q.Delete(ids[1])

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		check.Equal(t, "a third time", len(q.Receive(ctx, 10)), 0)
		check.Equal(t, "contents", q.Contents(), queue.Contents{Dead: []queue.Message{{ID: ids[2], Body: "c", Receives: 2}}}, cmpopts.IgnoreUnexported(queue.Message{}))
		check.Equal(t, "replayed", check.Must(q.Replay())(t), 1)
		again := q.Receive(t.Context(), 10)
		check.Equal(t, "replayed", bodies(again), []string{"c"})
		if again[0].ID == ids[2] || again[0].Receives != 1 {
			t.Errorf("%+v", again)
		}
	})
}

func TestAReceiverIsWokenByASend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := open(t, "")
		got := make(chan []queue.Message)
		go func() { got <- q.Receive(t.Context(), 10) }()
		synctest.Wait()
		start := time.Now()
		q.Send("a")
		check.Equal(t, "received", bodies(<-got), []string{"a"})
		check.Equal(t, "waited", time.Since(start), 0)
	})
}

// A program that is killed has perhaps counted what it was delivered. As a dead letter
// it would be counted again by a replay, under a new id.
func TestADeliveryThatWasCutOffMakesNoDeadLetter(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "queue.json")
	q := open(t, file)
	q.Send("a")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 3 { // one more than are allowed
		check.Equal(t, "received", bodies(q.Receive(ctx, 1)), []string{"a"})
		check.OK(t, q.Save())
		q = open(t, file)
	}
	check.Equal(t, "dead letters", len(q.Contents().Dead), 0)
}

func TestAReplayIsSaved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "queue.json")
	check.OK(t, os.WriteFile(file, []byte(`{"dead":[{"messageId":"1","body":"a","receives":2}]}`), 0o600))
	check.Equal(t, "replayed", check.Must(open(t, file).Replay())(t), 1)
	check.Equal(t, "contents", open(t, file).Contents(), queue.Contents{Visible: 1, Dead: []queue.Message{}})
}

func TestAQueueIsSaved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "queue.json")
	q := open(t, file)
	q.Send("in flight", "done", "waiting")
	check.Equal(t, "received", len(q.Receive(t.Context(), 2)), 2)
	q.Delete(q.Send("done as well")...)
	check.OK(t, q.Save())
	check.Equal(t, "received", bodies(open(t, file).Receive(t.Context(), 10)), []string{"in flight", "done", "waiting"})
	check.OK(t, os.WriteFile(file, []byte("{"), 0o600))
	if _, err := queue.Open(queue.Options{File: file}); err == nil {
		t.Error("a broken file is opened")
	}
}
