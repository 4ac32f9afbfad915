package electrodb_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/guide/electrodb"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// stored is what ElectroDB 3.9.3 sends to store the booking.
var stored = map[string]any{
	"pk": "$ferries#id_b-1", "sk": "$booking_1",
	"GSI1PK": "$ferries#guest_ana", "GSI1SK": "$booking_1#at_2030-06-01t12:00:00.000z#id_b-1",
	"__edb_e__": "booking", "__edb_v__": "1",
	"id": "b-1", "guest": "ana", "ferry": "f-1", "at": "2030-06-01T12:00:00.000Z", "seats": 2.0, "version": 1.0,
}

var booking = electrodb.Booking{
	ID: "b-1", Guest: "ana", Ferry: "f-1", At: "2030-06-01T12:00:00.000Z", Seats: 2, Version: 1, Model: "1",
}

var key = keys.Key{PK: "$ferries#id_b-1", SK: "$booking_1"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestItemsOfElectroDBAreRead(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, electrodb.Schema, nil)
	bookings, err := electrodb.New(tbl)
	must(t, err)
	must(t, tbl.Do(t.Context(), table.Put(key, stored)))
	got, err := bookings.Get(t.Context(), key)
	must(t, err)
	page, err := bookings.Query(t.Context(), table.Query{
		Index: "GSI1", PK: "$ferries#guest_ana", Range: keys.Range{Prefix: "$booking_"}, Descending: true, Limit: 20,
	})
	must(t, err)
	for _, read := range [][]electrodb.Booking{{got}, page.Items} {
		if diff := cmp.Diff([]electrodb.Booking{booking}, read); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	}
}

func TestItemsAreStoredAsElectroDBStoresThem(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, electrodb.Schema, nil)
	bookings, err := electrodb.New(tbl)
	must(t, err)
	must(t, bookings.Create(t.Context(), new(booking)))
	got, err := table.Get[map[string]any](t.Context(), tbl, key)
	must(t, err)
	if diff := cmp.Diff(stored, got); diff != "" {
		t.Errorf("stored (-ElectroDB +here):\n%s", diff)
	}
}
