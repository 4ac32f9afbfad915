package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// nextRelease is the schema of appCore's next release, but for what a person has to do.
func nextRelease(name string) schema.Table {
	s := appCore()
	s.Name = name
	s.Stream = types.StreamViewTypeNewImage
	s.Indexes = []schema.Index{{Name: "GSI2", PK: "gsi2pk"}, {Name: "GSI3", PK: "gsi3pk"}}
	return s
}

// indexes returns the names of a live table's global indexes.
func indexes(t *testing.T, name string) []string {
	t.Helper()
	out, err := tabletest.Client(t).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range out.Table.GlobalSecondaryIndexes {
		names = append(names, aws.ToString(x.IndexName))
	}
	return names
}

func TestPlanThenEnsure(t *testing.T) {
	t.Parallel()
	name := tabletest.New(t, appCore(), nil).Schema().Name
	spec := encode(t, nextRelease(name))
	manual := nextRelease(name)
	manual.TTLAttribute = "ttl"
	unsupported := nextRelease(name)
	unsupported.PointInTimeRecovery = true // which no local engine has
	for _, step := range []struct {
		golden, schema string
		args           []string
	}{
		{"plan-manual", encode(t, manual), []string{"plan"}},
		{"plan-json-manual", encode(t, manual), []string{"plan", "-json"}},
		{"ensure-manual", encode(t, manual), []string{"ensure"}},
		{"plan-changes", spec, []string{"plan"}},
		{"plan-json-changes", spec, []string{"plan", "-json"}},
		{"ensure-changes", spec, []string{"ensure"}},
		{"plan-unsupported", encode(t, unsupported), []string{"plan"}},
		{"plan-nothing", spec, []string{"plan"}},
		{"plan-json-nothing", spec, []string{"plan", "-json"}},
		{"ensure-json-nothing", spec, []string{"ensure", "-json"}},
	} {
		got := run(t, nil, step.schema, append(step.args, "-")...)
		got.stdout = strings.ReplaceAll(got.stdout, name, "TABLE")
		golden(t, step.golden, got)
	}
	if diff := cmp.Diff([]string{"GSI1", "GSI2", "GSI3"}, indexes(t, name)); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
}

func TestEnsureCreatesATable(t *testing.T) {
	t.Parallel()
	spec := unmade(t, appCore())
	file := encode(t, spec)
	for command, want := range map[string]int{"plan": exitNo, "verify": exitNo} {
		if got := run(t, nil, file, command, "-"); got.code != want || !strings.Contains(got.stdout, "the table does not exist") {
			t.Errorf("%s before: %+v", command, got)
		}
	}
	got := run(t, nil, file, "ensure", "-")
	if got.code != exitYes || got.stdout != spec.Name+" in "+os.Getenv("AWS_REGION")+" is as the schema says.\n" ||
		!strings.HasPrefix(got.stderr, "the table does not exist; create it\n") {
		t.Errorf("ensure: %+v", got)
	}
	if got := run(t, nil, file, "verify", "-"); got.code != exitYes {
		t.Errorf("verify after: %+v", got)
	}
}

// An engine for tests gets what it can have.
func TestEnsureWithoutBackups(t *testing.T) {
	t.Parallel()
	spec := unmade(t, appCore())
	spec.PointInTimeRecovery = true
	got := run(t, nil, encode(t, spec), "ensure", "-")
	if got.code != exitYes || !strings.Contains(got.stdout, " is as the schema says.\n") ||
		!strings.Contains(got.stderr, "left out: PointInTimeRecovery: is off, the schema wants it on (this engine cannot)\n") {
		t.Errorf("ensure: %+v", got)
	}
	spec.PointInTimeRecovery = false
	if got := run(t, nil, encode(t, spec), "verify", "-"); got.code != exitYes {
		t.Errorf("verify after: %+v", got)
	}
}

// unmade returns the schema of a table that is missing. A table of its name is dropped at
// the end of the test.
func unmade(t *testing.T, spec schema.Table) schema.Table {
	t.Helper()
	spec = tabletest.New(t, spec, nil).Schema()
	if _, err := tabletest.Client(t).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &spec.Name}); err != nil {
		t.Fatal(err)
	}
	return spec
}

// withUpdates returns an endpoint that leads to the engine, except for UpdateTable, which
// the handler may forward.
func withUpdates(t *testing.T, handle func(w http.ResponseWriter, forward func())) (endpoint string) {
	t.Helper()
	engine, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward := func() { proxy.ServeHTTP(w, r) }
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateTable") {
			handle(w, forward)
			return
		}
		forward()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestEnsureKilled kills the program when it asks for the second index. The next run
