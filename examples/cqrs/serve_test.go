package main

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/cqrs/setup"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/program/programtest"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// production is a deployment with a table and a database.
type production struct {
	env      []string
	table    *table.Table
	acme     core.Tenant
	database string
}

func deploy(t *testing.T) production {
	t.Helper()
	p := production{table: tabletest.New(t, core.Schema("any"), nil), database: filepath.Join(t.TempDir(), "readmodel.db")}
	p.acme = check.Must(core.New(p.table, nil))(t).As(core.Caller{Tenant: "ACME", User: "ana"})
	secrets := secretstest.New("cqrs/cursor-keys", "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=")
	t.Cleanup(secrets.Close)
	o := tabletest.Client(t).Options()
	credentials := check.Must(o.Credentials.Retrieve(t.Context()))(t)
	p.env = []string{
		"AWS_REGION=" + o.Region, "AWS_ACCESS_KEY_ID=" + credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + credentials.SecretAccessKey,
		"AWS_ENDPOINT_URL_DYNAMODB=" + *o.BaseEndpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + *o.BaseEndpoint,
		secretstest.EndpointVariable + "=" + secrets.URL, setup.CursorKeysSecret + "=cqrs/cursor-keys", setup.DatabaseURL + "=" + p.database,
		"COGNITO_USER_POOL_ID=" + o.Region + "_AbCdEfGhI", "COGNITO_CLIENT_ID=client",
	}
	return p
}

func (p production) serve(t *testing.T, mode string) server {
	t.Helper()
	cmd := programtest.Command(t.Context(), mode, "-addr", "127.0.0.1:0", "-table", p.table.Schema().Name, "-proxies", "10.0.0.0/8,192.0.2.1/32")
	cmd.Env = append(cmd.Env, p.env...)
	return server{programtest.Start(t, cmd, "listening")}
}

// run runs the program to its end, and returns what it has printed.
func (p production) run(t *testing.T, without string, args ...string) (string, error) {
	t.Helper()
	cmd := programtest.Command(t.Context(), append(args, "-table", p.table.Schema().Name)...)
	cmd.Env = append(cmd.Env, slices.DeleteFunc(slices.Clone(p.env), func(v string) bool { return without != "" && strings.HasPrefix(v, without+"=") })...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// found returns how many records the read model has, and its projection.
func (p production) found(ctx context.Context) (records int, projection string, err error) {
	db, err := readmodel.Connect(ctx, p.database)
	if err != nil {
		return 0, "", err
	}
	defer db.Close()
	model, err := readmodel.Open(ctx, db, paginate.Insecure())
	if err != nil {
		return 0, "", err
	}
	if projection, err = model.Active(ctx); err != nil {
		return 0, "", err
	}
	page, err := model.Search(ctx, "ACME", "", 10, "")
	return len(page.Items), projection, err
}

// -serve handles the stream, which -serve-api leaves to functions. -rebuild and -repair
// make what the stream was not there for.
func TestServeHandlesTheStream(t *testing.T) {
	t.Parallel()
	p := deploy(t)
	ctx := t.Context()
	publish := func(code string) {
		t.Helper()
		check.Must(p.acme.Publish(ctx, core.Change{Ref: core.NewRef("PRODUCT", code)}))(t)
	}
	publish("LAMP")
	alone := p.serve(t, "-serve-api")
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/tasks": http.StatusUnauthorized} {
		status, text, err := request(ctx, alone.URL+path, "", "", "")
		check.OK(t, err)
		check.Equal(t, path+": "+text, status, want)
	}
	alone.End(t, syscall.SIGTERM)
	_, ok, err := p.acme.Audit(ctx)
	check.Equal(t, "without the stream", []any{ok, err}, []any{false, nil})

	for _, args := range [][]string{{"-repair"}, {"-rebuild", "p7"}} {
		if out, err := p.run(t, "", args...); err != nil {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	_, ok, err = p.acme.Audit(ctx)
	check.Equal(t, "repaired", []any{ok, err}, []any{true, nil})
	records, projection, err := p.found(ctx)
	check.Equal(t, "rebuilt", []any{records, projection, err}, []any{1, "p7", nil})

	whole := p.serve(t, "-serve")
	publish("DESK")
	check.OK(t, program.Until(ctx, func() (bool, error) {
		_, ok, err := p.acme.Audit(ctx)
		if err != nil || !ok {
			return false, err
		}
		records, _, err := p.found(ctx)
		return records == 2, err
	}))
	whole.End(t, syscall.SIGTERM)
}

func TestItRefusesToStartAndSaysWhy(t *testing.T) {
	t.Parallel()
	p := deploy(t)
	for without, says := range map[string]string{
		setup.CursorKeysSecret: setup.CursorKeysSecret, setup.DatabaseURL: setup.DatabaseSecret, "COGNITO_USER_POOL_ID": "COGNITO_USER_POOL_ID",
	} {
		out, err := p.run(t, without, "-serve", "-addr", "127.0.0.1:0")
		if err == nil || !strings.Contains(out, says) {
			t.Errorf("without %s: %v\n%s", without, err, out)
		}
	}
	for says, args := range map[string][]string{
		"no network": {"-serve", "-proxies", "10.0.0.1"},
		"-files":     {"-serve", "-files", "x"},
		"projection": {"-rebuild", "P 1"},
	} {
		if out, err := p.run(t, "", args...); err == nil || !strings.Contains(out, says) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	p.table = check.Must(table.New(tabletest.Client(t), core.Schema("missing"), nil))(t)
	if out, err := p.run(t, "", "-serve"); err == nil || !strings.Contains(out, "missing") {
		t.Errorf("without a table: %v\n%s", err, out)
	}
}
