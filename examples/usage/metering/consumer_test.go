package metering_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestAMessageAddsToItsCounters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second := message
	second.Hour, second.Count, second.UserID = ten.Add(time.Hour), 4, ""
	for id, m := range map[string]metering.Message{"1": message, "2": second} {
		if o := f.Count(t.Context(), delivery(t, id, m)); o.Status != metering.Counted || o.Err != nil || o.ID != id {
			t.Errorf("%+v", o)
		}
	}
	until := func(at time.Time) int64 { return at.Add(retention).Unix() }
	for meter, want := range map[metering.Meter][]metering.Counter{
		workspace: {
			{SK: "DAY#2024-01-15T00:00:00.000Z", Count: 7, ExpiresAt: until(ten.Add(-10 * time.Hour))},
			{SK: "HOUR#2024-01-15T10:00:00.000Z", Count: 3, ExpiresAt: until(ten)},
			{SK: "HOUR#2024-01-15T11:00:00.000Z", Count: 4, ExpiresAt: until(ten.Add(time.Hour))},
		},
		user: {
			{SK: "DAY#2024-01-15T00:00:00.000Z", Count: 3, ExpiresAt: until(ten.Add(-10 * time.Hour))},
			{SK: "HOUR#2024-01-15T10:00:00.000Z", Count: 3, ExpiresAt: until(ten)},
		},
		userAll: {
			{SK: "DAY#2024-01-15T00:00:00.000Z", Count: 3, ExpiresAt: until(ten.Add(-10 * time.Hour))},
			{SK: "HOUR#2024-01-15T10:00:00.000Z", Count: 3, ExpiresAt: until(ten)},
		},
	} {
		got := check.Must(table.Collect(table.All[metering.Counter](t.Context(), f.table, table.Query{PK: meter.PK()})))(t)
		check.Equal(t, "result", got, want)
	}
	// Each was one request, a transaction that holds the record as well.
	var operations []string
	for _, r := range f.faults.Requests("TransactWriteItems", "PutItem", "UpdateItem", "GetItem") {
		operations = append(operations, r.Operation)
		if !strings.Contains(string(r.Body), "IDE#sqs:acme#") {
			t.Errorf("a request without a record: %s", r.Body)
		}
	}
	check.Equal(t, "result", operations, []string{"TransactWriteItems", "TransactWriteItems"})
}

func TestARepeatedMessageCountsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, want := range []metering.Status{metering.Counted, metering.Duplicate, metering.Duplicate} {
		if o := f.Count(t.Context(), delivery(t, "1", message)); o.Status != want || o.Err != nil {
			t.Errorf("delivery %d: %+v", i, o)
		}
		f.move(7*day - time.Hour) // SQS keeps a message for 14 days
	}
	f.check(t, workspace, 3)
	f.check(t, user, 3)
}

func TestWhatMakesMessagesTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	named, other, changed := message, message, message
	named.ID, other.ID, changed.ID = "p", "p", "p"
	other.WorkspaceID = "umbrella"
	changed.Count = 9
	direct := delivery(t, "1", message)
	direct.Source = "lambda"
	for _, tt := range []struct {
		what string
		d    metering.Delivery
		want metering.Status
	}{
		{"a message", delivery(t, "1", message), metering.Counted},
		{"the same words in another message", delivery(t, "2", message), metering.Counted},
		{"an id of another source", direct, metering.Counted},
		{"a producer's id", delivery(t, "3", named), metering.Counted},
		{"the producer's id in another delivery", delivery(t, "4", named), metering.Duplicate},
		{"the producer's id without one of a delivery", delivery(t, "", named), metering.Duplicate},
		{"the id of another workspace", delivery(t, "5", other), metering.Counted},
		{"the producer's id for something else", delivery(t, "6", changed), metering.Dropped},
		{"no id", delivery(t, "", message), metering.Dropped},
	} {
		o := f.Count(t.Context(), tt.d)
		if o.Status != tt.want {
			t.Errorf("%s: %+v", tt.what, o)
		}
		if tt.d.ID == "6" && !errors.Is(o.Err, idempotency.ErrPayloadMismatch) {
			t.Errorf("%s: %v", tt.what, o.Err)
		}
	}
	f.check(t, workspace, 4*3)
}

