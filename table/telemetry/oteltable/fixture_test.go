package oteltable_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// secret is part of every key and value, and must not be exported.
const secret = "s3cret"

// profile is the key of the stored item, missing of an item that is not stored.
var (
	profile = keys.Key{PK: keys.User.PK(secret), SK: keys.Profile}
	missing = keys.Key{PK: keys.User.PK(secret + "-2"), SK: keys.Profile}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fixture is an observed table with one item.
type fixture struct {
	*table.Table
	faults *tabletest.Faults
}

// open returns a table that the observer has seen no request of.
func open(t *testing.T, observe table.Observer) fixture {
	t.Helper()
	f := fixture{faults: &tabletest.Faults{}}
	client := tabletest.Client(t, f.faults.Install)
	schema := table.Schema{Indexes: []table.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}
	plain := tabletest.NewWith(t, client, schema, nil)
	must(t, plain.Do(t.Context(), table.Put(profile, map[string]string{"name": secret})))
	tbl, err := table.New(client, plain.Schema(), &table.Options{Observe: observe})
	must(t, err)
	f.Table = tbl
	return f
}

// get reads the item, for half a read unit.
func (f fixture) get(ctx context.Context) error {
	_, err := table.Get[table.Item](ctx, f.Table, profile)
	return err
}

// create fails with ConditionalCheckFailedException: the item exists.
func (f fixture) create(ctx context.Context) error {
	return f.Do(ctx, table.Create(profile, map[string]string{"name": secret}))
}
