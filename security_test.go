package singletable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// permission is what a row of SECURITY.md allows.
type permission struct{ actions, resources []string }

var (
	permissionRow = regexp.MustCompile("(?m)^\\| ([a-z ]+ with `[^`]+`) \\| (.*) \\| (.*) \\|$")
	quoted        = regexp.MustCompile("`([^`]+)`")
)

// permissions returns the rows of SECURITY.md by their use.
func permissions(t *testing.T) map[string]permission {
	t.Helper()
	words := func(cell string) (all []string) {
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return all
	}
	all := map[string]permission{}
	for _, m := range permissionRow.FindAllStringSubmatch(string(expect.Value(os.ReadFile("SECURITY.md"))(t)), -1) {
		all[m[1]] = permission{words(m[2]), words(m[3])}
	}
	return all
}

// used returns the actions that requests need, and those of the resources table
// and index that they are about.
func used(t *testing.T, requests []tabletest.Request) (actions, resources []string) {
	t.Helper()
	for _, r := range requests {
		var body struct {
			IndexName     string
			StreamArn     string
			ShardIterator string
			TransactItems []map[string]json.RawMessage
			Tags          []any
		}
		expect.OK(t, json.Unmarshal(r.Body, &body))
		resource := "table"
		switch {
		case body.IndexName != "":
			resource = "index"
		case strings.HasSuffix(r.Operation, "Stream") || strings.HasSuffix(r.Operation, "Streams") || body.StreamArn+body.ShardIterator != "":
			resource = "stream"
		}
		resources = append(resources, resource)
		if len(body.Tags) > 0 {
			actions = append(actions, "TagResource")
		}
		if !strings.HasPrefix(r.Operation, "Transact") {
			actions = append(actions, r.Operation)
			continue
		}
		for _, item := range body.TransactItems {
			for part := range item {
				actions = append(actions, part+"Item")
			}
		}
	}
	slices.Sort(actions)
	slices.Sort(resources)
	return slices.Compact(actions), slices.Compact(resources)
}

// payment is the entity of these tests, with a copy and a version.
type payment struct {
	ID      string  `dynamodbav:"id"`
	Amount  int     `dynamodbav:"amount"`
	Version int64   `dynamodbav:"version"`
	GSI1PK  keys.PK `dynamodbav:"gsi1pk,omitempty"`
}

// note is an entity with a vector.
type note struct {
	Tenant   string    `dynamodbav:"tenant"`
	Vector   []float32 `dynamodbav:"vector,omitempty"`
	Revision string    `dynamodbav:"revision"`
}

func paymentKey(p payment) keys.Key {
	return keys.Key{PK: keys.Tx.PK(p.ID), SK: keys.Metadata}
}

// shopSchema is the table of these tests.
var shopSchema = schema.Table{
	Name: "Shop", TTLAttribute: "expiresAt", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
}

// withVectors returns the schema with a vector index, on an engine that has such.
func withVectors(t *testing.T, spec schema.Table) schema.Table {
	t.Helper()
	vectors.Needed(t)
	spec.Vectors = []schema.VectorIndex{{Name: "similar", Attribute: "vector", Dimensions: 2, Partition: schema.Attribute{Name: "tenant"}}}
	return spec
}

// unclear responds to a write as if its condition had failed on an item that the
// engine does not return.
var unclear = tabletest.Status(http.StatusBadRequest, "ConditionalCheckFailedException", "Injected.")

// recovery is the response about continuous backups, which local engines do not
// have.
func recovery(status string) tabletest.Fault {
	body := `{"ContinuousBackupsDescription":{"PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"` + status + `"}}}`
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(body)),
			Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		}, nil
	}
}

