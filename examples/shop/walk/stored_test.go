package walk

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheDocs|^TestStoredForms$ -update

// sale is the event of Ana's order for the lamps: 3 were there, 1 is left.
const sale = `{"Records": [{
	"eventID": "e-1", "eventName": "MODIFY", "eventSource": "aws:dynamodb", "eventSourceARN": "STREAM",
	"dynamodb": {
		"ApproximateCreationDateTime": 1705395600, "SequenceNumber": "4200000000001",
		"StreamViewType": "NEW_AND_OLD_IMAGES",
		"Keys": {"PK": {"S": "PRODUCT#p-lamp"}, "SK": {"S": "METADATA"}},
		"OldImage": {
			"PK": {"S": "PRODUCT#p-lamp"}, "SK": {"S": "METADATA"}, "entityType": {"S": "PRODUCT"},
			"productId": {"S": "p-lamp"}, "name": {"S": "Desk lamp"}, "stock": {"N": "3"}
		},
		"NewImage": {
			"PK": {"S": "PRODUCT#p-lamp"}, "SK": {"S": "METADATA"}, "entityType": {"S": "PRODUCT"},
			"productId": {"S": "p-lamp"}, "name": {"S": "Desk lamp"}, "stock": {"N": "1"}, "changedBy": {"S": "u-ana"}
		}
	}
}]}`

func TestTheDocsShowWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, store.Schema("any"), &table.Options{Now: func() time.Time { return demo.Opening }})
	s := on(t, tbl)
	for _, consumer := range []func() (*stream.Router, error){
		s.Auditor,
		func() (*stream.Router, error) { return s.Notifier(nil) }, // sends nothing: see sale
	} {
		check.Deliver(t, check.Must(consumer())(t), json.RawMessage(strings.Replace(sale, "STREAM", check.StreamOf(tbl), 1)))
	}
	spec, items := store.Schema("Shop"), generated.Stored(t, tbl)
	options := &tablemodel.Options{
		Partitions: -1, Items: -1,
		Attributes: []string{"name", "email", "price", "stock", "quantity", "total", "status", "kind", "by", "old", "new"},
	}
	page := check.Must(tablemodel.HTML(spec, items, options))(t)
	generated.File(t, "../table.html", page)
	if limit := 200_000; len(page) > limit {
		t.Errorf("the page has %d bytes, want at most %d", len(page), limit)
	}
}

func TestStoredForms(t *testing.T) {
	t.Parallel()
	s := check.Must(store.New(tabletest.New(t, store.Schema("any"), nil), store.Rounds))(t)
	repotest.Golden(t, "../store/testdata/stored.json", *generated.Update, s.Forms()...)
}
