package schema_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// production is a schema with every setting.
func production() schema.Table {
	return schema.Table{
		Name: "Production",
		Indexes: []schema.Index{{
			Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk",
			ProvisionedThroughput: schema.Throughput{Read: 7, Write: 8},
			WarmThroughput:        schema.Throughput{Write: 5000},
		}},
		Stream:                types.StreamViewTypeNewAndOldImages,
		BillingMode:           types.BillingModeProvisioned,
		ProvisionedThroughput: schema.Throughput{Read: 5, Write: 6},
		WarmThroughput:        schema.Throughput{Read: 13000, Write: 5000},
		TableClass:            types.TableClassStandardInfrequentAccess,
		PointInTimeRecovery:   true,
		DeletionProtection:    true,
		Tags:                  map[string]string{"team": "payments", "cost-center": ""},
	}
}

// The responses about continuous backups, which local engines do not have.
var (
	recoveryOff = canned(http.StatusOK, "", `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`)
	recoveryOn  = canned(http.StatusOK, "", `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED"}}}`)
	unavailable = canned(http.StatusBadRequest, "ContinuousBackupsUnavailableException", `{"message":"Injected."}`)
	denied      = canned(http.StatusBadRequest, "AccessDeniedException", `{"message":"Injected."}`)
)

// TestEnsureWithEverySetting compares the requests with testdata.
func TestEnsureWithEverySetting(t *testing.T) {
	t.Parallel()
	faults := &tabletest.Faults{}
	client := tabletest.Client(t, faults.Install)
	spec := production()
	spec.Name += "-" + rand.Text()
	t.Cleanup(func() {
		_, err := client.UpdateTable(context.Background(), &dynamodb.UpdateTableInput{
			TableName: &spec.Name, DeletionProtectionEnabled: aws.Bool(false),
		})
		must(t, err)
		must(t, expect.ErrOf(client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &spec.Name})))
	})
	faults.Next("DescribeContinuousBackups", recoveryOff, recoveryOn)
	faults.Next("UpdateContinuousBackups", recoveryOn)
	must(t, spec.Ensure(t.Context(), client))
	// A request for a table that is shown late is sent again.
	requests := slices.CompactFunc(faults.Requests("CreateTable", "UpdateContinuousBackups"), func(a, b tabletest.Request) bool {
		return a.Operation == b.Operation && bytes.Equal(a.Body, b.Body)
	})
	expect.Golden(t, "ensureproduction.json", tabletest.Transcript(requests, strings.NewReplacer(spec.Name, "Production")))

	tags := expect.Value(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &spec.Name}))(t)
	listed, err := client.ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: tags.Table.TableArn})
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "UnknownOperationException" {
		t.Log("this engine cannot keep tags")
	} else {
		must(t, err)
		got := map[string]string{}
		for _, tag := range listed.Tags {
			got[*tag.Key] = *tag.Value
		}
		equal(t, "tags", got, spec.Tags)
	}

	// The table exists now: nothing is created, and nothing is turned on twice.
	sent := len(faults.Requests("CreateTable", "UpdateContinuousBackups"))
	faults.Always("DescribeContinuousBackups", recoveryOn)
	must(t, spec.Ensure(t.Context(), client))
	equal(t, "requests that write", len(faults.Requests("CreateTable", "UpdateContinuousBackups")), sent)
}

// engineOf responds as a table of the schema that is active, with TTL off.
func engineOf(t *testing.T, spec schema.Table) (*dynamodb.Client, *tabletest.Faults) {
	t.Helper()
	in := expect.Value(spec.CreateTableInput())(t)
	description, err := json.Marshal(map[string]any{"Table": map[string]any{
		"TableStatus": "ACTIVE", "KeySchema": in.KeySchema, "AttributeDefinitions": in.AttributeDefinitions,
	}})
	must(t, err)
	client, faults := faulty(noTTL)
	faults.Always("DescribeTable", canned(http.StatusOK, "", string(description)))
	return client, faults
}

