package tabletest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func counterKey(id, name string) keys.Key { return keys.Key{PK: keys.PK(id), SK: keys.SK(name)} }

// increment reads a counter and writes it back.
func increment(ctx context.Context, client *dynamodb.Client, r *tabletest.Run, name string) error {
	tbl := r.Table(client)
	n, err := counted(ctx, tbl, r, name)
	if err != nil {
		return err
	}
	return tbl.Do(ctx, table.Put(counterKey(r.ID, name), map[string]int{"n": n + 1}))
}

// counted returns a counter, 0 if it is missing.
func counted(ctx context.Context, tbl *table.Table, r *tabletest.Run, name string) (int, error) {
	item, err := table.Get[map[string]any](ctx, tbl.Consistent(), counterKey(r.ID, name))
	if errors.Is(err, table.ErrNotFound) {
		return 0, nil
	}
	n, _ := item["n"].(float64)
	return int(n), err
}

// counters is a case whose operations each change counters in turn. look is given
// the results of each run.
func counters(change func(context.Context, *dynamodb.Client, *tabletest.Run, string) error,
	look func(errs []error, x, y int) error, operations ...[]string,
) tabletest.Case {
	return tabletest.Case{Schema: showSchema, Setup: func(_ context.Context, r *tabletest.Run) error {
		for _, names := range operations {
			r.Go(func(ctx context.Context, client *dynamodb.Client) error {
				for _, name := range names {
					if err := change(ctx, client, r, name); err != nil {
						return err
					}
				}
				return nil
			})
		}
		r.Check(func(ctx context.Context, errs []error) error {
			tbl := r.Table(r.Client)
			x, errX := counted(ctx, tbl, r, "x")
			y, errY := counted(ctx, tbl, r, "y")
			return errors.Join(errX, errY, look(errs, x, y))
		})
		return nil
	}}
}

// TestExploreLosesNoOutcome compares the outcomes of all schedules with those of
// the schedules that are left when others have the same result.
func TestExploreLosesNoOutcome(t *testing.T) {
	t.Parallel()
	var found [2][]string
	var reports [2]string
	for i, reduce := range []bool{false, true} {
		outcomes := map[string]bool{}
		c := counters(increment, func(errs []error, x, y int) error {
			texts := make([]string, len(errs))
			for i, err := range errs {
				texts[i] = fmt.Sprint(errors.Is(err, table.ErrOutcomeUnknown), err != nil)
			}
			outcomes[fmt.Sprint(texts, x, y)] = true
			return nil
		}, []string{"x"}, []string{"y", "x"})
		c.Faults, c.Limit = 1, 5000
		report, err := tabletest.Explored(t, c, reduce)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(report, "not all") {
			t.Error(report)
		}
		found[i], reports[i] = slices.Sorted(maps.Keys(outcomes)), report
	}
	t.Logf("every schedule: %s\nreduced: %s", reports[0], reports[1])
	if diff := cmp.Diff(found[0], found[1]); diff != "" {
		t.Errorf("outcomes (-all +reduced):\n%s", diff)
	}
	if reports[0] == reports[1] {
		t.Error("nothing is left out")
	}
}

// addOnce adds to a counter with the SDK alone.
func addOnce(ctx context.Context, client *dynamodb.Client, r *tabletest.Run, name string) error {
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &r.Schema.Name,
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: r.ID}, "sk": &types.AttributeValueMemberS{Value: name},
		},
		UpdateExpression:          aws.String("ADD n :n"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "1"}},
	})
	return err
}

// TestExploreFaults replays each fault.
func TestExploreFaults(t *testing.T) {
	t.Parallel()
	type outcome struct {
		N  int
		OK bool
	}
	for schedule, want := range map[string]outcome{
		"A":               {1, true},
		"once A-":         {0, false},
		"A- A":            {1, true},
		"once A+":         {1, false},
		"A+ A":            {2, true},
		"once A~ a1":      {1, false},
		"A~ A a1":         {2, true},
		"A~ a1 A":         {2, true},
		"A.500- A":        {1, true},
		"once A.500-":     {0, false},
		"once A.500+":     {1, false},
		"once A.conflict": {0, false},
		"once A.throttle": {0, false},
		"A.cancel":        {1, false},
		"A.truncate":      {1, false},
		"A- A- A- A-":     {0, false},
	} {
		t.Run(schedule, func(t *testing.T) {
			t.Parallel()
			var got outcome
			c := counters(addOnce, func(errs []error, x, _ int) error {
				got = outcome{x, errs[0] == nil}
				return nil
			}, []string{"x"})
			c.Replay = schedule
			report, err := tabletest.Explored(t, c, true)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("got %+v, want %+v\n%s", got, want, report)
			}
		})
	}
}

