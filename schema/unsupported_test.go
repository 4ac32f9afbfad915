package schema_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// An engine that lacks a setting gets all the others, and the error says which one it lacks.
func TestUnsupportedSettings(t *testing.T) {
	t.Parallel()
	unknown := canned(http.StatusBadRequest, "UnknownOperationException", `{"message":"Injected."}`)
	invalid := canned(http.StatusBadRequest, "ValidationException", `{"message":"Injected."}`)
	recovery := func(s *schema.Table) { s.PointInTimeRecovery = true }
	ttl := func(s *schema.Table) { s.TTLAttribute = "ttl" }
	vectors := func(s *schema.Table) { s.Vectors = []schema.VectorIndex{similar()} }
	several := func(s *schema.Table) {
		s.Indexes = append(s.Indexes, schema.Index{
			Name: "byRegion", PKs: []schema.Attribute{{Name: "tenant"}, {Name: "region"}}, SKs: []schema.Attribute{{Name: "year"}},
		})
	}
	for name, tt := range map[string]struct {
		change func(*schema.Table)
		faults func(*tabletest.Faults)
		lacks  string
		// seen means that descriptions show that the engine lacks it.
		seen bool
	}{
		"no descriptions of backups": {recovery, func(f *tabletest.Faults) {
			f.Always("DescribeContinuousBackups", unknown)
		}, "PointInTimeRecovery: is off, the schema wants it on (this engine cannot)", true},
		"no changes of backups": {recovery, func(f *tabletest.Faults) {
			f.Always("DescribeContinuousBackups", recoveryOff)
			f.Always("UpdateContinuousBackups", unknown)
		}, "PointInTimeRecovery: is off, the schema wants it on (this engine cannot)", false},
		"no descriptions of TTL": {ttl, func(f *tabletest.Faults) {
			f.Always("DescribeTimeToLive", unknown)
		}, `TTL: is off, the schema wants on "ttl" (this engine cannot)`, true},
		"no changes of TTL": {ttl, func(f *tabletest.Faults) {
			f.Always("DescribeTimeToLive", noTTL)
			f.Always("UpdateTimeToLive", unknown)
		}, `TTL: is off, the schema wants on "ttl" (this engine cannot)`, false},
		"no vector indexes": {vectors, func(f *tabletest.Faults) {
			f.Next("CreateTable", invalid)
			f.Always("UpdateTable", invalid)
		}, "vector index similar: is missing (this engine cannot)", false},
		"no keys of several attributes": {several, func(f *tabletest.Faults) {
			f.Next("CreateTable", invalid)
			f.Always("UpdateTable", invalid)
		}, "global index byRegion: is missing (this engine cannot)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := &tabletest.Faults{}
			client := tabletest.Client(t, faults.Install)
			rest := schema.Table{Name: "Lacking-" + rand.Text(), Stream: types.StreamViewTypeKeysOnly, Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk"}}}
			spec := rest
			tt.change(&spec)
			tt.faults(faults)
			dropped(t, spec)
			for range 2 {
				err := spec.Ensure(t.Context(), client)
				lacking(t, err, tt.lacks)
				must(t, rest.Verify(t.Context(), client))
			}
			if !tt.seen {
				return
			}
			lacking(t, spec.Verify(t.Context(), client), tt.lacks)
			plan := expect.Value(spec.Plan(t.Context(), client))(t)
			equal(t, "changes and manual", len(plan.Changes)+len(plan.Manual), 0)
			equal(t, "notes", plan.Notes, []schema.Change{{Difference: tt.lacks, Action: "leave it on this engine: DynamoDB has it"}})
			// With another difference the table is not as the schema says.
			spec.Indexes = append(spec.Indexes, schema.Index{Name: "GSI2", PK: "gsi2pk"})
			err := spec.Verify(t.Context(), client)
			expect.Err(t, err, schema.ErrMismatch)
			e, _ := errors.AsType[*schema.Error](err)
			equal(t, "unsupported", errors.Is(err, schema.ErrUnsupported), false)
			equal(t, "problems", e.Problems, []string{"global index GSI2: is missing", tt.lacks})
		})
	}
}

// lacking checks that an error lists what the engine lacks, and nothing else.
func lacking(t *testing.T, err error, lacks string) {
	t.Helper()
	wellFormed(t, "an engine that lacks a setting", err)
	e, ok := errors.AsType[*schema.Error](err)
	if !ok || !errors.Is(err, schema.ErrUnsupported) || errors.Is(err, schema.ErrMismatch) {
		t.Fatalf("error %v, want %v", err, schema.ErrUnsupported)
	}
	equal(t, "problems", e.Problems, []string{lacks})
}

// An engine does not have a setting that it accepts and ignores, and one that it refuses.
func TestIgnoredSettings(t *testing.T) {
	t.Parallel()
	for name, update := range map[string]tabletest.Fault{
		"ignored": canned(http.StatusOK, "", "{}"), "refused": canned(http.StatusBadRequest, "ValidationException", `{"message":"Injected."}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				spec := schema.Table{Name: "Notes", DeletionProtection: true}
				client, faults := faulty(noTTL)
				faults.Always("DescribeTable", liveTable(t, map[string]any{}))
				faults.Always("UpdateTable", update)
				faults.Always("DescribeContinuousBackups", canned(http.StatusBadRequest, "UnknownOperationException", `{"message":"Injected."}`))
				lacking(t, spec.Ensure(t.Context(), client), "DeletionProtection: is off, the schema wants it on (this engine cannot)")
				// DynamoDB knows backups, and a role may not be allowed to see them.
				faults.Always("DescribeContinuousBackups", denied)
				err := spec.Ensure(t.Context(), client)
				equal(t, "unsupported by DynamoDB", err == nil || errors.Is(err, schema.ErrUnsupported), false)
			})
		})
	}
}
