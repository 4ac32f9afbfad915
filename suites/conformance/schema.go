package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func schemaTests() tests {
	return tests{
		"Ensure can be called by many at once":    ensureConcurrent,
		"Verify of a missing table":               verifyMissing,
		"every key type, projection and index":    schemaKinds,
		"a table with a stream":                   schemaStream,
		"a table with provisioned throughput":     schemaProvisioned,
		"a table that is protected from deletion": schemaProtected,
		"a table with point-in-time recovery":     schemaRecovery,
	}
}

// named returns the schema under a table name of its own, which is dropped at
// the end of the test.
func (h Harness) named(t *testing.T, client *dynamodb.Client, spec schema.Table) schema.Table {
	t.Helper()
	spec.Name = h.TablePrefix + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, t.Name())
	h.dropped(t, client, spec.Name)
	return spec
}

// dropped drops a table at the end of the test.
func (h Harness) dropped(t *testing.T, client *dynamodb.Client, name string) {
	t.Helper()
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		if _, absent := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !absent {
			t.Error(err)
		}
	})
}

func ensureConcurrent(t *testing.T, h Harness) {
	spec := h.named(t, h.Client(t), appCore())
	var wg sync.WaitGroup
	for range 8 {
		client := h.Client(t)
		wg.Go(func() {
			if err := spec.Ensure(t.Context(), client); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	must(t, spec.Verify(t.Context(), h.Client(t)))
}

func verifyMissing(t *testing.T, h Harness) {
	spec := appCore()
	spec.Name = h.TablePrefix + "no-such-table"
	err := spec.Verify(t.Context(), h.Client(t))
	wantErr(t, err, schema.ErrMismatch)
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
		t.Errorf("the SDK's error is not reachable from %v", err)
	}
	tbl := h.open(t, h.Client(t), spec, nil)
	_, err = table.Get[note](t.Context(), tbl, user)
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok || errors.Is(err, table.ErrNotFound) {
		t.Errorf("Get: %v; a missing table is not a missing item", err)
	}
	if table.Classify(err) != table.Unclassified {
		t.Errorf("%v is %v", err, table.Classify(err))
	}
}

func schemaKinds(t *testing.T, h Harness) {
	client := h.Client(t)
	number, bytes := types.ScalarAttributeTypeN, types.ScalarAttributeTypeB
	spec := h.named(t, client, schema.Table{
		PK: "id", PKType: number, SK: "at", SKType: bytes, TTLAttribute: "ttl", TypeAttribute: "kind",
		Indexes: []schema.Index{
			{Name: "a.b-c_d", PK: "at", PKType: bytes, SK: "id", SKType: number},
			{Name: "simple", PK: "x", Projection: types.ProjectionTypeKeysOnly},
			{Name: "local", SK: "score", SKType: number, Local: true, Projection: types.ProjectionTypeInclude, Include: []string{"y"}},
		},
	})
	must(t, spec.Ensure(t.Context(), client))
	must(t, spec.Verify(t.Context(), client))
	in := expect.Value(spec.CreateTableInput())(t)
	equal(t, "attributes", len(in.AttributeDefinitions), 4)
	equal(t, "billing", in.BillingMode, types.BillingModePayPerRequest)
	out := expect.Value(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(spec.Name)}))(t)
	equal(t, "indexes", len(out.Table.GlobalSecondaryIndexes)+len(out.Table.LocalSecondaryIndexes), 3)
}

