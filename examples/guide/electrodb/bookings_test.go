package electrodb_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/guide/electrodb"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// stored returns what ElectroDB 3.9.3 sends to store the booking, with the time of the write.
func stored(updated any) map[string]any {
	return map[string]any{
		"pk": "$ferries#id_b-1", "sk": "$booking_1",
		"GSI1PK": "$ferries#guest_ana", "GSI1SK": "$booking_1#at_2030-06-01t12:00:00.000z#id_b-1",
		"__edb_e__": "booking", "__edb_v__": "1",
		"id": "b-1", "guest": "Ana", "ferry": "f-1", "at": "2030-06-01T12:00:00.000Z", "seats": 2.0, "updatedAt": updated,
	}
}

func departure(month time.Month) table.ISOTime {
	return table.ISOTime{Time: time.Date(2030, month, 1, 12, 0, 0, 0, time.UTC)}
}

var (
	booking = electrodb.Booking{ID: "b-1", Guest: "Ana", Ferry: "f-1", At: departure(6), Seats: 2}
	key     = keys.Key{PK: "$ferries#id_b-1", SK: "$booking_1"}
)

func open(t *testing.T) (*table.Table, *electrodb.Bookings) {
	t.Helper()
	tbl := tabletest.New(t, electrodb.Schema, nil)
	return tbl, check.Must(electrodb.New(tbl))(t)
}

func TestItemsOfElectroDBAreRead(t *testing.T) {
	t.Parallel()
	tbl, bookings := open(t)
	check.OK(t, tbl.Do(t.Context(), table.Put(key, stored(1700000000000))))
	want := booking
	want.Updated = 1700000000000
	check.Equal(t, "Get", check.Must(bookings.Get(t.Context(), "B-1"))(t), want)
	page, _, err := bookings.Page(t.Context(), "ANA", "")
	check.OK(t, err)
	check.Equal(t, "Page", page, []electrodb.Booking{want})
}

func TestItemsAreStoredAsElectroDBStoresThem(t *testing.T) {
	t.Parallel()
	tbl, bookings := open(t)
	check.OK(t, bookings.Create(t.Context(), booking))
	got := check.Must(table.Get[map[string]any](t.Context(), tbl, key))(t)
	check.Equal(t, "stored", got, stored(got["updatedAt"]))
}

// ElectroDB changes a booking between the read and the write of Update.
func TestAChangeOfElectroDBIsKept(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	theirs := tabletest.New(t, electrodb.Schema, nil)
	bookings := check.Must(electrodb.New(check.Must(table.New(tabletest.Client(t, faults.Install), theirs.Schema(), nil))(t)))(t)
	check.OK(t, theirs.Do(t.Context(), table.Put(key, stored(1700000000000))))
	faults.Next("UpdateItem", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		check.OK(t, theirs.Do(t.Context(), table.Update(key, expression.
			Set(expression.Name("seats"), expression.Value(3)).Set(expression.Name("updatedAt"), expression.Value(1700000000001)))))
		return next.RoundTrip(r)
	})
	moved := check.Must(bookings.Move(t.Context(), "b-1", departure(7).Time))(t)
	check.Equal(t, "seats", moved.Seats, 3)
	check.Equal(t, "requests", len(faults.Requests("UpdateItem")), 2)
}

func TestSeats(t *testing.T) {
	t.Parallel()
	tbl, bookings := open(t)
	ferry := keys.Key{PK: "$ferries#id_f-1", SK: "$ferry_1"}
	check.OK(t, tbl.Do(t.Context(), table.Put(ferry, map[string]any{"__edb_e__": "ferry", "__edb_v__": "1", "id": "f-1", "seatsLeft": 3})))
	check.OK(t, bookings.Book(t.Context(), booking))
	check.Is(t, bookings.Book(t.Context(), booking), electrodb.ErrFull, "two seats of one")
	one := booking
	one.Seats = 1
	check.Is(t, bookings.Book(t.Context(), one), table.ErrExists, "booked twice")
	got := check.Must(table.Get[map[string]any](t.Context(), tbl, ferry))(t)
	check.Equal(t, "seats left", got["seatsLeft"], 1.0)
}

// The keys are those that ElectroDB 3.9.3 makes of these ids on Node 20.
func TestKeysAreInTheLowerCaseOfJavaScript(t *testing.T) {
	t.Parallel()
	tbl, bookings := open(t)
	for id, pk := range map[string]keys.PK{
		"ΟΔΟΣ":     "$ferries#id_οδος",
		"İstanbul": "$ferries#id_i̇stanbul",
		"Ärger":    "$ferries#id_ärger",
		"STRASSE":  "$ferries#id_strasse",
	} {
		made := booking
		made.ID = id
		check.OK(t, bookings.Create(t.Context(), made))
		got := check.Must(table.Get[electrodb.Booking](t.Context(), tbl, keys.Key{PK: pk, SK: "$booking_1"}))(t)
		check.Equal(t, "booking", got.ID, id)
	}
	for _, refused := range []electrodb.Booking{{Guest: "ana", At: departure(6)}, {ID: "b", At: departure(6)}, {ID: "b#guest_x", Guest: "ana", At: departure(6)}} {
		check.Is(t, bookings.Create(t.Context(), refused), keys.ErrInvalid)
	}
}