// adds that one only.
func TestEnsureKilled(t *testing.T) {
	t.Parallel()
	name := tabletest.New(t, appCore(), nil).Schema().Name
	spec := nextRelease(name)
	spec.Stream = ""
	second, release := make(chan struct{}), make(chan struct{})
	updates := 0
	endpoint := withUpdates(t, func(w http.ResponseWriter, forward func()) {
		if updates++; updates != 2 { // The program sends one request at a time.
			forward()
			return
		}
		close(second)
		<-release
	})
	defer close(release)

	c := prepare(t, "ensure", "-")
	c.Env = append(c.Env, "AWS_ENDPOINT_URL_DYNAMODB="+endpoint)
	c.Stdin = strings.NewReader(encode(t, spec))
	c.start(t)
	select {
	case <-second:
	case <-t.Context().Done():
		t.Fatal(c.stderr)
	}
	c.end(t, syscall.SIGKILL)
	if diff := cmp.Diff([]string{"GSI1", "GSI2"}, indexes(t, name)); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
	got := run(t, nil, encode(t, spec), "ensure", "-")
	if got.code != exitYes || !strings.HasPrefix(got.stderr, "global index GSI3: is missing; ") {
		t.Errorf("the next run: %+v", got)
	}
	if diff := cmp.Diff([]string{"GSI1", "GSI2", "GSI3"}, indexes(t, name)); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
}

// unfinished is a table whose index takes longer than anybody waits, as DynamoDB
// describes it.
const unfinished = `{
	"Table": {
		"TableStatus": "ACTIVE",
		"KeySchema": [{"KeyType": "HASH", "AttributeName": "pk"}, {"KeyType": "RANGE", "AttributeName": "sk"}],
		"AttributeDefinitions": [
			{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
			{"AttributeName": "gsi1pk", "AttributeType": "S"}, {"AttributeName": "gsi1sk", "AttributeType": "S"}
		],
		"GlobalSecondaryIndexes": [{
			"IndexName": "GSI1", "IndexStatus": "CREATING", "Backfilling": true, "Projection": {"ProjectionType": "ALL"},
			"KeySchema": [{"KeyType": "HASH", "AttributeName": "gsi1pk"}, {"KeyType": "RANGE", "AttributeName": "gsi1sk"}]
		}]
	},
	"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiresAt"}
}`

func TestEnsureThatDoesNotFinish(t *testing.T) {
	dynamo(t, http.StatusOK, unfinished)
	golden(t, "ensure-unfinished", run(t, nil, encode(t, appCore()), "ensure", "-wait", "1s", "-"))
}

// The permissions to look are there, those to change are not.
func TestEnsureWithoutPermissionToChange(t *testing.T) {
	name := tabletest.New(t, appCore(), nil).Schema().Name
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", withUpdates(t, func(w http.ResponseWriter, _ func()) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(denied))
	}))
	trouble(t, run(t, nil, encode(t, nextRelease(name)), "ensure", "-"), "AccessDeniedException", "UpdateTable, ", "is set: requests go there")
}

// TestSchema prints the schemas of live tables, which verify accepts for them.
func TestSchema(t *testing.T) {
	t.Parallel()
	number, bytes := types.ScalarAttributeTypeN, types.ScalarAttributeTypeB
	for file, spec := range map[string]schema.Table{
		"schema-plain": appCore(),
		"schema-kinds": {
			Name: "Kinds", PK: "id", PKType: number, SK: "at", SKType: bytes, TTLAttribute: "ttl", Stream: types.StreamViewTypeKeysOnly,
			Indexes: []schema.Index{
				{Name: "GSI1", PK: "at", PKType: bytes, SK: "id", SKType: number},
				{Name: "GSI2", PK: "x", Projection: types.ProjectionTypeKeysOnly},
				{Name: "LSI1", SK: "score", SKType: number, Local: true, Projection: types.ProjectionTypeInclude, Include: []string{"y"}},
			},
		},
		"schema-simple": {
			Name: "Simple", SimpleKey: true, BillingMode: types.BillingModeProvisioned,
			ProvisionedThroughput: schema.Throughput{Read: 2, Write: 1},
			Indexes:               []schema.Index{{Name: "GSI1", PK: "x", ProvisionedThroughput: schema.Throughput{Read: 1, Write: 2}}},
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			// tabletest leaves the capacity of production out.
			name := unmade(t, spec).Name
			spec.Name = name
			if err := spec.Ensure(t.Context(), tabletest.Client(t)); err != nil {
				t.Fatal(err)
			}
			got := run(t, nil, "", "schema", name)
			if got := run(t, nil, got.stdout, "verify", "-"); got.code != exitYes {
				t.Errorf("verify: %+v", got)
			}
			if got := run(t, nil, got.stdout, "plan", "-json", "-"); got.code != exitYes || !strings.Contains(got.stdout, `"notes": []`) {
				t.Errorf("plan: %+v", got)
			}
			got.stdout = strings.ReplaceAll(got.stdout, name, "TABLE")
			golden(t, file, got)
		})
	}
}

