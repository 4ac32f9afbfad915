package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/api"
	"github.com/singletable/singletable/examples/blog/bucket"
	"github.com/singletable/singletable/examples/blog/bucket/buckettest"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	template  = "../template.yaml"
	tableARN  = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${TableName}"
	bucketARN = "arn:${AWS::Partition}:s3:::${BucketName}"
)

// byName replaces the ARN of the stack's table by that of the table of the name.
var byName = strings.NewReplacer("${Table.Arn}", tableARN, "Table.Arn", tableARN)

// needed returns the statements that allow requests to DynamoDB and to the bucket, and
// nothing else.
func needed(t *testing.T, requests []tabletest.Request, used []string) []samtest.Statement {
	t.Helper()
	statements := samtest.Needed(t, requests)
	for i := range statements {
		statements[i].Resource = byName.Replace(statements[i].Resource)
	}
	var objects []string
	for _, action := range used {
		if action == "s3:ListBucket" {
			statements = append(statements, samtest.Statement{Effect: "Allow", Action: []string{action}, Resource: bucketARN})
		} else {
			objects = append(objects, action)
		}
	}
	return append(statements, samtest.Statement{Effect: "Allow", Action: objects, Resource: bucketARN + "/*"})
}

func TestTheTemplatesTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	samtest.Table(t, samtest.Read(t, template), store.Schema("Blog"))
}

