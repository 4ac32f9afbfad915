package tabletest_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

func TestNew(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	spec := schema.Table{
		Name: "Orders",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"},
		},
	}
	names := map[string]bool{}
	t.Run("lives", func(t *testing.T) {
		for range 2 {
			tbl := tabletest.New(t, spec, nil)
			name := tbl.Schema().Name
			names[name] = true
			out := expect.Value(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}))(t)
			if len(out.Table.GlobalSecondaryIndexes) != 1 {
				t.Errorf("indexes: %v", out.Table.GlobalSecondaryIndexes)
			}
		}
	})
	if len(names) != 2 {
		t.Errorf("names %v; want two", names)
	}
	for name := range names {
		_, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		if _, gone := errors.AsType[*types.ResourceNotFoundException](err); !gone {
			t.Errorf("%s after its test: %v", name, err)
		}
	}
	if spec.Name != "Orders" {
		t.Error("the caller's schema has changed")
	}
}

// A production schema is usable in tests: its table is dropped after the test,
// and needs nothing that local engines do not have.
func TestNewOfAProductionSchema(t *testing.T) {
	t.Parallel()
	one := schema.Throughput{Read: 1, Write: 1}
	spec := schema.Table{
		Name: "Orders", Stream: types.StreamViewTypeKeysOnly, BillingMode: types.BillingModeProvisioned,
		ProvisionedThroughput: one, WarmThroughput: one, TableClass: types.TableClassStandardInfrequentAccess,
		PointInTimeRecovery: true, DeletionProtection: true, Tags: map[string]string{"team": "payments"},
		Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", ProvisionedThroughput: one, WarmThroughput: one}},
	}
	want := spec.Indexes[0]
	client := tabletest.Client(t)
	var name string
	t.Run("lives", func(t *testing.T) {
		name = tabletest.New(t, spec, nil).Schema().Name
		out := expect.Value(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}))(t)
		if s := out.Table.StreamSpecification; s == nil || s.StreamViewType != spec.Stream {
			t.Errorf("stream %+v, want %s", s, spec.Stream)
		}
		if b := out.Table.BillingModeSummary; b == nil || b.BillingMode != types.BillingModePayPerRequest {
			t.Errorf("billing mode %+v, want %s", b, types.BillingModePayPerRequest)
		}
	})
	_, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if _, gone := errors.AsType[*types.ResourceNotFoundException](err); !gone {
		t.Errorf("%s after its test: %v", name, err)
	}
	expect.Equal(t, "the caller's schema has changed", spec.Indexes[0], want)
}

func TestNewWith(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	faults.Always("", tabletest.DropRequest()) // Not of the table's creation.
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	if got := len(faults.Requests("CreateTable")); got != 1 {
		t.Errorf("%d requests of CreateTable to %s, want 1", got, tbl.Schema().Name)
	}
}

func TestTableName(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)
	for _, test := range []string{"TestA", "TestA/ein Ärger#01", "", strings.Repeat("x", 300)} {
		a, b := tabletest.TableName(test), tabletest.TableName(test)
		if !valid.MatchString(a) {
			t.Errorf("%q: invalid name %q", test, a)
		}
		if a == b {
			t.Errorf("%q: the same name twice", test)
		}
	}
	if name := tabletest.TableName("TestA/sub case"); !strings.HasPrefix(name, "TestA-sub-case-") {
		t.Errorf("name %q does not tell the test", name)
	}
}