// uses are the functions of each use in SECURITY.md. What fails for a fault
// is meant to.
var uses = map[string]func(t *testing.T, tbl *table.Table, faults *tabletest.Faults){
	"reads with `table`": func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		key := paymentKey(payment{ID: "p"})
		_, _ = table.Get[payment](t.Context(), tbl, key)
		expect.OK(t, expect.ErrOf(table.BatchGet[payment](t.Context(), tbl, []keys.Key{key})))
		expect.OK(t, expect.ErrOf(table.TransactGet[payment](t.Context(), tbl, []keys.Key{key})))
		expect.OK(t, expect.ErrOf(table.QueryPage[payment](t.Context(), tbl, table.Query{PK: key.PK})))
		expect.OK(t, expect.ErrOf(table.Collect(table.All[payment](t.Context(), tbl, table.Query{Index: "GSI1", PK: key.PK}))))
	},
	"scans with `table`": func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		for _, index := range []string{"", "GSI1"} {
			expect.OK(t, expect.ErrOf(table.ScanPage[payment](t.Context(), tbl, table.Scan{Index: index})))
		}
	},
	"searches with `table`": func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		search := table.Search{Index: "similar", Near: []float32{1, 0}, Partition: "acme"}
		_, _, err := table.SearchVectors[table.Item](t.Context(), tbl, search)
		expect.OK(t, err)
	},
	"searches with `repo`": func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		notes := repo.Entity[note]{Type: "NOTE", Version: "revision", Key: func(n note) keys.Key { return keys.Key{PK: keys.User.PK(n.Tenant), SK: "NOTE"} }}
		other := expect.Value(table.New(tabletest.Client(t), tbl.Schema(), nil))(t)
		expect.OK(t, expect.Value(repo.New(other, notes))(t).Create(t.Context(), &note{Tenant: "acme", Vector: []float32{1, 0}}))
		search := table.Search{Index: "similar", Near: []float32{1, 0}, Partition: "acme"}
		found, _, err := expect.Value(repo.New(tbl, notes))(t).Search(t.Context(), search)
		expect.OK(t, err)
		expect.Equal(t, "notes", len(found), 1)
	},
	"writes with `table`": func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		key, other := paymentKey(payment{ID: "p"}), paymentKey(payment{ID: "q"})
		absent := expression.Name("pk").AttributeNotExists()
		update := expression.Set(expression.Name("amount"), expression.Value(1))
		ops := []table.Op{
			table.Create(key, nil), table.Put(key, nil), table.Update(key, update),
			table.Delete(key), table.Check(key, absent), table.Put(key, nil).If(absent),
		}
		for _, op := range ops {
			expect.OK(t, tbl.Do(t.Context(), op))
			expect.OK(t, tbl.Do(t.Context(), table.Delete(key)))
			expect.OK(t, tbl.Transact(t.Context(), op, table.Delete(other)))
			expect.OK(t, tbl.Do(t.Context(), table.Delete(key)))
		}
		expect.OK(t, tbl.BatchWrite(t.Context(), table.Put(key, nil), table.Delete(other)))
		faults.Next("PutItem", unclear)
		_ = tbl.Do(t.Context(), table.Put(key, nil).If(absent))
		faults.Next("PutItem", tabletest.DropResponse(), unclear)
		_ = tbl.Do(t.Context(), table.Create(other, nil))
	},
	"entities with `repo`": func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		single := repo.Entity[payment]{Type: "PAYMENT", Key: paymentKey, Version: "version"}
		copied := single
		copied.Copies = []repo.Copy[payment]{{Key: func(p payment) keys.Key {
			return keys.Key{PK: keys.User.PK("ana"), SK: keys.Tx.SK(keys.Str(p.ID))}
		}}}
		unversioned := single
		unversioned.Version = ""
		for _, entity := range []repo.Entity[payment]{unversioned, single, copied} {
			r := expect.Value(repo.New(tbl, entity))(t)
			p := payment{ID: "p"}
			expect.OK(t, r.Create(t.Context(), new(p)))
			p = expect.Value(r.Consistent().Get(t.Context(), paymentKey(p)))(t)
			expect.OK(t, r.Save(t.Context(), new(p)))
			_, err := r.BatchGet(t.Context(), []keys.Key{paymentKey(p)})
			expect.OK(t, err)
			expect.OK(t, expect.ErrOf(r.Query(t.Context(), table.Query{PK: paymentKey(p).PK})))
			expect.OK(t, expect.ErrOf(table.Collect(r.All(t.Context(), table.Query{Index: "GSI1", PK: "G"}))))
			expect.OK(t, repo.Collect(t.Context(), tbl, table.Query{PK: paymentKey(p).PK}, r.AppendTo(new([]payment))))
			if entity.Version != "" {
				faults.Next("PutItem", unclear)
				expect.OK(t, expect.ErrOf(r.Update(t.Context(), paymentKey(p), func(p *payment) error { p.Amount++; return nil })))
				_, err = r.UpdateWith(t.Context(), paymentKey(p), func(p *payment) ([]table.Op, error) { p.ID = "moved"; return nil, nil })
				expect.OK(t, err)
				p.ID = "moved"
			}
			expect.OK(t, r.Delete(t.Context(), paymentKey(p)))
			expect.OK(t, tbl.Transact(t.Context(), slices.Concat(r.CreateOps(&payment{ID: "a"}), r.CreateOps(&payment{ID: "b"}))...))
			expect.OK(t, r.Delete(t.Context(), paymentKey(payment{ID: "a"})))
			expect.OK(t, r.Delete(t.Context(), paymentKey(payment{ID: "b"})))
		}
	},
	"jobs with `backfill`": func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		copied := repo.Entity[payment]{
			Type: "PAYMENT", Key: paymentKey, Version: "version",
			Copies: []repo.Copy[payment]{{Key: func(p payment) keys.Key { return keys.Key{PK: keys.User.PK(p.ID), SK: keys.Profile} }}},
		}
		r := expect.Value(repo.New(tbl, copied))(t)
		for _, id := range []string{"single", "double", "orphan", "stray"} {
			expect.OK(t, tbl.Do(t.Context(), table.Put(paymentKey(payment{ID: id}), map[string]any{"entityType": "PAYMENT", "id": id})))
		}
		expect.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "USER#gone", SK: keys.Profile}, map[string]any{"entityType": "PAYMENT", "id": "gone"})))
		expect.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "X", SK: "X"}, map[string]any{"entityType": "PAYMENT", "id": "x"})))
		job := backfill.Job{Name: "policy", Table: tbl, Entities: []backfill.Entity{r}, Segments: 1}
		expect.OK(t, expect.ErrOf(job.DryRun(t.Context())))
		report := expect.Value(job.Run(t.Context()))(t)
		expect.Equal(t, "set aside", report.SetAside, 1)
		for _, err := range backfill.SetAside(t.Context(), tbl, job.Name) {
			expect.OK(t, err)
		}
		expect.OK(t, backfill.Forget(t.Context(), tbl, job.Name))
	},
	"readers with `shard`": func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		r := expect.Value(shard.New[payment](tbl, shard.Index{Index: "GSI1", Prefix: "GLOBAL", Shards: 2}, nil))(t)
		expect.OK(t, expect.ErrOf(r.Latest(t.Context(), 3)))
		expect.OK(t, expect.ErrOf(r.Page(t.Context(), shard.Query{Descending: true})))
		expect.OK(t, expect.ErrOf(table.Collect(r.All(t.Context(), shard.Query{Descending: true}))))
	},
	"requests with `idempotency`": func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		store := expect.Value(idempotency.New(tbl, nil))(t)
		r := idempotency.Request{Scope: "ana", Key: "k", Payload: idempotency.Text("p")}
		do := func(r idempotency.Request) error {
			_, err := idempotency.Do(t.Context(), store, r, func(context.Context) (idempotency.Plan[payment], error) {
				return idempotency.Snapshot(payment{ID: "p"}), nil
			})
			return err
		}
		expect.OK(t, do(r))
		expect.OK(t, do(r))
		expect.OK(t, expect.ErrOf(store.Lookup(t.Context(), r)))
		faults.Next("TransactWriteItems", tabletest.CancelTransaction("ConditionalCheckFailed"))
		expect.OK(t, do(r))
		_, err := idempotency.Exec(t.Context(), store, idempotency.Request{Key: "message"}, func(context.Context) ([]table.Op, error) {
			return nil, nil
		})
		expect.OK(t, err)
		reference := idempotency.Request{Key: "reference", Payload: idempotency.Text("p")}
		for range 2 {
			p := payment{ID: "p"}
			_, err = idempotency.Do(t.Context(), store, reference, func(context.Context) (idempotency.Plan[payment], error) {
				return idempotency.Reference(p, paymentKey(p), table.Put(paymentKey(p), p)), nil
			})
			expect.OK(t, err)
		}
	},
	"operators with `idempotency`": func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		store := expect.Value(idempotency.New(tbl, nil))(t)
		expect.OK(t, store.Delete(t.Context(), idempotency.Request{Key: "k"}))
	},
}

