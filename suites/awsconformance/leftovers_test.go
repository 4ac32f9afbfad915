package awsconformance_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/awsconformance"
	"github.com/singletable/singletable/table/tabletest"
)

// TestLeftovers shows that the sweep finds the tables of killed runs, and nothing
// that only looks like one.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	plain := tabletest.Client(t)
	var want []string
	for range 2 { // runs that were killed
		g := newGuard(t, "killed")
		client, _ := guarded(t, g)
		for _, name := range []string{"one", "two-2"} {
			spec := schema.Table{Name: g.TablePrefix() + name, DeletionProtection: name == "one"}
			expect.OK(t, spec.Ensure(t.Context(), client))
			want = append(want, spec.Name)
		}
	}
	slices.Sort(want)
	longer := newGuard(t, "killed-other")
	client, _ := guarded(t, longer)
	expect.OK(t, schema.Table{Name: longer.TablePrefix() + "x"}.Ensure(t.Context(), client))
	strangers := []string{"killed-abcdefgh-untagged", "killed-tagged-otherwise", "killed", "killedx-abcdefgh-tagged", longer.TablePrefix() + "x"}
	for name, tag := range map[string]string{
		strangers[0]: "", strangers[1]: "killed-abcdefgh-", strangers[2]: "killed-", strangers[3]: "killed-abcdefgh-",
	} {
		in := expect.Value(schema.Table{Name: name}.CreateTableInput())(t)
		if tag != "" {
			in.Tags = []types.Tag{{Key: aws.String("singletable-conformance"), Value: aws.String(tag)}}
		}
		expect.OK(t, expect.ErrOf(plain.CreateTable(t.Context(), in)))
	}

	defer drop(t, strangers)
	got := expect.Value(awsconformance.Leftovers(t.Context(), plain, "killed"))(t)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("leftovers %q, want %q", got, want)
	}
	for _, name := range strangers {
		if err := awsconformance.Delete(t.Context(), plain, "killed", []string{got[0], name}); !errors.Is(err, awsconformance.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.OK(t, awsconformance.Delete(t.Context(), plain, "killed", append(got, "killed-gone-already")))
	left := tables(t, "killed")
	slices.Sort(strangers)
	if !slices.Equal(left, strangers) {
		t.Errorf("left: %q, want %q", left, strangers)
	}
}
