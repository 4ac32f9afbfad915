package core

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// form is what an event is, and how the records of a table are delivered in it.
type form struct {
	record func(*streamtest.Recorder, *table.Table, func() error) (json.RawMessage, error)
	// piped is an array of records, and unordered means that records come in any order.
	piped, unordered bool
}

var formsOfEvents = map[string]form{
	"Lambda":           {record: (*streamtest.Recorder).Event},
	"Pipes":            {record: (*streamtest.Recorder).Pipe, piped: true},
	"Kinesis":          {record: (*streamtest.Recorder).Kinesis, unordered: true},
	"Kinesis by Pipes": {record: (*streamtest.Recorder).Kinesis, unordered: true, piped: true},
}

// deliverer gives the records of a table to the handlers, as badly as a service may: doubled, in
// parts, after requests that have failed, and from Kinesis in any order.
type deliverer struct {
	form
	system
	recorder streamtest.Recorder
	faults   tabletest.Faults // of the requests of the handlers
	router   *stream.Router
	random   *rand.Rand
	waiting  []json.RawMessage
}

func newDeliverer(t *testing.T, f form, seed uint64) *deliverer {
	t.Helper()
	d := &deliverer{form: f, random: rand.New(rand.NewPCG(seed, 67))}
	d.system = newSystemWith(t, tabletest.Client(t, d.recorder.Install))
	client := tabletest.Client(t, d.recorder.Install, d.faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	tbl := check.Must(table.New(client, d.table.Schema(), &table.Options{Now: d.clock.read}))(t)
	d.router = check.Must(check.Must(New(tbl, nil))(t).Router())(t)
	return d
}

// write runs a function, and keeps the records of what it has written.
func (d *deliverer) write(t *testing.T, do func() error) {
	t.Helper()
	made := check.Must(d.record(&d.recorder, d.table, do))(t)
	var records event
	if made[0] == '[' {
		check.OK(t, json.Unmarshal(made, &records.Records))
	} else {
		check.OK(t, json.Unmarshal(made, &records))
	}
	for _, r := range records.Records {
		if d.unordered && d.piped {
			r = flat(t, r)
		}
		d.waiting = append(d.waiting, r)
	}
}

// flat returns a record of Kinesis as EventBridge Pipes has it.
func flat(t *testing.T, record json.RawMessage) json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	check.OK(t, json.Unmarshal(record, &all))
	inner := all["kinesis"]
	delete(all, "kinesis")
	check.OK(t, json.Unmarshal(inner, &all))
	return check.Must(json.Marshal(all))(t)
}

// settle delivers until nothing waits, and returns how many records were delivered again.
func (d *deliverer) settle(t *testing.T) (again int) {
	t.Helper()
	for doubled := 0; len(d.waiting) > 0; {
		if d.unordered {
			d.random.Shuffle(len(d.waiting), func(i, j int) { d.waiting[i], d.waiting[j] = d.waiting[j], d.waiting[i] })
		}
		n := 1 + d.random.IntN(min(8, len(d.waiting)))
		batch := slices.Clone(d.waiting[:n])
		d.waiting = slices.Delete(d.waiting, 0, n)
		if doubled < 100 && d.random.IntN(3) == 0 { // the batch comes again, at once or later
			doubled += n
			d.waiting = append(slices.Clone(batch), d.waiting...)
		}
		text := check.Must(json.Marshal(event{batch}))(t)
		if d.piped {
			text = check.Must(json.Marshal(batch))(t)
		}
		part := text[:d.random.IntN(len(text))]
		if response, err := d.router.Handle(t.Context(), part); !errors.Is(err, table.ErrInvalid) || len(response.BatchItemFailures) > 0 {
			t.Fatalf("a part of an event: %v, %v", response, err)
		}
		if d.random.IntN(3) == 0 {
			broken := []tabletest.Fault{tabletest.DropRequest(), tabletest.DropResponse(), tabletest.Throttle()}
			d.faults.Next("", append(make([]tabletest.Fault, d.random.IntN(6)), broken[d.random.IntN(3)])...)
		}
		d.write(t, func() error {
			response, err := d.router.Handle(t.Context(), text)
			left := d.left(t, batch, response)
			again += len(left)
			d.waiting = append(left, d.waiting...)
			return err
		})
	}
	return again
}

// left returns the records that a service delivers again after a response.
func (d *deliverer) left(t *testing.T, batch []json.RawMessage, response stream.Response) (left []json.RawMessage) {
	t.Helper()
	for i, record := range batch {
		var r struct {
			EventID  string
			DynamoDB struct{ SequenceNumber string }
			Kinesis  struct{ SequenceNumber string }
		}
		check.OK(t, json.Unmarshal(record, &r))
		named := slices.ContainsFunc(response.BatchItemFailures, func(f stream.ItemFailure) bool {
			return f.ItemIdentifier != "" && slices.Contains([]string{r.EventID, r.DynamoDB.SequenceNumber, r.Kinesis.SequenceNumber}, f.ItemIdentifier)
		})
		if named && !d.piped {
			return slices.Clone(batch[i:])
		}
		if named {
			left = append(left, record)
		}
	}
	if len(left) == 0 && len(response.BatchItemFailures) > 0 {
		t.Fatalf("a failure names no record: %v", response.BatchItemFailures)
	}
	return left
}

// However changes are delivered, each row of an import is published once, and the listings are
// those of the latest versions.
func TestEachFormDoesAnImportOnce(t *testing.T) {
	t.Parallel()
	for name, f := range formsOfEvents {
		for seed := range uint64(2) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := newDeliverer(t, f, seed)
				who := d.acme()
				lamps := d.as(Caller{Tenant: "LAMPS", User: "ana"})
				d.write(t, func() error { return who.Import(t.Context(), importID, catalogue()) })
				for version, price := range []float64{40, 45, 42} {
					d.write(t, func() error {
						_, err := lamps.Publish(t.Context(), Change{
							Ref: lamp, Name: "LAMP", Version: int64(version), Attributes: map[string]any{"price": price},
						})
						return err
					})
				}
				again := d.settle(t)
				checkImported(t, who)
				checkAudit(t, who, lamps)
				check.Equal(t, "the data", check.Must(lamps.Get(t.Context(), lamp))(t).Version, 3)
				check.Equal(t, "the listing", check.Must(lamps.Catalogue(t.Context(), 0, ""))(t).Items, []Listing{{
					TenantCode: "LAMPS", Code: "LAMP", Name: "LAMP", Price: 42, Lowest: 40, PriceChanges: 2, Version: 3,
				}})
				check.Equal(t, "listings", len(check.Must(who.Catalogue(t.Context(), 0, ""))(t).Items), sourceRows-1)
				d.write(t, func() error { return who.RebuildCatalogue(t.Context(), "rebuild") })
				again += d.settle(t)
				check.Equal(t, "the rebuild", check.Must(who.Task(t.Context(), "rebuild"))(t).Status, Done)
				check.Equal(t, "listings", len(check.Must(who.Catalogue(t.Context(), 0, ""))(t).Items), sourceRows-1)
				if again == 0 {
					t.Error("nothing was delivered again")
				}
			})
		}
	}
}
