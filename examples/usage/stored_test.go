package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheSchemaFileIsMadeOfStoredItems$|^TestStoredForms$ -update

func TestTheSchemaFileIsMadeOfStoredItems(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, metering.Schema("any"), &table.Options{Now: func() time.Time { return today }})
	consumer := check.Must(metering.NewConsumer(tbl, nil))(t)
	count := func(source, id string, m metering.Message) {
		body := check.Must(json.Marshal(m))(t)
		if o := consumer.Count(t.Context(), metering.Delivery{Source: source, ID: id, Body: body}); o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	later := example
	later.Hour = example.Hour.Add(2 * time.Hour)
	later.UserID = ""
	count("sqs", "m-1", example)
	count("sqs", "m-2", later)

	// The file has the patterns of all keys. In those of a single workspace it would be a constant.
	other := example
	other.WorkspaceID, other.UserID, other.MetricID = "globex", "bob", "exports"
	count("api", "m-3", other)
	spec := metering.Schema("usage-dev")
	spec.PointInTimeRecovery = true
	generated.SchemaFile(t, "schema.json", spec, generated.Stored(t, tbl))
}

// The consumer writes its counters by expressions. An entity says what they are.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	counters := check.Must(repo.New(tabletest.New(t, metering.Schema("any"), nil), repo.Entity[metering.Counter]{
		Type: "COUNTER",
		Key: func(c metering.Counter) keys.Key {
			return keys.Key{PK: metering.Meter{WorkspaceID: "acme", MetricID: "exports"}.PK(), SK: c.SK}
		},
	}))(t)
	repotest.Golden(t, "testdata/stored.json", *generated.Update, counters.Form())
}