// TestPermissions compares the permissions of SECURITY.md with the requests that
// are sent: they allow all of them, and nothing that is not used.
func TestPermissions(t *testing.T) {
	t.Parallel()
	all := permissions(t)
	compare := func(t *testing.T, use string, requests []tabletest.Request) {
		t.Helper()
		p, ok := all[use]
		if !ok {
			t.Fatalf("SECURITY.md has no row %q", use)
		}
		actions, resources := used(t, requests)
		if diff := cmp.Diff(p.actions, actions); diff != "" {
			t.Errorf("actions (-allowed +used):\n%s", diff)
		}
		if diff := cmp.Diff(p.resources, resources); diff != "" {
			t.Errorf("resources (-allowed +used):\n%s", diff)
		}
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := shopSchema
			if strings.HasPrefix(name, "searches") {
				spec = withVectors(t, spec)
			}
			plain := tabletest.New(t, spec, nil)
			faults := &tabletest.Faults{}
			tbl := expect.Value(table.New(tabletest.Client(t, faults.Install), plain.Schema(), nil))(t)
			use(t, tbl, faults)
			compare(t, name, faults.Requests())
		})
	}
	t.Run("Ensure and Verify", func(t *testing.T) {
		t.Parallel()
		ensure, verify := &tabletest.Faults{}, &tabletest.Faults{}
		spec := withVectors(t, shopSchema)
		spec.Name = tabletest.New(t, spec, nil).Schema().Name // A name that is cleaned up.
		expect.OK(t, expect.ErrOf(tabletest.Client(t).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &spec.Name})))
		spec.PointInTimeRecovery, spec.Tags = true, map[string]string{"team": "shop"}
		ensure.Next("DescribeContinuousBackups", recovery("DISABLED"))
		ensure.Always("DescribeContinuousBackups", recovery("ENABLED"))
		ensure.Always("UpdateContinuousBackups", recovery("ENABLED"))
		verify.Always("DescribeContinuousBackups", recovery("ENABLED"))
		client := tabletest.Client(t, ensure.Install)
		expect.OK(t, spec.Ensure(t.Context(), client))
		spec.Indexes = append(spec.Indexes[:1:1], schema.Index{Name: "GSI2", PK: "gsi2pk"})
		expect.OK(t, spec.Ensure(t.Context(), client))
		compare(t, "deployment with `Ensure`", ensure.Requests())
		client = tabletest.Client(t, verify.Install)
		expect.OK(t, spec.Verify(t.Context(), client))
		expect.OK(t, expect.ErrOf(spec.Plan(t.Context(), client)))
		compare(t, "health checks with `Verify`", verify.Requests())
	})
	t.Run("streams", func(t *testing.T) {
		t.Parallel()
		spec := shopSchema
		spec.Stream = types.StreamViewTypeNewAndOldImages
		plain := tabletest.New(t, spec, nil)
		faults := &tabletest.Faults{}
		client := tabletest.Client(t, faults.Install)
		tbl := expect.Value(table.New(client, plain.Schema(), nil))(t)
		r := expect.Value(repo.New(tbl, repo.Entity[payment]{Type: "PAYMENT", Key: paymentKey}))(t)
		expect.OK(t, expect.Value(repo.New(plain, repo.Entity[payment]{Type: "PAYMENT", Key: paymentKey}))(t).Create(t.Context(), &payment{ID: "p"}))
		router := expect.Value(stream.New(tbl, nil, stream.On(r, func(context.Context, stream.Change[payment]) error { return io.EOF })))(t)
		ctx, cancel := context.WithCancel(t.Context())
		reader := stream.Reader{
			Name: "policy", Router: router, Client: streamtest.Client(client), Attempts: 1,
			Progress: func(stream.Progress) { cancel() }, // it was set aside
		}
		expect.Err(t, reader.Run(ctx), context.Canceled)
		for _, err := range reader.SetAside(t.Context()) {
			expect.OK(t, err)
		}
		expect.OK(t, reader.Forget(t.Context()))
		compare(t, "readers with `stream`", faults.Requests())
	})
	documented := len(uses) + len([]string{"Ensure", "Verify", "streams"})
	if len(all) != documented {
		t.Errorf("SECURITY.md has %d rows, %d are tested", len(all), documented)
	}
}

