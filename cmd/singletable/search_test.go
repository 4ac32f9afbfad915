package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// withVectors returns a table with products of two tenants, and an item without a vector.
func withVectors(t *testing.T) *table.Table {
	t.Helper()
	tbl := tabletest.New(t, schema.Table{
		Name: "Products", TTLAttribute: "until",
		Vectors: []schema.VectorIndex{
			{
				Name: "byText", Attribute: "embedding", Dimensions: 3,
				Partition: schema.Attribute{Name: "tenant"}, Filters: []schema.Attribute{{Name: "stars", Type: "N"}},
			},
			{Name: "overall", Attribute: "embedding", Dimensions: 3, Distance: "DOT_PRODUCT", Projection: "KEYS_ONLY"},
		},
	}, nil)
	var ops []table.Op
	for _, p := range []map[string]any{
		{"id": "1", "tenant": "acme", "stars": 5, "name": "green tea", "embedding": []float32{1, 0, 0}},
		{"id": "2", "tenant": "acme", "stars": 4, "name": "black tea", "embedding": []float32{0.6, 0.8, 0}},
		{"id": "3", "tenant": "acme", "stars": 5, "name": "chair", "embedding": []float32{0, 0, 1}, "until": 1},
		{"id": "4", "tenant": "other", "stars": 5, "name": "tea pot", "embedding": []float32{1, 0, 0}},
		{"id": "5", "tenant": "acme", "name": "no vector"},
	} {
		p["entityType"] = "PRODUCT"
		ops = append(ops, table.Put(keys.Key{PK: keys.PK("PRODUCT#" + p["id"].(string)), SK: keys.Metadata}, p))
	}
	store(t, tbl, ops...)
	return tbl
}

func TestSearch(t *testing.T) {
	t.Parallel()
	tbl := withVectors(t)
	name := tbl.Schema().Name
	file, short := vectorFile(t, "[0, 0, 1]"), vectorFile(t, "[1, 2]")
	for golds, args := range map[string][]string{
		"item":    {name, "byText", "PRODUCT#1", "METADATA"},
		"tenant":  {"-partition", "other", name, "byText", "PRODUCT#1", "METADATA"},
		"filter":  {"-filter", "stars=4", "-top", "1", name, "byText", "PRODUCT#1", "METADATA"},
		"file":    {"-vector", file, "-partition", "acme", name, "byText"},
		"json":    {"-json", "-top", "1", "-vector", file, "-partition", "acme", name, "byText"},
		"none":    {"-vector", file, "-partition", "nobody", name, "byText"},
		"overall": {name, "overall", "PRODUCT#2", "METADATA"},
	} {
		golden(t, "search-"+golds, hide(tbl, run(t, nil, "", append([]string{"search"}, args...)...)))
	}
	for says, args := range map[string][]string{
		"it has byText, overall":                {name, "byName", "PRODUCT#1", "METADATA"},
		"names of a table and an index, and":    {name, "byText"},
		"with -vector it takes":                 {"-vector", file, name, "byText", "PRODUCT#1"},
		"-top must be 1 to 100":                 {"-top", "101", name, "byText", "PRODUCT#1", "METADATA"},
		"there is no item under the key":        {name, "byText", "PRODUCT#9", "METADATA"},
		"the item has no vector in embedding":   {name, "byText", "PRODUCT#5", "METADATA"},
		"-filter is name=value":                 {"-filter", "name=tea", name, "byText", "PRODUCT#1", "METADATA"},
		"the index is not divided":              {"-partition", "acme", name, "overall", "PRODUCT#1", "METADATA"},
		"the vector is no JSON array of number": {"-vector", "-", "-partition", "acme", name, "byText"},
		"has 3 dimensions":                      {"-vector", short, "-partition", "acme", name, "byText"},
		"no such file":                          {"-vector", file + "x", "-partition", "acme", name, "byText"},
		"invalid search: Partition":             {"-vector", file, name, "byText"},
	} {
		trouble(t, run(t, nil, "[1, 2", append([]string{"search"}, args...)...), says)
	}
	trouble(t, run(t, nil, encode(t, schema.Table{Name: name}), "search", "-schema", "-", name, "byText", "a", "b"), "it has none")
}

// vectorFile returns a file with a text.
func vectorFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vector.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A schema file says of vector indexes what the table has.
func TestSchemaOfVectors(t *testing.T) {
	t.Parallel()
	tbl := withVectors(t)
	file := run(t, nil, "", "schema", tbl.Schema().Name).stdout
	for _, command := range []string{"verify", "plan"} {
		if got := run(t, nil, file, command, "-"); got.code != exitYes {
			t.Errorf("%s: exit %d\n%s%s", command, got.code, got.stdout, got.stderr)
		}
	}
}

// A load writes what a dump has read, also vectors that no search finds. DynamoDB refuses one
// of another length, and so does load.
func TestLoadOfVectors(t *testing.T) {
	t.Parallel()
	name := withVectors(t).Schema().Name
	line := func(vector string) string {
		return `{"Item":{"pk":{"S":"PRODUCT#6"},"sk":{"S":"METADATA"},"embedding":{"L":[` + vector + `]}}}` + "\n"
	}
	if got := run(t, nil, line(`{"N":"1"},{"N":"2"},{"N":"3"}`), "load", "-replace", name); got.code != exitYes {
		t.Errorf("%+v", got)
	}
	trouble(t, run(t, nil, line(`{"N":"1"}`), "load", "-replace", name), "DynamoDB would refuse the item", "must be a list of 3 numbers")
}
