package idempotency_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// released are records as 0.1.0-rc.1 has written them: their items, by the keys of their
// requests.
type released map[string]json.RawMessage

func releasedRecords(t *testing.T) released {
	t.Helper()
	var all released
	expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile("testdata/records-0.1.0-rc.1.json"))(t), &all))
	return all
}

// sameRecord checks that a request of this release makes the record that 0.1.0-rc.1 has
// made of the same request, so that each reads the other's, and gets the result out of it.
func sameRecord[R any](t *testing.T, all released, key string, payload idempotency.Payload, plan idempotency.Plan[R], want R) {
	t.Helper()
	t.Run(key, func(t *testing.T) {
		s := newShop(t)
		r := request(key)
		r.Payload = payload
		do := func(r idempotency.Request) (idempotency.Result[R], error) {
			return idempotency.Do(t.Context(), s.store, r, planned(func() (idempotency.Plan[R], error) { return plan, nil }))
		}
		first := expect.Value(do(r))(t)
		expect.Equal(t, "result", first, idempotency.Result[R]{Value: want})
		made := expect.Value(s.store.Lookup(t.Context(), r))(t).Item
		stored := item.RawJSON(all[key]).Attributes(nil)
		made["attempt"] = stored["attempt"] // which is drawn
		expect.Equal(t, "record", string(item.JSON(made)), string(all[key]))

		expect.OK(t, s.table.Do(t.Context(), table.Put(recordKey(key), stored)))
		again := expect.Value(do(r))(t)
		expect.Equal(t, "result", again, idempotency.Result[R]{Value: want, Replayed: true})
		r.Payload = idempotency.Text("another")
		wantErr(t, expect.ErrOf(do(r)), idempotency.ErrPayloadMismatch)
	})
}

func TestRecordsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	type compared struct {
		To     string      `json:"to"`
		Amount float64     `json:"amount"`
		Raw    []byte      `json:"raw,omitempty"`
		Note   json.Number `json:"note"`
	}
	o := order{
		ID: "o-1", Goods: "goods", Price: 12.5, At: start, Tags: []string{"z", "a", "m"},
		Inner: map[string]any{"n": 1e21, "l": []any{"x", true}},
	}
	read := o
	read.Tags = []string{"a", "m", "z"}
	all := releasedRecords(t)
	sameRecord(t, all, "struct", idempotency.JSON(compared{"bob", 12.5, []byte{0, 255}, "1.50"}), idempotency.Snapshot(o), read)
	sameRecord(t, all, "map", idempotency.JSON(map[string]any{"amount": 500, "currency": "<ARS>"}), idempotency.Snapshot("done"), "done")
	sameRecord(t, all, "string", idempotency.JSON("250 to bob"), idempotency.Snapshot([]byte{0, 255}), []byte{0, 255})
	sameRecord[any](t, all, "bytes", idempotency.Text(`{"b": 1.0, "a": "x"}`),
		idempotency.Snapshot[any](map[string]any{"n": 7, "l": []string{"x"}}), map[string]any{"n": 7.0, "l": []any{"x"}})
	sameRecord(t, all, "text", idempotency.Text("plain"), idempotency.Snapshot([]int64{1 << 60, -1}), []int64{1 << 60, -1})
	sameRecord(t, all, "number", idempotency.JSON(7), idempotency.Snapshot(true), true)
	sameRecord(t, all, "reference", idempotency.JSON([]string{"a"}),
		idempotency.Reference(o, orderKey("o-1"), table.Put(orderKey("o-1"), o)).With(map[string]string{"userId": "u-123"}), read)
	// A request that had no payload.
	sameRecord(t, all, "nothing", idempotency.Text("null"), idempotency.Snapshot((*order)(nil)), nil)
}

// A message that 0.1.0-rc.1 has handled is a duplicate, with or without its payload.
func TestMessageOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	expect.OK(t, s.table.Do(t.Context(), table.Put(recordKey("message"), item.RawJSON(releasedRecords(t)["message"]).Attributes(nil))))
	r := request("message")
	for _, payload := range []idempotency.Payload{r.Payload, {}} {
		r.Payload = payload
		first := expect.Value(idempotency.Exec(t.Context(), s.store, r, func(context.Context) ([]table.Op, error) { return nil, nil }))(t)
		expect.Equal(t, "first", first, false)
	}
}
