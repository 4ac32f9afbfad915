package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/blog/bucket"
	"github.com/singletable/singletable/examples/blog/bucket/buckettest"
	"github.com/singletable/singletable/examples/blog/setup"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth/pooltest"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

const secretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:blog/cursor-keys-AbCdEf"

// deployment is the functions of the template with what they need.
type deployment struct {
	*lambdatest.Stack
	bucket  *buckettest.Server
	secrets *secretstest.Store
	pool    pooltest.Pool
	store   *store.Store // not of a function
}

func deploy(t *testing.T) deployment {
	t.Helper()
	tbl := tabletest.New(t, store.Schema("any"), nil)
	d := deployment{
		bucket: buckettest.New(t, "blog-content"), pool: pooltest.New(t, tabletest.Client(t).Options().Region),
		secrets: secretstest.New(secretARN, "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo="),
	}
	t.Cleanup(d.secrets.Close)
	written := buckettest.New(t, d.bucket.Bucket) // by the test, so that it is not the functions' doing
	d.store = check.Must(store.New(tbl, bucket.Objects{Client: written.Client(), Bucket: written.Bucket}))(t)
	d.Stack = lambdatest.New(t, template, map[string]string{
		"TableName": tbl.Schema().Name, "BucketName": d.bucket.Bucket, "CursorKeysSecretArn": secretARN,
		"UserPoolId": d.pool.ID, "ClientId": d.pool.ClientID,
	})
	d.Environment[secretstest.EndpointVariable], d.Environment[buckettest.EndpointVariable] = d.secrets.URL, d.bucket.URL
	maps.Copy(d.Environment, d.pool.Serve(t))
	check.Equal(t, "functions", slices.Sorted(maps.Keys(d.Functions)), []string{"api", "consume", "sweep"})
	return d
}

func TestAFunctionThatLacksSomethingDoesNotStart(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for _, c := range []struct{ handler, variable, reason string }{
		{"api", "TABLE_NAME", "TABLE_NAME"},
		{"consume", "TABLE_NAME", "TABLE_NAME"},
		{"sweep", setup.BucketName, setup.BucketName},
		{"api", setup.CursorKeysSecret, setup.CursorKeysSecret},
		{"api", "COGNITO_CLIENT_ID", "COGNITO_CLIENT_ID"},
		{"sweep", "_HANDLER", "it is api, consume or sweep"},
	} {
		l := d.StartFails(t, c.handler, map[string]string{c.variable: ""})
		if !strings.Contains(fmt.Sprint(l.Error), c.reason) {
			t.Errorf("%s without %s: %s", c.handler, c.variable, l.Text)
		}
	}
}

// transact runs ops and returns the event of their changes.
func (d deployment) transact(t *testing.T, ops ...table.Op) json.RawMessage {
	t.Helper()
	return check.Must(streamtest.Transact(t.Context(), d.Client, d.store.Table, ops...))(t)
}

