package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

func appCore() schema.Table {
	return schema.Table{
		Name: "AppCore", TTLAttribute: "expiresAt",
		Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
	}
}

// encode returns a schema or a model as a program prints it.
func encode(t *testing.T, spec any) string {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	name := tabletest.New(t, appCore(), nil).Schema().Name
	differs := appCore()
	differs.TTLAttribute = ""
	differs.Indexes = append(
		differs.Indexes,
		schema.Index{Name: "GSI2", PK: "gsi2pk", Projection: types.ProjectionTypeKeysOnly},
		schema.Index{Name: "LSI1", SK: "at", Local: true},
	)
	unsupported := appCore()
	unsupported.PointInTimeRecovery = true // which no local engine has
	for file, tt := range map[string]struct {
		schema schema.Table
		args   []string
	}{
		"unsupported":  {unsupported, nil},
		"same":         {appCore(), nil},
		"differs":      {differs, nil},
		"json-same":    {appCore(), []string{"-json"}},
		"json-differs": {differs, []string{"-json"}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			spec := save(t, "schema.json", encode(t, tt.schema))
			args := append([]string{"verify", "-table", name, spec}, tt.args...)
			got := run(t, nil, "", args...)
			got.stdout = strings.ReplaceAll(got.stdout, name, "TABLE")
			golden(t, "verify-"+file, got)
		})
	}
}

func TestVerifyMissingTable(t *testing.T) {
	t.Parallel()
	golden(t, "verify-missing", run(t, nil, `{"name": "no-such-table"}`, "verify", "-"))
}

func TestVerifyBadFile(t *testing.T) {
	t.Parallel()
	trouble(t, run(t, nil, "", "verify", "testdata/missing.json"), "testdata/missing.json")
	for text, says := range map[string]string{
		" \n":                   "is empty",
		"{":                     "unexpected EOF",
		"AppCore":               "invalid character",
		`"AppCore"`:             "cannot unmarshal string",
		`{"name": 5}`:           "cannot unmarshal number",
		`{"name": "AppCore"} {`: "there is more after the schema",
		`{"nane": "AppCore"}`:   `unknown field "nane"`,
		`{"name": "AppCore", "ttl": "a", "TTL": "b"}`:                               "TTL: is there twice",
		`{"name": "AppCore", "sk": "a", "ſk": "b"}`:                                 "ſk: is there twice",
		strings.Repeat("[", 40_000):                                                 "is nested deeper than 16 levels",
		strings.Repeat(`{"a":`, 40_000):                                             "is nested deeper than 16 levels",
		`{"indexes": [{"pk": "a", "sk": "b", "pk": "c"}]}`:                          "indexes[0].pk: is there twice",
		`{"name": "AppCore", "indexes": [{"name": "GSI1", "hash": "a"}]}`:           `unknown field "hash"`,
		`{"name": "AppCore", "sk": "pk", "indexes": [{"name": "GSI1"}]}`:            "\n  SK: ",
		`{"name": "AppCore", "indexes": [{"name": "GSI1", "pk": "a"}], "ttl": "a"}`: "invalid schema",
	} {
		trouble(t, run(t, nil, text, "verify", "-"), "singletable verify: standard input: ", says)
	}
}

// dynamo responds to every request as AWS would with that status and body, and
// returns with whose credentials and for which region they were signed.
func dynamo(t *testing.T, status int, body string) (signedFor *string) {
	t.Helper()
	signedFor = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credential := strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=")
		if f := strings.Split(credential, "/"); len(f) > 2 {
			*signedFor = f[0] + " in " + f[2]
		}
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", server.URL)
	return signedFor
}

const denied = `{"__type": "com.amazon.coral.service#AccessDeniedException", "Message": "no"}`

// At the address there is another server, or one that never responds: the error
// says who led the program there.
func TestVerifyNamesTheVariableOfTheEndpoint(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil || closed.Close() != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"} {
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
		t.Setenv(name, web.URL)
		trouble(t, run(t, nil, encode(t, appCore()), "verify", "-"), "StatusCode: 404", "\n  "+name+" is set")
		t.Setenv(name, "http://"+closed.Addr().String())
		trouble(t, run(t, nil, encode(t, appCore()), "verify", "-"), "singletable verify: there is no connection to DynamoDB\n", "\n  "+name+" is set")
		t.Setenv(name, "http://"+silent.Addr().String())
		trouble(t, runFor(t, 100*time.Millisecond, nil, encode(t, appCore()), "verify", "-"), "no result within 100ms", "\n  "+name+" is set")
	}
}

func TestVerifyWithProfile(t *testing.T) {
	signedFor := dynamo(t, http.StatusBadRequest, denied)
	profile := "[profile staging]\nregion = eu-central-1\naws_access_key_id = AKIASTAGING\naws_secret_access_key = x\n"
	t.Setenv("AWS_CONFIG_FILE", save(t, "config", profile))
	t.Setenv("AWS_PROFILE", "staging")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	run(t, nil, encode(t, appCore()), "verify", "-")
	if diff := cmp.Diff("AKIASTAGING in eu-central-1", *signedFor); diff != "" {
		t.Error(diff)
	}
	t.Setenv("AWS_PROFILE", "prod")
	trouble(t, run(t, nil, encode(t, appCore()), "verify", "-"), "prod")
}

func TestVerifyWithoutCredentials(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	trouble(t, run(t, nil, encode(t, appCore()), "verify", "-"), "no credentials", "AWS_PROFILE")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	trouble(t, run(t, nil, encode(t, appCore()), "verify", "-"), "no region", "AWS_REGION")
}

// FuzzSchemaFile reads arbitrary text. What is read can be printed and read
// again.
func FuzzSchemaFile(f *testing.F) {
	f.Add(`{"name": "AppCore", "indexes": [{"name": "GSI1", "pk": "gsi1pk", "include": ["a"]}]}`)
	f.Add(`{"name": "A", "tags": {"a": "", "A": ""}, "entities": [{"type": "T", "items": [{"pk": "A#{id}", "indexes": {"GSI1": {"pk": "x"}, "gsi1": {"pk": "y"}}}]}]}`)
	f.Add(`{"name": "A", "name": "B"}`)
	f.Add(`[[{`)
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := decodeModel(text)
		if err != nil {
			return
		}
		again, err := decodeModel(encode(t, spec))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(encode(t, spec), encode(t, again)); diff != "" {
			t.Error(diff)
		}
	})
}