func TestTheClassOfAnErrorDecides(t *testing.T) {
	t.Parallel()
	refused := func(typ string) tabletest.Fault { return tabletest.Status(http.StatusBadRequest, typ, "Injected.") }
	for _, tt := range []struct {
		what  string
		fault tabletest.Fault
		class table.Class
		want  metering.Status
	}{
		{"throttled", tabletest.Throttle(), table.Transient, metering.Returned},
		{"conflict", tabletest.CancelTransaction("TransactionConflict", "None", "None", "None", "None", "None", "None"), table.Transient, metering.Returned},
		{"out of order", tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected."), table.Transient, metering.Returned},
		{"no connection", tabletest.DropRequest(), table.Transient, metering.Returned},
		{"no permission", refused("AccessDeniedException"), table.Unclassified, metering.Returned},
		{"no table", refused("ResourceNotFoundException"), table.Unclassified, metering.Returned},
		{"not what the table takes", refused("ValidationException"), table.Unclassified, metering.Returned},
		{"the table of another program", tabletest.Status(http.StatusBadRequest, "ValidationException", "Type mismatch for attribute to update"), table.Permanent, metering.Returned},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.faults.Always("TransactWriteItems", tt.fault)
			o := f.Count(t.Context(), delivery(t, "1", message))
			if o.Status != tt.want || o.Class != tt.class || o.Err == nil {
				t.Errorf("%+v", o)
			}
			f.check(t, workspace, 0)

			// It left no trace: delivered again, the message counts.
			f.faults.Always("TransactWriteItems", nil)
			if o := f.Count(t.Context(), delivery(t, "1", message)); o.Status != metering.Counted {
				t.Errorf("again: %+v", o)
			}
			f.check(t, workspace, 3)
		})
	}
}

func TestABatchTellsMessagesApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	far, bad := message, message
	far.WorkspaceID, bad.Count = "globex", 0
	f.faults.Always("TransactWriteItems", tabletest.Match(func(r tabletest.Request) bool {
		return strings.Contains(string(r.Body), "WORKSPACE#globex#")
	}, tabletest.Throttle()))
	var got []metering.Outcome
	for _, o := range f.Batch(t.Context(), []metering.Delivery{
		delivery(t, "1", far), delivery(t, "2", message),
		{Source: "sqs", ID: "3", Body: []byte("no JSON")},
		delivery(t, "4", bad), delivery(t, "2", message), delivery(t, "5", message),
	}) {
		o.Err = nil
		got = append(got, o)
	}
	if diff := cmp.Diff([]metering.Outcome{
		{ID: "1", Status: metering.Returned, Class: table.Transient},
		{ID: "2", Status: metering.Counted},
		{ID: "3", Status: metering.Dropped, Class: table.Permanent},
		{ID: "4", Status: metering.Dropped, Class: table.Permanent},
		{ID: "2", Status: metering.Duplicate},
		{ID: "5", Status: metering.Counted},
	}, got); diff != "" {
		t.Error(diff)
	}
	f.check(t, workspace, 6)
	if got := f.Batch(t.Context(), nil); len(got) != 0 {
		t.Errorf("an empty batch: %+v", got)
	}
}

func TestWhatHasExpiredIsNotCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := f.table.Now()
	old := message
	for days, want := range map[int]metering.Status{
		rangeDays: metering.Counted, rangeDays + 4: metering.Counted, rangeDays + 5: metering.Dropped,
	} {
		old.Hour = now.Add(-time.Duration(days) * day)
		if o := f.Count(t.Context(), delivery(t, old.Hour.String(), old)); o.Status != want {
			t.Errorf("%d days ago: %+v", days, o)
		}
	}
	// The refusal tells of the hour with the rest.
	o := f.Count(t.Context(), metering.Delivery{Body: []byte(`{"workspaceId":"acme","metricId":"exports","count":0,"date":"2013-01-15T10"}`)})
	check.Equal(t, "error", fmt.Sprint(o.Err), "metering: not valid: invalid: count is not a whole number from 1 to 1000000; "+
		"nothing tells the message from another one; date is longer ago than counters are kept")
	// The first hour that can be asked for is still there.
	u, err := f.Usage(t.Context(), metering.Question{Meter: workspace, From: now.Add(-rangeDays * day), To: now})
	if err != nil || u.Total != 3 {
		t.Errorf("%+v %v", u, err)
	}
	// Counters go when their time comes, whenever DynamoDB deletes them.
	f.move(retention)
	f.check(t, workspace, 0)
}

