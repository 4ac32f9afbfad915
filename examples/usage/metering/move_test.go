package metering_test

import (
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Move a table of the source design so, while producers go on:
//
//  1. Create the new table and a new queue, without a consumer. Set the queue's retention period
//     to 14 days.
//  2. Let producers send to the new queue.
//  3. Let the old consumer empty the old queue and its dead-letter queue, messages in flight
//     included. Then stop it: nothing may write to the old table any more.
//  4. Put what moved makes of every item of the old table. Repeat a failed run from its beginning.
//     Records do not move: no message of the old queue is left.
//  5. Compare counts: for each metric, the sum of the hours equals that of the days, and that of
//     the old table. A day is more than its hours if the old TTL has deleted some.
//  6. Start the consumer on the new queue. Never repeat step 4 after this: it would overwrite what
//     was counted.
//  7. Ask the new function. The total of a user in one workspace begins with step 6: the design's
//     table does not hold it.

// designItem is a counter as the table of the source design has it.
type designItem struct {
	pk, sk string
	count  int64
}

// moved returns the put of the counter that an item of the source design becomes.
// It can be repeated until the first message is counted. ok is false for items
// that are no counters.
func moved(i designItem) (op table.Op, ok bool) {
	pk := strings.Split(i.pk, "#") // identifiers hold no #
	kind, date, _ := strings.Cut(i.sk, "#")
	if len(pk) != 4 || pk[2] != "MET" {
		return op, false
	}
	m := metering.Meter{MetricID: pk[3]}
	switch pk[0] {
	case "USR":
		m.UserID = pk[1]
	case "WSP":
		m.WorkspaceID = pk[1]
	default:
		return op, false
	}
	prefix, layout := metering.Hour, "2006-01-02T15"
	if kind == "D" {
		prefix, layout = metering.Day, time.DateOnly
	}
	at, err := time.Parse(layout, date)
	return table.Put(keys.Key{PK: m.PK(), SK: prefix.SK(keys.Time(at))}, map[string]any{
		"count": i.count, "expiresAt": at.Add(retention).Unix(), "entityType": "COUNTER",
	}), err == nil
}

// A table of the source design is moved by these steps, and counts on.
func TestATableOfTheDesignIsMoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var ops []table.Op
	for _, i := range []designItem{
		{"USR#ana#MET#exports", "H#2024-01-15T10", 7},
		{"USR#ana#MET#exports", "D#2024-01-15", 7},
		{"WSP#acme#MET#exports", "H#2024-01-15T10", 5},
		{"WSP#acme#MET#exports", "D#2024-01-15", 5},
		{"DEDUP#d-1", "DEDUP#d-1", 0},
	} {
		if op, ok := moved(i); ok {
			ops = append(ops, op)
		}
	}
	check.Equal(t, "counters", len(ops), 4)
	for range 2 {
		check.OK(t, f.table.BatchWrite(t.Context(), ops...))
	}
	check.Equal(t, "status", f.Count(t.Context(), delivery(t, "1", message)).Status, metering.Counted)
	midnight := ten.Truncate(day)
	for _, hours := range [][2]time.Time{{ten, ten}, {midnight, midnight.Add(23 * time.Hour)}} {
		for meter, want := range map[metering.Meter]int64{userAll: 7 + 3, workspace: 5 + 3, user: 3} {
			u := check.Must(f.Usage(t.Context(), metering.Question{Meter: meter, From: hours[0], To: hours[1]}))(t)
			check.Equal(t, string(meter.PK()), u.Total, want)
		}
	}
}