// DynamoDB refuses point-in-time recovery for a while after it has created a
// table. Ensure waits for it, within the caller's deadline.
func TestEnsureWaitsForBackups(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Notes", PointInTimeRecovery: true}
	for name, tt := range map[string]struct {
		describe, update []tabletest.Fault
		timeout          time.Duration
		updates          int
		want             error
	}{
		"immediately":   {[]tabletest.Fault{recoveryOff, recoveryOn}, []tabletest.Fault{recoveryOn}, time.Hour, 1, nil},
		"after retries": {[]tabletest.Fault{recoveryOff, recoveryOff, recoveryOff, recoveryOn}, []tabletest.Fault{unavailable, unavailable, recoveryOn}, time.Hour, 3, nil},
		"never":         {nil, slices.Repeat([]tabletest.Fault{unavailable}, 10), 3500 * time.Millisecond, 4, context.DeadlineExceeded},
		"denied":        {nil, []tabletest.Fault{denied, denied}, time.Hour, 2, nil},
		"a concurrent process was faster": {
			[]tabletest.Fault{recoveryOff, recoveryOn}, []tabletest.Fault{denied}, time.Hour, 1, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, faults := engineOf(t, spec)
				faults.Next("DescribeContinuousBackups", tt.describe...)
				faults.Always("DescribeContinuousBackups", recoveryOff)
				if len(tt.describe) > 0 {
					faults.Always("DescribeContinuousBackups", recoveryOn)
				}
				faults.Next("UpdateContinuousBackups", tt.update...)
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				err := spec.Ensure(ctx, client)
				equal(t, "updates", len(faults.Requests("UpdateContinuousBackups")), tt.updates)
				if (err == nil) != (len(tt.describe) > 0) || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				wellFormed(t, "Ensure", err)
			})
		})
	}
}