// Every endpoint is called: the API has the permissions for that, and no others.
func TestTheAPIMayDoWhatItDoesAndNoMore(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	objects := buckettest.New(t, "blog-content")
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), store.Schema("any"), nil)
	made := len(faults.Requests())
	s := check.Must(store.New(tbl, bucket.Objects{Client: objects.Client(), Bucket: objects.Bucket}))(t)
	issuer := check.Must(auth.NewIssuer(nil))(t)
	handler := (&api.API{Store: s, Auth: check.Must(auth.NewCognito(issuer.Config()))(t), Log: slog.New(slog.DiscardHandler)}).Handler(nil)
	called, keys := map[string]bool{}, 0
	// call calls an endpoint, with values for the wildcards of its pattern, and returns a
	// member of the response.
	call := func(user, pattern, body, member string, values ...string) string {
		t.Helper()
		called[pattern] = true
		method, path, _ := strings.Cut(pattern, " ")
		query := ""
		for i, value := range values {
			if rest, ok := strings.CutPrefix(value, "?"); ok {
				query = "?" + rest
				continue
			}
			from, to := strings.Index(path, "{"), strings.Index(path, "}")
			path = path[:from] + values[i] + path[to+1:]
		}
		keys++
		r := httptest.NewRequestWithContext(t.Context(), method, path+query, strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer " + check.Must(issuer.Token(user))(t)}, "Idempotency-Key": {fmt.Sprint(keys)}}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var object map[string]any
		if w.Code >= 300 || json.Unmarshal(w.Body.Bytes(), &object) != nil && member != "" {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return fmt.Sprint(object[member])
	}
	for _, user := range []string{"ana", "bob"} {
		call(user, "PUT /me", fmt.Sprintf(`{"email":"%s@example.com","name":"A"}`, user), "")
	}
	call("ana", "PATCH /me", `{"email":"anna@example.com","name":"Anna"}`, "")
	post := call("ana", "POST /posts", `{"title":"A day","content":"Rain."}`, "postId")
	large := strings.Repeat("x", store.MaxInline+1)
	call("ana", "PUT /posts/{id}/content", large, "", post)
	call("ana", "PUT /posts/{id}/publication", "", "", post)
	comment := call("bob", "POST /posts/{id}/comments", `{"text":"First!"}`, "commentId", post)
	call("bob", "POST /posts/{id}/views", "", "", post)
	group := call("ana", "POST /groups", `{"name":"Cooks"}`, "groupId")
	call("ana", "PATCH /groups/{id}", `{"description":"What we eat"}`, "", group)
	call("bob", "PUT /groups/{id}/membership", "", "", group)
	call("bob", "GET /groups/{id}/membership", "", "", group)
	call("ana", "GET /groups/{id}/members", "", "", group)
	call("ana", "PUT /groups/{id}/members/{user}", `{"role":"owner"}`, "", group, "bob")
	call("bob", "GET /groups/{id}", "", "", group)
	folder := call("ana", "POST /folders", `{"path":["work"]}`, "folderId")
	file := call("ana", "PUT /files/{path...}", large, "fileId", "work/a")
	call("ana", "PUT /files/{path...}", "b", "", "work/a")
	call("ana", "GET /files/{id}", "", "", file)
	call("ana", "GET /files/{id}/metadata", "", "", file)
	call("ana", "GET /files", "", "", "?by=size&folder="+folder)
	call("ana", "PUT /nodes/{path...}", fmt.Sprintf(`{"nodeId":%q,"from":["work","a"]}`, file), "", "b")
	call("ana", "PUT /nodes/{path...}", fmt.Sprintf(`{"nodeId":%q,"from":["work"]}`, folder), "", "office")
	call("ana", "GET /folders", "", "")
	call("ana", "GET /folders", "", "", "?depth=all")
	call("ana", "PUT /me/metrics/{name}/{time}", `{"value":1}`, "", "steps", "2024-01-15T10:00:00Z")
	call("ana", "GET /me/metrics/{name}", "", "", "steps", "?from=2024-01-15T10:00:00Z&to=2024-01-16T10:00:00Z")
	for _, list := range []string{"GET /me", "GET /me/posts", "GET /me/comments", "GET /me/groups", "GET /posts"} {
		call("ana", list, "", "")
	}
	for _, of := range []string{"GET /posts/{id}", "GET /posts/{id}/views", "GET /posts/{id}/comments", "DELETE /posts/{id}/publication"} {
		call("ana", of, "", "", post)
	}
	call("ana", "DELETE /posts/{id}/comments/{comment}", "", "", post, comment)
	call("ana", "DELETE /posts/{id}", "", "", post)
	call("ana", "DELETE /groups/{id}/membership", "", "", group)
	call("bob", "DELETE /groups/{id}", "", "", group)
	call("ana", "DELETE /files/{path...}", "", "", "b")
	for _, pattern := range api.Patterns() {
		if !called[pattern] {
			t.Errorf("%s was not called", pattern)
		}
	}
	// An object that was replaced while it was read is missing.
	if _, err := s.Objects.Get(t.Context(), "none"); err == nil {
		t.Error("there is an object")
	}
	samtest.Allows(t, samtest.Functions(t, samtest.Read(t, template))["api"], append(needed(t, faults.Requests()[made:], objects.Used()),
		samtest.Statement{Effect: "Allow", Action: []string{"secretsmanager:GetSecretValue"}, Resource: "CursorKeysSecretArn"})...)
}

func TestAlarmsReachSomebody(t *testing.T) {
	t.Parallel()
	samtest.Alarms(t, samtest.Read(t, template), "TableName", store.Schema("any").Indexes, "5xx HttpApi", "Latency HttpApi",
		"IteratorAge Consume", "ApproximateNumberOfMessagesVisible FailedBatches.QueueName")
}

func TestParametersAgree(t *testing.T) {
	t.Parallel()
	samtest.ParametersAgree(t, samtest.Read(t, template), nil)
}

func TestTheScriptDeploysTheTemplate(t *testing.T) {
	t.Parallel()
	samtest.Script(t, template, "CursorKeysSecretArn", "user you@example.com")
}

// Nobody else reads the bucket, which TableStreamArn takes away with the table.
func TestDataOutlivesTheStack(t *testing.T) {
	t.Parallel()
	samtest.Outlives(t, template, map[string]string{
		"Table": "MakesTable", "Bucket": "MakesTable", "UserPool": "MakesUserPool", "UserPoolClient": "MakesUserPool",
	})
	for setting, on := range samtest.Of[struct {
		Access map[string]bool `yaml:"PublicAccessBlockConfiguration"`
	}](t, samtest.Read(t, template), "AWS::S3::Bucket")["Bucket"].Access {
		check.Equal(t, setting, on, true)
	}
	if text := string(check.Must(os.ReadFile(template))(t)); regexp.MustCompile(`!Ref Bucket\b|\bBucket\.`).MatchString(text) {
		t.Error("something refers to the bucket of the stack")
	}
}

// All requests but health checks need a token of the user pool.
func TestTheAPIAsksForTokensOfTheUserPool(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, template)
	samtest.UserPool(t, tpl, "HttpApi", false)
	for name, e := range samtest.Functions(t, tpl)["api"].Events {
		check.Equal(t, name, e.Properties["Auth"] != nil, name != "Requests")
	}
}

// A change that fails is delivered again, and in the end somebody learns of it.
func TestChangesAreRetriedAndThenGivenUp(t *testing.T) {
	t.Parallel()
	m := samtest.Of[struct {
		Source      []string `yaml:"EventSourceArn"`
		Responses   []string `yaml:"FunctionResponseTypes"`
		Start       string   `yaml:"StartingPosition"`
		Bisect      bool     `yaml:"BisectBatchOnFunctionError"`
		Retries     int      `yaml:"MaximumRetryAttempts"`
		Age         int      `yaml:"MaximumRecordAgeInSeconds"`
		Destination struct {
			OnFailure struct {
				Destination string `yaml:"Destination"`
			} `yaml:"OnFailure"`
		} `yaml:"DestinationConfig"`
	}](t, samtest.Read(t, template), "AWS::Lambda::EventSourceMapping")["Changes"]
	check.Equal(t, "mapping", fmt.Sprint(m), "{[MakesTable Table.StreamArn TableStreamArn] [ReportBatchItemFailures] TRIM_HORIZON true 100 43200 {{FailedBatches.Arn}}}")
}
