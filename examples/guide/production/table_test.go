package production_test

import (
	"os"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/guide/production"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheREADMEShowsThisProgram(t *testing.T) {
	t.Parallel()
	source := read(t, "table.go")
	program := source[strings.Index(source, "func Open("):]
	if !strings.Contains(read(t, "../../../README.md"), "```go\n"+program+"```\n") {
		t.Error("README.md does not show Open of table.go as it is")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	return string(check.Must(os.ReadFile(name))(t))
}

// onEngine sets the environment that leads to a local engine.
func onEngine(t *testing.T) {
	t.Helper()
	engine := check.Must(tabletest.Start(t.Context(), nil))(t)
	t.Cleanup(func() { check.OK(t, engine.Close()) })
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": engine.Endpoint(), "AWS_REGION": "eu-west-1",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"CURSOR_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	} {
		t.Setenv(name, value)
	}
	spec := schema.Table{Name: "Notes"}
	check.OK(t, spec.Ensure(t.Context(), engine.Client()))
}

// A cursor that one instance has issued is valid for another one.
func TestOpen(t *testing.T) {
	onEngine(t)
	spec := schema.Table{Name: "Notes"}
	one := check.Must(production.Open(t.Context(), spec))(t)
	another := check.Must(production.Open(t.Context(), spec))(t)
	user := keys.User.PK("ana")
	for _, id := range []string{"1", "2"} {
		check.OK(t, one.Do(t.Context(), table.Create(keys.Key{PK: user, SK: keys.Prefix("NOTE").SK(keys.Str(id))}, table.Item{})))
	}
	q := table.Query{PK: user, Limit: 1}
	page := check.Must(table.QueryPage[table.Item](t.Context(), one, q))(t)
	q.After = page.Next
	check.Equal(t, "items", len(check.Must(table.QueryPage[table.Item](t.Context(), another, q))(t).Items), 1)
}

func TestOpenRefusesKeysOfCursors(t *testing.T) {
	for name, ring := range map[string]string{"forgotten": "", "not random": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="} {
		t.Setenv("CURSOR_KEYS", ring)
		if _, err := production.Open(t.Context(), schema.Table{Name: "Notes"}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