// TestExploreFindsAndReplays finds faults of programs, and replays them.
func TestExploreFindsAndReplays(t *testing.T) {
	t.Parallel()
	exact := func(errs []error, x, _ int) error {
		if errs[0] == nil && errs[len(errs)-1] == nil && x != len(errs) {
			return fmt.Errorf("%d operations have counted %d", len(errs), x)
		}
		return nil
	}
	// The second write of an operation is the last one.
	values := map[string]int{}
	last := counters(func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run, value string) error {
		return r.Table(client).Do(ctx, table.Put(counterKey(r.ID, "x"), map[string]int{"n": values[value]}))
	}, func(errs []error, x, _ int) error {
		if errs[0] == nil && x != 2 {
			return fmt.Errorf("the first write is the last")
		}
		return nil
	}, []string{"first", "second"})
	values["first"], values["second"] = 1, 2
	for name, test := range map[string]struct {
		c    tabletest.Case
		want string
	}{
		"a lost update":   {counters(increment, exact, []string{"x"}, []string{"x"}), `"A B A B"`},
		"counted twice":   {counters(addOnce, exact, []string{"x"}, []string{"x"}), `"A B+ B"`},
		"a delayed write": {last, `"A~ A A a1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tabletest.Explored(t, test.c, true)
			if err == nil || !strings.Contains(err.Error(), "schedule "+test.want) {
				t.Fatalf("got %v, want the schedule %s", err, test.want)
			}
			test.c.Replay = strings.Trim(test.want, `"`)
			if _, again := tabletest.Explored(t, test.c, true); again == nil || !strings.Contains(again.Error(), "schedule "+test.want) {
				t.Errorf("replayed: %v", again)
			}
		})
	}
}

// TestExploreRefuses tells what a case or a schedule lacks.
func TestExploreRefuses(t *testing.T) {
	t.Parallel()
	pass := func([]error, int, int) error { return nil }
	one := func(f func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error) tabletest.Case {
		return counters(func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run, _ string) error {
			return f(ctx, client, r)
		}, pass, []string{"x"})
	}
	replay := func(schedule string) tabletest.Case {
		c := counters(addOnce, pass, []string{"x"})
		c.Replay = schedule
		return c
	}
	for name, test := range map[string]struct {
		c    tabletest.Case
		want string
	}{
		"no request": {one(func(context.Context, *dynamodb.Client, *tabletest.Run) error { return nil }), "A sends no request"},
		"an error": {one(func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error {
			return errors.Join(addOnce(ctx, client, r, "x"), errSoldOut)
		}), "sold out"},
		"a panic": {one(func(context.Context, *dynamodb.Client, *tabletest.Run) error { panic("oh") }), "panic: oh"},
		"a blocked operation": {one(func(ctx context.Context, _ *dynamodb.Client, _ *tabletest.Run) error {
			<-ctx.Done()
			return nil
		}), "neither sends a request nor returns"},
		"an endless operation": {one(func(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error {
			for {
				if err := addOnce(ctx, client, r, "x"); err != nil {
					return err
				}
			}
		}), "without end"},
		"wrong options":        {tabletest.Case{Schema: showSchema, Options: &table.Options{MaxAttempts: -1}}, "Options: "},
		"no setup":             {tabletest.Case{Schema: showSchema, Setup: func(context.Context, *tabletest.Run) error { return nil }}, "Run.Go"},
		"a setup that fails":   {tabletest.Case{Schema: showSchema, Setup: func(context.Context, *tabletest.Run) error { return errSoldOut }}, "Setup: sold out"},
		"no schedule":          {replay("A what"), `"what" is not a step`},
		"an unknown fault":     {replay("A?"), `"A?" is not a step`},
		"an impossible step":   {replay("A b1"), "b1 is not possible"},
		"a fault too many":     {replay("A- A- A- A- A-"), "A- is not possible"},
		"an unknown operation": {replay("Z"), "Z is not possible"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tabletest.Explored(t, test.c, true); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
