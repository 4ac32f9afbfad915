package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheDesignShowsWhatIsStored$ -update

func TestTheDesignShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, metering.Schema("any"), &table.Options{Now: func() time.Time { return today }})
	consumer := check.Must(metering.NewConsumer(tbl, nil))(t)
	later := example
	later.Hour = example.Hour.Add(2 * time.Hour)
	later.UserID = ""
	for id, m := range map[string]metering.Message{"m-1": example, "m-2": later} {
		body := check.Must(json.Marshal(m))(t)
		if o := consumer.Count(t.Context(), metering.Delivery{Source: "sqs", ID: id, Body: body}); o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	generated.Part(t, "docs/design.md", "stored", generated.Picture(t, metering.Schema("Usage"), generated.Stored(t, tbl), &tablemodel.Options{
		Items: -1, Attributes: []string{"count", "expiresAt"},
	}))
}
