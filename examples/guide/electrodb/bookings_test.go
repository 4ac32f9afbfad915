package electrodb_test

import (
	"testing"

	"github.com/singletable/singletable/examples/guide/electrodb"
	"github.com/singletable/singletable/examples/internal/check"
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

func TestItemsOfElectroDBAreRead(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, electrodb.Schema, nil)
	bookings := check.Must(electrodb.New(tbl))(t)
	check.OK(t, tbl.Do(t.Context(), table.Put(key, stored)))
	got := check.Must(bookings.Get(t.Context(), key))(t)
	page := check.Must(electrodb.Page(t.Context(), bookings, "Ana"))(t)
	for _, read := range [][]electrodb.Booking{{got}, page.Items} {
		check.Equal(t, "read", read, []electrodb.Booking{booking})
	}
}

func TestItemsAreStoredAsElectroDBStoresThem(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, electrodb.Schema, nil)
	bookings := check.Must(electrodb.New(tbl))(t)
	made := booking
	made.Model = ""
	check.OK(t, electrodb.Create(t.Context(), bookings, made))
	got := check.Must(table.Get[map[string]any](t.Context(), tbl, key))(t)
	check.Equal(t, "stored", got, stored)
}

// The keys are those that ElectroDB 3.9.3 makes of these ids on Node 20.
func TestKeysAreInTheLowerCaseOfJavaScript(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, electrodb.Schema, nil)
	bookings := check.Must(electrodb.New(tbl))(t)
	for id, pk := range map[string]keys.PK{
		"ΟΔΟΣ":     "$ferries#id_οδος",
		"İstanbul": "$ferries#id_i̇stanbul",
		"Ärger":    "$ferries#id_ärger",
		"STRASSE":  "$ferries#id_strasse",
	} {
		made := booking
		made.ID = id
		check.OK(t, electrodb.Create(t.Context(), bookings, made))
		check.Equal(t, "booking", check.Must(bookings.Get(t.Context(), keys.Key{PK: pk, SK: "$booking_1"}))(t).ID, id)
	}
	for _, refused := range []electrodb.Booking{{Guest: "ana", At: "x"}, {ID: "b", At: "x"}, {ID: "b#guest_x", Guest: "ana", At: "x"}} {
		check.Is(t, electrodb.Create(t.Context(), bookings, refused), keys.ErrInvalid)
	}
}
