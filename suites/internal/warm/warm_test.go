package warm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/internal/warm"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// put writes an item n times to a new table.
func put(t *testing.T, s *warm.Tables, n int, optFns ...func(*dynamodb.Options)) (replayed []bool) {
	t.Helper()
	spec := tabletest.New(t, schema.Table{}, nil).Schema()
	for range n {
		tbl := expect.Value(s.New(tabletest.Client(t, optFns...), spec, &table.Options{
			Observe: func(_ context.Context, e table.Event) { replayed = append(replayed, e.Replayed) },
		}))(t)
		expect.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "A", SK: "B"}, nil)))
	}
	return replayed
}

// TestFirstRequestIsReplayed shows that a table replays its first request, whose response a
// fault takes, and that neither faults nor observers are told of others.
func TestFirstRequestIsReplayed(t *testing.T) {
	t.Parallel()
	var s warm.Tables
	var faults tabletest.Faults
	faults.Next("PutItem", nil, tabletest.DropResponse())
	expect.Equal(t, "requests that succeed without the client", put(t, &s, 2, faults.Install), []bool{true, false})
	expect.Equal(t, "requests", len(faults.Requests()), 3)
	expect.Equal(t, "counts", s.String(), "2 of 2 requests were replayed; PutItem 2 of 2")
	expect.OK(t, s.Check())
}

// TestKnownOperations shows that a table replays what one of its name has sent, and after a few
// tables nothing else.
func TestKnownOperations(t *testing.T) {
	t.Parallel()
	s := warm.Tables{Known: true}
	spec := tabletest.New(t, schema.Table{}, nil).Schema()
	var replayed []bool
	for i := range 6 {
		tbl := expect.Value(s.New(tabletest.Client(t), spec, &table.Options{
			Observe: func(_ context.Context, e table.Event) { replayed = append(replayed, e.Replayed) },
		}))(t)
		op := table.Put(keys.Key{PK: "A", SK: "B"}, nil)
		if i == 4 {
			op = table.Delete(op.Key())
		}
		expect.OK(t, tbl.Do(t.Context(), op))
	}
	expect.Equal(t, "replayed", replayed, []bool{true, true, true, true, false, true})
}

// TestCheck has requests sent as they were not to be.
func TestCheck(t *testing.T) {
	t.Parallel()
	if err := (&warm.Tables{DisableReplay: true}).Check(); err == nil {
		t.Error("no request was sent, and that is no error")
	}
	var s warm.Tables
	expect.OK(t, s.Check())
	put(t, &s, 2, dynamodb.WithAPIOptions(func(*middleware.Stack) error { return nil }))
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "only 0 of 2 requests were replayed") {
		t.Errorf("%v", err)
	}
	s.DisableReplay = true
	expect.Equal(t, "replayed", put(t, &s, 3), []bool{false, false, false})
	expect.OK(t, s.Check())
	s.DisableReplay = false
	put(t, &s, 1)
	s.DisableReplay = true
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "1 of 6 requests of PutItem were replayed") {
		t.Errorf("%v", err)
	}
	s.DisableReplay = false
	put(t, &s, 20, dynamodb.WithAPIOptions(func(*middleware.Stack) error { return nil }))
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "only 1 of 26 requests of PutItem were replayed") {
		t.Errorf("%v", err)
	}
}