func TestSettingsAreValidated(t *testing.T) {
	t.Parallel()
	one := schema.Throughput{Read: 1, Write: 1}
	many := map[string]string{}
	for c := range 51 {
		many["tag"+string(rune('A'+c))] = ""
	}
	for says, change := range map[string]func(*schema.Table){
		`Stream: "ALL" is not one of`:                                 func(s *schema.Table) { s.Stream = "ALL" },
		`BillingMode: "FREE" is not one of`:                           func(s *schema.Table) { s.BillingMode = "FREE" },
		`TableClass: "GOLD" is not one of`:                            func(s *schema.Table) { s.TableClass = "GOLD" },
		"; ProvisionedThroughput: needs the billing mode PROVISIONED": func(s *schema.Table) { s.BillingMode = "" },
		"Indexes[0].ProvisionedThroughput: needs the billing mode":    func(s *schema.Table) { s.BillingMode = types.BillingModePayPerRequest },
		"; ProvisionedThroughput: 0 read and 0 write units":           func(s *schema.Table) { s.ProvisionedThroughput = schema.Throughput{} },
		"; ProvisionedThroughput: 1 read and 0 write units":           func(s *schema.Table) { s.ProvisionedThroughput.Read, s.ProvisionedThroughput.Write = 1, 0 },
		"ProvisionedThroughput: -1 read and 6 write units":            func(s *schema.Table) { s.ProvisionedThroughput.Read = -1 },
		"Indexes[0].ProvisionedThroughput: 0 read and 0 write units":  func(s *schema.Table) { s.Indexes[0].ProvisionedThroughput = schema.Throughput{} },
		"; WarmThroughput: -1 read and 5000 write units":              func(s *schema.Table) { s.WarmThroughput.Read = -1 },
		"Indexes[0].WarmThroughput: 0 read and -1 write units":        func(s *schema.Table) { s.Indexes[0].WarmThroughput.Write = -1 },
		"Indexes[0].ProvisionedThroughput: a local index":             local(schema.Index{ProvisionedThroughput: one}),
		"Indexes[0].WarmThroughput: a local index":                    local(schema.Index{WarmThroughput: one}),
		"Tags: are 51":                        func(s *schema.Table) { s.Tags = many },
		`Tags: the key "" is not`:             func(s *schema.Table) { s.Tags = map[string]string{"": "x"} },
		`Tags: the key "a;b" is not`:          func(s *schema.Table) { s.Tags = map[string]string{"a;b": "x"} },
		`Tags: the key "\xff" is not`:         func(s *schema.Table) { s.Tags = map[string]string{"\xff": "x"} },
		`Tags: the key "aws:" begins`:         func(s *schema.Table) { s.Tags = map[string]string{"aws:": "x"} },
		`Tags: the key "AWS:name" begins`:     func(s *schema.Table) { s.Tags = map[string]string{"AWS:name": "x"} },
		"Tags: the key \"kkk":                 func(s *schema.Table) { s.Tags = map[string]string{strings.Repeat("k", 129): "x"} },
		`Tags["team"]: is not at most 256`:    func(s *schema.Table) { s.Tags["team"] = strings.Repeat("v", 257) },
		`Tags["cost-center"]: is not at most`: func(s *schema.Table) { s.Tags["cost-center"] = "a\nb" },
		"Indexes: 6 are local":                sixLocal,
		`Indexes[0].Include[1]: ""`: func(s *schema.Table) {
			s.Indexes[0].Projection, s.Indexes[0].Include = types.ProjectionTypeInclude, []string{"a", ""}
		},
	} {
		spec := production()
		change(&spec)
		err := spec.Validate()
		// A leading semicolon keeps the table's field from matching an index's.
		e, ok := errors.AsType[*schema.Error](err)
		if !ok || !errors.Is(err, keys.ErrInvalid) || !strings.Contains("; "+strings.Join(e.Problems, "; "), says) {
			t.Errorf("error %v, want %q", err, says)
		}
		client, faults := faulty(canned(http.StatusOK, "", "{}"))
		for name, err := range map[string]error{"Ensure": spec.Ensure(t.Context(), client), "Verify": spec.Verify(t.Context(), client)} {
			if !errors.Is(err, keys.ErrInvalid) || len(faults.Requests()) > 0 {
				t.Errorf("%s: %s returns %v after %d requests", says, name, err, len(faults.Requests()))
			}
		}
	}
	must(t, production().Validate())
	limits := production()
	limits.Tags = map[string]string{strings.Repeat("ä", 128): strings.Repeat("日", 256), "a b+c-d=e_f.g:h/i@j": "", "k": ""}
	for c := range 47 {
		limits.Tags[fmt.Sprint("tag", c)] = ""
	}
	must(t, limits.Validate())
}

// local returns a change of the first index to a local one.
func local(x schema.Index) func(*schema.Table) {
	x.Name, x.SK, x.Local = "LSI1", "lsi1sk", true
	return func(s *schema.Table) { s.Indexes[0] = x }
}

func sixLocal(s *schema.Table) {
	s.Indexes = nil
	for _, name := range []string{"LSI1", "LSI2", "LSI3", "LSI4", "LSI5", "LSI6"} {
		s.Indexes = append(s.Indexes, schema.Index{Name: name, SK: name, Local: true})
	}
}

// A schema file from before there were settings still loads, and manages none.
func TestSchemaFileWithoutSettings(t *testing.T) {
	t.Parallel()
	var spec schema.Table
	must(t, json.Unmarshal([]byte(`{"name":"AppCore","ttl":"expiresAt","indexes":[{"name":"GSI1","pk":"gsi1pk"}]}`), &spec))
	equal(t, "schema", spec, schema.Table{
		Name: "AppCore", TTLAttribute: "expiresAt", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk"}},
	})
	in := expect.Value(spec.CreateTableInput())(t)
	equal(t, "billing mode", in.BillingMode, types.BillingModePayPerRequest)
	if in.StreamSpecification != nil || in.ProvisionedThroughput != nil || in.WarmThroughput != nil ||
		in.DeletionProtectionEnabled != nil || in.TableClass != "" || in.Tags != nil {
		t.Errorf("a setting that the schema does not manage: %+v", in)
	}
}