// problems returns what a schema mismatch lists, nothing without a mismatch.
func problems(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	wantErr(t, err, schema.ErrMismatch)
	e, ok := errors.AsType[*schema.Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	return e.Problems
}

func schemaStream(t *testing.T, h Harness) {
	client := h.Client(t)
	live := h.named(t, client, schema.Table{Stream: types.StreamViewTypeNewAndOldImages})
	for range 2 {
		must(t, live.Ensure(t.Context(), client))
	}
	must(t, schema.Table{Name: live.Name}.Verify(t.Context(), client)) // A stream that is not managed.
	other := live
	other.Stream = types.StreamViewTypeKeysOnly
	want := []string{"Stream: is NEW_AND_OLD_IMAGES, the schema wants KEYS_ONLY"}
	equal(t, "problems", problems(t, other.Verify(t.Context(), client)), want)
	equal(t, "problems", problems(t, other.Ensure(t.Context(), client)), want)
	must(t, live.Verify(t.Context(), client))

	without := h.named(t, client, schema.Table{})
	without.Name += "-without"
	h.dropped(t, client, without.Name)
	must(t, without.Ensure(t.Context(), client))
	without.Stream = types.StreamViewTypeKeysOnly
	equal(t, "problems", problems(t, without.Verify(t.Context(), client)), []string{"Stream: is off, the schema wants KEYS_ONLY"})
	must(t, without.Ensure(t.Context(), client))
	must(t, without.Verify(t.Context(), client))
}

func schemaProvisioned(t *testing.T, h Harness) {
	client := h.Client(t)
	provisioned := h.named(t, client, schema.Table{
		BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: schema.Throughput{Read: 2, Write: 1},
		Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", ProvisionedThroughput: schema.Throughput{Read: 1, Write: 2}}},
	})
	must(t, provisioned.Ensure(t.Context(), client))
	out := expect.Value(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &provisioned.Name}))(t)
	units := func(p *types.ProvisionedThroughputDescription) [2]int64 {
		return [2]int64{*p.ReadCapacityUnits, *p.WriteCapacityUnits}
	}
	equal(t, "units of the table", units(out.Table.ProvisionedThroughput), [2]int64{2, 1})
	equal(t, "units of the index", units(out.Table.GlobalSecondaryIndexes[0].ProvisionedThroughput), [2]int64{1, 2})

	// Auto scaling changes the units: they are not compared.
	scaled := provisioned
	scaled.ProvisionedThroughput = schema.Throughput{Read: 100, Write: 100}
	must(t, scaled.Verify(t.Context(), client))
	onDemand := schema.Table{
		Name: provisioned.Name, Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk"}},
	}
	must(t, onDemand.Verify(t.Context(), client))
	onDemand.BillingMode = types.BillingModePayPerRequest
	equal(t, "problems", problems(t, onDemand.Verify(t.Context(), client)),
		[]string{"BillingMode: is PROVISIONED, the schema wants PAY_PER_REQUEST"})

	live := onDemand
	live.Name += "-on-demand"
	h.dropped(t, client, live.Name)
	must(t, live.Ensure(t.Context(), client))
	provisioned.Name = live.Name
	equal(t, "problems", problems(t, provisioned.Verify(t.Context(), client)),
		[]string{"BillingMode: is PAY_PER_REQUEST, the schema wants PROVISIONED"})
}

func schemaProtected(t *testing.T, h Harness) {
	client := h.Client(t)
	plain := h.named(t, client, schema.Table{})
	protected := plain
	protected.DeletionProtection = true
	unprotect := &dynamodb.UpdateTableInput{TableName: &plain.Name, DeletionProtectionEnabled: aws.Bool(false)}
	off := []string{"DeletionProtection: is off, the schema wants it on"}
	t.Cleanup(func() { // Before the table is dropped.
		if _, err := client.UpdateTable(context.Background(), unprotect); err != nil {
			t.Error(err)
		}
	})
	must(t, protected.Ensure(t.Context(), client))
	must(t, plain.Verify(t.Context(), client))
	if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &plain.Name}); err == nil {
		t.Error("a protected table was deleted")
	}
	must(t, expect.ErrOf(client.UpdateTable(t.Context(), unprotect)))
	must(t, plain.Ensure(t.Context(), client)) // Waits until the table is active again.
	equal(t, "problems", problems(t, protected.Verify(t.Context(), client)), off)
	must(t, protected.Ensure(t.Context(), client))
	must(t, protected.Verify(t.Context(), client))
}

func schemaRecovery(t *testing.T, h Harness) {
	client := h.Client(t)
	spec := h.named(t, client, schema.Table{PointInTimeRecovery: true})
	for range 2 {
		for _, err := range []error{spec.Ensure(t.Context(), client), spec.Verify(t.Context(), client)} {
			if h.Capabilities.NoContinuousBackups {
				wantErr(t, err, schema.ErrUnsupported)
			} else {
				must(t, err)
			}
		}
	}
	spec.PointInTimeRecovery = false
	must(t, spec.Verify(t.Context(), client))
}