// A release behind the producers hands their messages to one that is not, or to the
// dead-letter queue. So it does with those of a producer that mistypes a member.
func TestAMessageThatALaterReleaseMayKnowIsReturned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, body := range []string{
		`{"schemaVersion":2,"workspace":{"id":"acme"},"count":"many"}`,
		`{"workspaceId":"acme","userID":"ana","metricId":"exports","count":1,"date":"2024-01-15T10"}`,
		`{"workspaceId":"acme","metric":"exports","count":0,"date":"2013-01-15T10"}`,
	} {
		later := metering.Delivery{Source: "sqs", ID: "2", Body: []byte(body)}
		for _, o := range append(f.Batch(t.Context(), []metering.Delivery{later, delivery(t, "1", message)})[:1], f.Count(t.Context(), later)) {
			if o.Status != metering.Returned || !errors.Is(o.Err, metering.ErrLater) || o.Class != table.Unclassified {
				t.Errorf("%s: %+v", body, o)
			}
		}
	}
	f.check(t, workspace, 3)
}

// Transactions on one counter would be in conflict. So of a batch on three counters, three
// are in flight: the first of each waits for the others.
func TestMessagesOfABatchOnOneCounterAreCountedInTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var together sync.WaitGroup
	together.Add(3)
	wait := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		together.Done()
		together.Wait()
		return next.RoundTrip(r)
	}
	f.faults.Next("TransactWriteItems", wait, wait, wait)
	var batch []metering.Delivery
	for i := range 9 {
		m := message
		switch i % 3 {
		case 0:
			m.MetricID = "reports"
		case 1:
			m.Hour = ten.Add(-day)
		case 2:
			m.Hour = ten.Add(-time.Duration(i) * time.Hour) // of one day
		}
		batch = append(batch, delivery(t, strconv.Itoa(i), m))
	}
	for _, o := range f.Batch(t.Context(), batch) {
		check.Equal(t, "status", o.Status, metering.Counted)
	}
	check.Equal(t, "transactions in flight", f.faults.MaxInFlight(), 3)
	f.check(t, workspace, 6*3)
}

func TestOptionsBoundWhatIsKeptAndAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, o := range []metering.Options{{RetentionDays: 1}, {RetentionDays: -1}, {RetentionDays: 36_501}, {RangeDays: -1}, {RangeDays: 1830}, {RetentionDays: 90, RangeDays: 90}} {
		check.Is(t, check.Err(metering.NewConsumer(f.table, &o)), table.ErrInvalid, o)
		check.Is(t, check.Err(metering.NewReader(f.table, &o)), table.ErrInvalid, o)
	}
	o := metering.Options{RetentionDays: 90}
	consumer := check.Must(metering.NewConsumer(f.table, &o))(t)
	reader := check.Must(metering.NewReader(f.table, &o))(t)
	old := message
	old.Hour = ten.Add(-90 * day)
	check.Equal(t, "status", consumer.Count(t.Context(), delivery(t, "old", old)).Status, metering.Dropped)
	old.Hour = ten.Add(-89 * day)
	check.Equal(t, "status", consumer.Count(t.Context(), delivery(t, "kept", old)).Status, metering.Counted)
	q := metering.Question{Meter: workspace, From: old.Hour, To: ten}
	check.Equal(t, "total", check.Must(reader.Usage(t.Context(), q))(t).Total, 3)
	q.From = q.From.Add(-time.Hour)
	check.Is(t, check.Err(reader.Usage(t.Context(), q)), metering.ErrInvalid)
	f.move(91 * day)
	f.check(t, workspace, 0)
}