// TestSchemaWithEntities adds the entities that samples show, and reads no more of them
// than it was told.
func TestSchemaWithEntities(t *testing.T) {
	t.Parallel()
	spec := appCore()
	tbl := tabletest.New(t, spec, nil)
	var ops []table.Op
	for _, id := range []string{"ana", "bob"} {
		user := map[string]any{"entityType": "USER", "kind": "person", "userId": id, "email": id + "@example.com", "revision": "r", "expiresAt": 1}
		mail := maps.Clone(user)
		user["gsi1pk"], user["gsi1sk"] = "USERS", id
		ops = append(ops,
			table.Put(keys.Key{PK: keys.User.PK(id), SK: keys.Profile}, user),
			table.Put(keys.Key{PK: keys.Prefix("EMAIL").PK(id + "@example.com"), SK: keys.Metadata}, mail))
	}
	store(t, tbl, ops...)
	name := tbl.Schema().Name
	for file, args := range map[string][]string{
		"schema-sample": {"-sample", "100"},
		"schema-type":   {"-sample", "1000000000", "-type", "kind"},
	} {
		got := run(t, nil, "", append([]string{"schema", name}, args...)...)
		if got := run(t, nil, got.stdout, "verify", "-"); got.code != exitYes {
			t.Errorf("verify: %+v", got)
		}
		got.stdout = strings.ReplaceAll(got.stdout, name, "TABLE")
		golden(t, file, got)
	}
	if got := run(t, nil, "", "schema", "-sample", "1", name); !strings.HasSuffix(got.stderr, "read 1 item for 0.5 read units\n") || strings.Count(got.stdout, `"entities"`) != 1 {
		t.Errorf("one sample: %+v", got)
	}
	trouble(t, run(t, nil, "", "schema", "-sample", "-1", name), "-sample is a number of items")
	trouble(t, run(t, nil, "", "schema", "-type", "pk", "-sample", "1", name), "is the type attribute too")
}

// TestSchemaOfOtherTables describes tables that local engines do not have.
func TestSchemaOfOtherTables(t *testing.T) {
	description := strings.Replace(unfinished, `"GlobalSecondaryIndexes": [`, `
		"TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"}, "DeletionProtectionEnabled": true,
		"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
		"GlobalSecondaryIndexes": [{
			"IndexName": "GONE", "IndexStatus": "DELETING", "KeySchema": [{"KeyType": "HASH", "AttributeName": "gsi1pk"}]
		}, {
			"IndexName": "MULTI", "IndexStatus": "ACTIVE", "KeySchema": [
				{"KeyType": "HASH", "AttributeName": "gsi1pk"}, {"KeyType": "HASH", "AttributeName": "gsi1sk"}
			]
		}, `, 1)
	description = strings.Replace(description, `"TimeToLiveDescription"`, `
		"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}},
		"TimeToLiveDescription"`, 1)
	if !json.Valid([]byte(description)) {
		t.Fatal(description)
	}
	dynamo(t, http.StatusOK, description)
	golden(t, "schema-other", run(t, nil, "", "schema", "AppCore"))

	trouble(t, run(t, nil, "", "schema", "no table"), "is not 3 to 255 of the characters")
	dynamo(t, http.StatusOK, strings.Replace(description, `"KeyType": "RANGE", "AttributeName": "sk"`, `"KeyType": "HASH", "AttributeName": "sk"`, 1))
	trouble(t, run(t, nil, "", "schema", "AppCore"), "one partition key")
	dynamo(t, http.StatusOK, "{}")
	trouble(t, run(t, nil, "", "schema", "AppCore"), "describes no table")
	dynamo(t, http.StatusBadRequest, `{"__type": "ResourceNotFoundException", "message": "no"}`)
	trouble(t, run(t, nil, "", "schema", "AppCore"), "there is no table AppCore")
}
