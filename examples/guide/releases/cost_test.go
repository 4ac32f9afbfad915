package releases

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestCostOfAnUpdate$ -update

// parcel is an entity of 2 KB.
type parcel struct {
	Type     string `dynamodbav:"entityType"`
	ID       string `dynamodbav:"parcelId"`
	Status   string `dynamodbav:"status"`
	From     string `dynamodbav:"from"`
	To       string `dynamodbav:"to"`
	Contents string `dynamodbav:"contents"`
	Revision string `dynamodbav:"revision"`
}

func parcelKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("PARCEL").PK(id), SK: keys.Metadata}
}

func labelKey(to string) keys.Key {
	return keys.Key{PK: keys.Prefix("LABEL").PK(to), SK: keys.Metadata}
}

var (
	parcels = repo.Entity[parcel]{
		Type: "PARCEL", Key: func(p parcel) keys.Key { return parcelKey(p.ID) }, Version: "revision",
	}
	labelled = repo.Entity[parcel]{
		Type: "PARCEL", Key: parcels.Key, Version: "revision",
		Copies: []repo.Copy[parcel]{{Name: "by label", Key: func(p parcel) keys.Key { return labelKey(p.To) }}},
	}
)

// TestCostOfAnUpdate measures updates of one field of an item of 2 KB, by a client that
// writes whole items, and by [repo.Repo.Update]. DynamoDB charges an update by the size of the
// whole item.
//
// AWS: "DynamoDB read and write operations", Amazon DynamoDB Developer Guide.
func TestCostOfAnUpdate(t *testing.T) {
	t.Parallel()
	const id, to = "p-1", "Lisbon"
	update := func(entity repo.Entity[parcel], status string) func(context.Context, *table.Table) error {
		return func(ctx context.Context, tbl *table.Table) error {
			r, err := repo.New(tbl, entity)
			if err != nil {
				return err
			}
			_, err = r.Update(ctx, parcelKey(id), func(p *parcel) error { p.Status = status; return nil })
			return err
		}
	}
	whole := func(ks ...keys.Key) func(context.Context, *table.Table) error {
		return func(ctx context.Context, tbl *table.Table) error {
			p, err := table.Get[parcel](ctx, tbl.Consistent(), parcelKey(id))
			if err != nil {
				return err
			}
			read := p.Revision
			p.Status, p.Revision = "sent", rand.Text()
			ops := make([]table.Op, len(ks))
			for i, key := range ks {
				ops[i] = table.Put(key, p).IfRevision("revision", read)
			}
			if len(ops) == 1 {
				return tbl.Do(ctx, ops[0])
			}
			return tbl.Transact(ctx, ops...)
		}
	}
	var b strings.Builder
	b.WriteString("| | requests | bytes sent | write units |\n|---|---|---:|---:|\n")
	for _, row := range []struct {
		name   string
		entity repo.Entity[parcel]
		update func(context.Context, *table.Table) error
	}{
		{"the whole item", parcels, whole(parcelKey(id))},
		{"`repo.Update`", parcels, update(parcels, "sent")},
		{"the whole item and its copy", labelled, whole(parcelKey(id), labelKey(to))},
		{"`repo.Update` with a copy", labelled, update(labelled, "sent")},
		{"`repo.Update`, nothing differs", labelled, update(labelled, "packed")},
	} {
		var faults tabletest.Faults
		tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), Schema, nil)
		r := check.Must(repo.New(tbl, row.entity))(t)
		var units float64
		observed := check.Must(table.New(tabletest.Client(t), tbl.Schema(), &table.Options{Observe: func(_ context.Context, e table.Event) {
			if e.Operation != "GetItem" {
				units += e.Capacity
			}
		}}))(t)
		var requests []tabletest.Request
		for _, tbl := range []*table.Table{tbl, observed} {
			p := parcel{ID: id, Status: "packed", From: "Porto", To: to, Contents: strings.Repeat("a book, ", 220)}
			check.OK(t, r.Create(t.Context(), &p))
			before := len(faults.Requests())
			if err := row.update(t.Context(), tbl); err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
			requests = append(requests, faults.Requests()[before:]...)
			check.OK(t, r.Delete(t.Context(), parcelKey(id)))
		}
		var names []string
		sent := 0
		for _, q := range requests {
			names = append(names, "`"+q.Operation+"`")
			sent += len(bytes.ReplaceAll(q.Body, []byte(tbl.Schema().Name), []byte(Schema.Name)))
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %g |\n", row.name, strings.Join(names, ", "), sent, units)
	}
	generated.File(t, "testdata/cost.txt", b.String())
}