// The consumer is given a change of every kind, twice, and has the permissions for what it
// does then, and no others.
func TestTheConsumerMayDoWhatItDoesAndNoMore(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	f := d.Start(t, "consume")
	s, ctx := d.store, t.Context()
	handle := func(event json.RawMessage) {
		t.Helper()
		for range 2 {
			o := f.Invoke(t, event)
			check.Equal(t, "response", string(o.Response), `{"batchItemFailures":[]}`)
			check.Equal(t, "lines", len(o.Lines), 0)
		}
	}
	check.OK(t,
		s.AddUser(ctx, store.User{ID: "ana", Email: "ana@example.com", Name: "Ana"}),
		s.AddPost(ctx, store.Post{ID: "p", AuthorID: "ana"}, nil),
		s.AddComment(ctx, store.Comment{ID: "c", PostID: "p", AuthorID: "ana"}),
		s.OpenGroup(ctx, store.Group{ID: "g", Name: "Cooks"}, "ana", time.Time{}),
		s.Count(ctx, store.ViewsOf("p"), "v", 1))
	user := check.Must(s.User(ctx, "ana"))(t)
	renamed := user
	renamed.Name = "Anna"
	handle(d.transact(t, s.Users.UpdateOps(user, &renamed)...))
	late := store.Comment{ID: "late", PostID: "p", AuthorID: "ana", AuthorName: "Ana", AuthorVersion: 1}
	handle(d.transact(t, s.Comments.CreateOps(&late)...))
	for c, err := range s.Comments.Consistent().All(ctx, store.CommentsQuery("p")) {
		check.OK(t, err)
		check.Equal(t, "author of "+c.ID, c.AuthorName, "Anna")
	}
	group := check.Must(s.Groups.Get(ctx, store.GroupKey("g")))(t)
	chefs := group
	chefs.Name = "Chefs"
	handle(d.transact(t, s.Groups.UpdateOps(group, &chefs)...))
	check.Equal(t, "group", check.Must(s.Membership(ctx, "g", "ana"))(t).GroupName, "Chefs")

	large := make([]byte, store.MaxInline+1)
	check.OK(t, s.SetPostContent(ctx, "p", large))
	content := check.Must(s.Contents.Get(ctx, store.ContentKey(store.PostKey("p").PK)))(t)
	check.OK(t, bucket.Objects{Client: d.bucket.Client(), Bucket: d.bucket.Bucket}.Put(ctx, content.Object, large))
	handle(d.transact(t, s.Contents.DeleteOps(content)...))
	check.Equal(t, "objects", len(d.bucket.Names()), 0)
	handle(d.transact(t, s.Posts.DeleteOps(check.Must(s.Posts.Get(ctx, store.PostKey("p")))(t))...))
	handle(d.transact(t, s.Groups.DeleteOps(chefs)...))
	check.Is(t, check.Err(s.Membership(ctx, "g", "ana")), store.ErrNotMember)
	check.Equal(t, "groups of ana", check.Must(s.User(ctx, "ana"))(t).Groups, 0)
	check.Equal(t, "views", check.Must(s.Total(ctx, store.ViewsOf("p")))(t), 0)

	f.Fails(t, []byte(`{"Records":[{"messageId":"m-1","body":"{}","eventSource":"aws:sqs"}]}`), "stream")
	d.Faults.Always("", tabletest.DropRequest())
	event := d.transact(t, s.Users.UpdateOps(renamed, &user)...)
	d.Faults.Always("", nil)

	statements := needed(t, d.Faults.Requests(), []string{"s3:DeleteObject"})
	// An item of a comment or membership that is missing, or differs, is written whole.
	statements[0].Action = append(statements[0].Action, "dynamodb:PutItem")
	samtest.Allows(t, d.Functions["consume"], append(statements,
		samtest.Statement{
			Effect: "Allow", Action: []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"},
			Resource: tableARN + "/stream/*",
		},
		samtest.Statement{Effect: "Allow", Action: []string{"sqs:SendMessage"}, Resource: "FailedBatches.Arn"})...)

	d.Faults.Always("", tabletest.DropRequest())
	o := f.Invoke(t, event)
	check.Equal(t, "log", o.Line(t).Msg, "a change is delivered again")
	if !strings.Contains(string(o.Response), `{"batchItemFailures":[{"itemIdentifier":`) {
		t.Errorf("the failed change: %s", o.Response)
	}
}

func TestTheSweepMayDoWhatItDoesAndNoMore(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	f := d.Start(t, "sweep")
	own := check.Must(store.New(d.store.Table, bucket.Objects{Client: d.bucket.Client(), Bucket: d.bucket.Bucket}))(t)
	check.OK(t, own.AddUser(t.Context(), store.User{ID: "ana", Email: "ana@example.com", Name: "Ana"}))
	large := make([]byte, store.MaxInline+1)
	check.OK(t, own.AddPost(t.Context(), store.Post{ID: "p", AuthorID: "ana"}, large), own.SetPostContent(t.Context(), "p", large))
	check.OK(t, check.Err(own.Upload(t.Context(), "ana", store.Path{"f"}, large, time.Time{})))
	d.bucket.Forget()
	d.bucket.Age(25 * time.Hour)
	for range 2 {
		o := f.Invoke(t, []byte(`{"version":"0","source":"aws.events","detail-type":"Scheduled Event","detail":{}}`))
		check.Equal(t, "response and log", string(o.Response)+o.Line(t).Msg, "nullsweep")
	}
	check.Equal(t, "objects", len(d.bucket.Names()), 2)
	samtest.Allows(t, d.Functions["sweep"], needed(t, d.Faults.Requests(), d.bucket.Used())...)
	d.Faults.Always("", tabletest.DropRequest())
	o := f.Invoke(t, []byte(`{}`))
	check.Equal(t, "error and lines", fmt.Sprint(o.Error != "", len(o.Lines)), "true 2")
}