// policy is an IAM policy.
type policy struct {
	Version   string
	Statement []struct {
		Effect           string
		Action, Resource []string
		Condition        map[string]map[string]any
	}
}

// tenantPolicy returns the policy of SECURITY.md, which has one.
func tenantPolicy(t *testing.T) policy {
	t.Helper()
	text := expect.Value(os.ReadFile("SECURITY.md"))(t)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d policies", len(blocks))
	}
	var p policy
	decoder := json.NewDecoder(bytes.NewReader(blocks[0][1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil || len(p.Statement) != 1 || p.Version != "2012-10-17" || p.Statement[0].Effect != "Allow" {
		t.Fatalf("%+v, %v", p, err)
	}
	return p
}

// TestTenantPolicy checks what can be checked without IAM: the condition is
// there with its guard against a request without keys, and no action is that
// goes round it.
func TestTenantPolicy(t *testing.T) {
	t.Parallel()
	s := tenantPolicy(t).Statement[0]
	if slices.Contains(s.Action, "dynamodb:Scan") || slices.Contains(s.Action, "dynamodb:*") {
		t.Errorf("actions %q", s.Action)
	}
	patterns, _ := s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"].([]any)
	if s.Condition["Null"]["dynamodb:LeadingKeys"] != "false" || len(patterns) == 0 {
		t.Fatalf("condition %v", s.Condition)
	}
	allows := func(pk keys.PK) bool {
		return slices.ContainsFunc(patterns, func(pattern any) bool {
			text := strings.ReplaceAll(pattern.(string), "${aws:PrincipalTag/tenant}", "ACME")
			expr := "^" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + "$"
			return regexp.MustCompile(expr).MatchString(string(pk))
		})
	}
	order := keys.Prefix("ORDER")
	for _, pk := range []keys.PK{order.PK("ACME"), order.PK("ACME", "o-1"), keys.User.PK("ACME", "u-1"), keys.Ide.PK("ACME", "k")} {
		if !allows(pk) {
			t.Errorf("%q is not allowed", pk)
		}
	}
	for _, pk := range []keys.PK{order.PK("ACME2"), order.PK("ACM"), order.PK("ACME2", "ACME"), keys.User.PK("u-1"), keys.User.PK("x", "ACME"), keys.Tx.PK("ACME")} {
		if allows(pk) {
			t.Errorf("%q is allowed", pk)
		}
	}
}

// TestCursorContents compares what SECURITY.md says of cursors with what they hold.
func TestCursorContents(t *testing.T) {
	t.Parallel()
	plain := tabletest.New(t, shopSchema, nil)
	tbl := expect.Value(table.New(tabletest.Client(t), plain.Schema(), &table.Options{Cursors: paginate.Insecure()}))(t)
	for _, id := range []string{"1", "2"} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(
			keys.Key{PK: "USER#ana", SK: keys.SK("TX#" + id)},
			map[string]any{"gsi1pk": "GLOBAL", "gsi1sk": "2024#" + id},
		)))
	}
	pageOf := func(q table.Query) string {
		q.Limit = 1
		page := expect.Value(table.QueryPage[table.Item](t.Context(), tbl, q))(t)
		return page.Next
	}
	scan := expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{Limit: 1}))(t)
	for name, tt := range map[string]struct {
		cursor string
		want   []string
	}{
		"table": {pageOf(table.Query{PK: "USER#ana"}), []string{`S "TX#1"`}},
		"index": {pageOf(table.Query{Index: "GSI1", PK: "GLOBAL"}), []string{`S "2024#1"`, `S "USER#ana"`, `S "TX#1"`}},
		"scan":  {scan.Next, []string{`S "USER#ana"`, `S "TX#1"`}},
	} {
		in := expect.Value(paginate.Inspect(tt.cursor, nil))(t)
		if diff := cmp.Diff(tt.want, in.Values); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEscapedTenants compares the characters that SECURITY.md names with those that
// package keys escapes.
func TestEscapedTenants(t *testing.T) {
	t.Parallel()
	var escaped string
	for c := byte(' '); c < 0x7f; c++ {
		if name := "a" + string(c) + "b"; keys.User.PK(name) != keys.PK("USER#"+name) {
			escaped += string(c)
		}
	}
	if diff := cmp.Diff(` !"#$%`, escaped); diff != "" {
		t.Errorf("escaped (-SECURITY.md +keys):\n%s", diff)
	}
}
