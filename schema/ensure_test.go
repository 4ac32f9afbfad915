package schema_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// The responses about tables that local engines do not give: their tables are
// active at once.
var (
	gone  = canned(http.StatusBadRequest, "ResourceNotFoundException", `{"message":"Injected."}`)
	inUse = canned(http.StatusBadRequest, "ResourceInUseException", `{"message":"Injected."}`)
	noTTL = canned(http.StatusOK, "", `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`)
)

// indexed is a schema with a global index.
func indexed() schema.Table {
	return schema.Table{Name: "Notes", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk"}}}
}

// described responds as a table of the schema with these statuses.
func described(t *testing.T, spec schema.Table, status types.TableStatus, index types.IndexStatus) tabletest.Fault {
	t.Helper()
	in := expect.Value(spec.CreateTableInput())(t)
	var indexes []map[string]any
	for _, x := range in.GlobalSecondaryIndexes {
		indexes = append(indexes, map[string]any{
			"IndexName": x.IndexName, "IndexStatus": index, "KeySchema": x.KeySchema, "Projection": map[string]any{"ProjectionType": "ALL"},
		})
	}
	description, err := json.Marshal(map[string]any{"Table": map[string]any{
		"TableStatus": status, "KeySchema": in.KeySchema, "AttributeDefinitions": in.AttributeDefinitions,
		"GlobalSecondaryIndexes": indexes,
	}})
	must(t, err)
	return canned(http.StatusOK, "", string(description))
}

// TestEnsureRequests compares the requests with testdata. A table is described as often
// as it takes until it is ready.
func TestEnsureRequests(t *testing.T) {
	t.Parallel()
	faults := &tabletest.Faults{}
	client := tabletest.Client(t, faults.Install)
	spec := appCore()
	spec.Name += "-" + rand.Text()
	t.Cleanup(func() {
		must(t, expect.ErrOf(client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &spec.Name})))
	})
	must(t, spec.Ensure(t.Context(), client))
	sent := faults.Requests("CreateTable", "UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups")
	expect.Golden(t, "ensure.json", tabletest.Transcript(sent, strings.NewReplacer(spec.Name, "AppCore")))
}

func TestEnsureWaitsForTheTable(t *testing.T) {
	t.Parallel()
	spec := indexed()
	empty := canned(http.StatusOK, "", "{}")
	as := func(status types.TableStatus) tabletest.Fault { return described(t, spec, status, "ACTIVE") }
	for name, tt := range map[string]struct {
		describe []tabletest.Fault // the last one from then on
		create   []tabletest.Fault
		creates  int
		want     error  // nil for success
		says     string // in the error
	}{
		"there":                        {[]tabletest.Fault{as("ACTIVE")}, nil, 0, nil, ""},
		"created":                      {[]tabletest.Fault{gone, as("CREATING"), as("ACTIVE")}, nil, 1, nil, ""},
		"created by another process":   {[]tabletest.Fault{gone, as("CREATING"), as("ACTIVE")}, []tabletest.Fault{inUse}, 1, nil, ""},
		"visible late":                 {[]tabletest.Fault{gone, gone, as("CREATING"), as("ACTIVE")}, []tabletest.Fault{empty, inUse}, 2, nil, ""},
		"updated":                      {[]tabletest.Fault{as("UPDATING"), as("ACTIVE")}, nil, 0, nil, ""},
		"deleted":                      {[]tabletest.Fault{as("DELETING"), as("DELETING"), gone, as("CREATING"), as("ACTIVE")}, nil, 1, nil, ""},
		"deleted while Ensure waits":   {[]tabletest.Fault{gone, as("CREATING"), as("DELETING"), gone, as("ACTIVE")}, nil, 2, nil, ""},
		"not created":                  {[]tabletest.Fault{gone}, []tabletest.Fault{denied}, 1, nil, "AccessDeniedException"},
		"stays CREATING":               {[]tabletest.Fault{gone, as("CREATING")}, nil, 1, context.DeadlineExceeded, "the table is CREATING"},
		"stays DELETING":               {[]tabletest.Fault{as("DELETING")}, nil, 0, context.DeadlineExceeded, "the table is DELETING"},
		"archived":                     {[]tabletest.Fault{as("ARCHIVED")}, nil, 0, schema.ErrMismatch, "the table is ARCHIVED"},
		"encrypted with a revoked key": {[]tabletest.Fault{as("INACCESSIBLE_ENCRYPTION_CREDENTIALS")}, nil, 0, schema.ErrMismatch, "ENCRYPTION"},
		"an empty description":         {[]tabletest.Fault{empty}, nil, 0, nil, "describes no table"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, faults := faulty(noTTL)
				last := len(tt.describe) - 1
				faults.Next("DescribeTable", tt.describe[:last]...)
				faults.Always("DescribeTable", tt.describe[last])
				faults.Next("CreateTable", tt.create...)
				start := time.Now()
				err := spec.Ensure(t.Context(), client)
				if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %q, %v", err, tt.says, tt.want)
				}
				if took := time.Since(start); (took > 4*time.Minute) != errors.Is(err, context.DeadlineExceeded) || took > 6*time.Minute {
					t.Errorf("it took %v", took)
				}
				equal(t, "creates", len(faults.Requests("CreateTable")), tt.creates)
				wellFormed(t, "Ensure", err)
			})
		})
	}
}

// The caller's deadline is the only bound if there is one: a table that is restored
// from a backup takes hours.
func TestEnsureWaitsUntilTheCallersDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spec := indexed()
		client, faults := faulty(noTTL)
		restored := time.Now().Add(time.Hour)
		faults.Always("DescribeTable", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			status := types.TableStatusCreating
			if !time.Now().Before(restored) {
				status = types.TableStatusActive
			}
			return described(t, spec, status, "ACTIVE")(r, next)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		must(t, spec.Ensure(ctx, client))
	})
}
