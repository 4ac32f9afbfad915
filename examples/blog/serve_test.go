package main

import (
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/blog/bucket"
	"github.com/singletable/singletable/examples/blog/bucket/buckettest"
	"github.com/singletable/singletable/examples/blog/setup"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth/pooltest"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/table/tabletest"
)

// production is the variables of a deployment with a table and a bucket.
func production(t *testing.T) (environment []string, s *store.Store, objects *buckettest.Server, pool pooltest.Pool) {
	t.Helper()
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, store.Schema("any"), nil)
	objects = buckettest.New(t, "blog-content")
	secrets := secretstest.New("blog/cursor-keys", "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=")
	t.Cleanup(secrets.Close)
	o := client.Options()
	credentials := check.Must(o.Credentials.Retrieve(t.Context()))(t)
	s = check.Must(store.New(tbl, bucket.Objects{Client: objects.Client(), Bucket: objects.Bucket}))(t)
	pool = pooltest.New(t, o.Region)
	for name, value := range pool.Serve(t) {
		environment = append(environment, name+"="+value)
	}
	return append(environment,
		"AWS_REGION="+o.Region, "AWS_ACCESS_KEY_ID="+credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+credentials.SecretAccessKey,
		"AWS_ENDPOINT_URL_DYNAMODB="+*o.BaseEndpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+*o.BaseEndpoint,
		buckettest.EndpointVariable+"="+objects.URL, secretstest.EndpointVariable+"="+secrets.URL,
		"COGNITO_USER_POOL_ID="+pool.ID, "COGNITO_CLIENT_ID="+pool.ClientID,
		setup.BucketName+"="+objects.Bucket, setup.CursorKeysSecret+"=blog/cursor-keys"), s, objects, pool
}

// -serve consumes the stream and sweeps the bucket; -serve-api leaves both to functions.
func TestServeConsumesAndSweeps(t *testing.T) {
	t.Parallel()
	env, s, objects, pool := production(t)
	check.OK(t,
		s.AddUser(t.Context(), store.User{ID: "ana", Email: "ana@example.com", Name: "Ana"}),
		s.AddPost(t.Context(), store.Post{ID: "p", AuthorID: "ana"}, make([]byte, store.MaxInline+1)),
		s.SetPostContent(t.Context(), "p", make([]byte, store.MaxInline+2)),
		s.AddComment(t.Context(), store.Comment{ID: "c", PostID: "p", AuthorID: "ana"}),
		check.Err(s.Rename(t.Context(), "ana", "Anna")))
	objects.Age(25 * time.Hour)
	serve := func(mode string) server {
		cmd := programtest.Command(t.Context(), mode, "-addr", "127.0.0.1:0", "-table", s.Table.Schema().Name)
		cmd.Env = append(cmd.Env, env...)
		return server{programtest.Start(t, cmd, "listening")}
	}
	alone := serve("-serve-api")
	for request, want := range map[string]int{"GET /healthz": http.StatusOK, "GET /me": http.StatusUnauthorized} {
		if status, body := alone.send(t.Context(), "", "", request, ""); status != want {
			t.Errorf("%s: %d %s", request, status, body)
		}
	}
	alone.End(t, syscall.SIGTERM)
	check.Equal(t, "objects before", len(objects.Names()), 2)

	whole := serve("-serve")
	if token, _ := pool.Token(t, "ana", nil); runtime.GOOS == "linux" { // others trust the system's certificates only
		if status, body := whole.send(t.Context(), token, "", "GET /me/posts", ""); status != http.StatusOK || !strings.Contains(body, `"postId":"p"`) {
			t.Errorf("%d %s", status, body)
		}
	}
	check.OK(t, program.Until(t.Context(), func() (bool, error) {
		named, err := signed(t.Context(), s, "ana", "Anna")
		return named && len(objects.Names()) == 1, err
	}))
	whole.End(t, syscall.SIGTERM)
}

func TestItRefusesToStartAndSaysWhy(t *testing.T) {
	t.Parallel()
	env, s, _, _ := production(t)
	for missing, says := range map[string]string{
		setup.BucketName: setup.BucketName, setup.CursorKeysSecret: setup.CursorKeysSecret, "COGNITO_USER_POOL_ID": "COGNITO_USER_POOL_ID", "": "other",
	} {
		args := []string{"-serve", "-addr", "127.0.0.1:0", "-table", s.Table.Schema().Name}
		if missing == "" {
			args[4] = "other" // which is no table
		}
		cmd := programtest.Command(t.Context(), args...)
		cmd.Env = append(cmd.Env, slices.DeleteFunc(slices.Clone(env), func(v string) bool { return missing != "" && strings.HasPrefix(v, missing+"=") })...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), says) {
			t.Errorf("without %s: %v\n%s", missing, err, out)
		}
	}
}

func TestTheRequestsThatItPrintsWork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("the requests are sent with curl, which is missing (%v); on Debian: apt-get install curl", err)
	}
	s := startDev(t)
	var commands []string
	for _, line := range s.Out {
		if strings.HasPrefix(line, "  ") {
			commands = append(commands, strings.ReplaceAll(line, "curl -s", "curl -sSf"))
		}
	}
	script := "set -e\n" + strings.Join(commands, "\n")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	for _, part := range []string{`"text":"First!"`, `"memberCount":1`, `"role":"owner"`, `"name":"recipe.txt"`} {
		if err != nil || !strings.Contains(string(out), part) {
			t.Fatalf("%v, want %s:\n%s\n%s", err, part, script, out)
		}
	}
	s.End(t, os.Interrupt)
}
