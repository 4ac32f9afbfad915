package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The access patterns of the application. Each is one function: what it writes
// or asks for, and under which keys.

var example = metering.Message{
	WorkspaceID: "acme", UserID: "ana", MetricID: "logins", Count: 3,
	Hour: time.Date(2024, 1, 15, 10, 0, 0, 0, time.UTC),
}

// oneMessage is pattern 1: a message adds to six counters, and does so once.
func oneMessage(ctx context.Context, a app, out report.Report) error {
	out.Title("1. A message is counted by the hour and by the day, once")
	body, err := json.Marshal(example)
	if err != nil {
		return err
	}
	out.Line("  %s", body)
	out.Meter.Take() // what came before
	for _, what := range []string{"delivered", "again"} {
		o := a.consumer.Count(ctx, metering.Delivery{Source: "sqs", ID: "m-1", Body: body})
		if o.Err != nil {
			return o.Err
		}
		// DynamoDB reports no units for a refused transaction. AWS: ConsumedCapacity, Amazon
		// DynamoDB API Reference.
		requests, units := out.Meter.Take()
		out.Line("  %-9s  %s (requests %d, write units %g)", what, o.Status, requests, units)
	}
	if err := counters(ctx, a, out, "acme", "ana", "logins"); err != nil {
		return err
	}
	out.Line("  and the record of the message, IDE#sqs:acme#m-1 / METADATA, written in the same transaction")
	return nil
}

// counters prints the counters of a workspace and a user.
func counters(ctx context.Context, a app, out report.Report, workspace, user, metric string) error {
	var rows []string
	for _, m := range []metering.Meter{
		{WorkspaceID: workspace, MetricID: metric},
		{WorkspaceID: workspace, UserID: user, MetricID: metric},
		{UserID: user, MetricID: metric},
	} {
		for c, err := range table.All[metering.Counter](ctx, a.table, table.Query{PK: m.PK()}) {
			if err != nil {
				return err
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\tcount %d\tuntil %s",
				m.PK(), c.SK, c.Count, time.Unix(c.ExpiresAt, 0).UTC().Format(time.DateOnly)))
		}
	}
	out.Rows(rows...)
	out.Meter.Take()
	return nil
}

// oneBatch is pattern 2: a batch of which some messages fail.
func oneBatch(ctx context.Context, a app, out report.Report) error {
	out.Title("2. A batch has a result for each message")
	message := func(workspace string, count int64) string {
		m := example
		m.WorkspaceID, m.Count = workspace, count
		text, _ := json.Marshal(m) // of a message it does not fail
		return string(text)
	}
	batch := []delivery{
		{"b-1", "a good message", message("acme", 5)},
		{"b-2", "another one", message("umbrella", 7)},
		{"b-1", "the first one again", message("acme", 5)},
		{"b-3", "count is 0", message("acme", 0)},
		{"b-4", "DynamoDB throttles its workspace", message("globex", 2)},
	}
	a.faults.Always("TransactWriteItems", tabletest.Match(about("globex"), tabletest.Throttle()))
	if err := deliver(ctx, a, out, batch); err != nil {
		return err
	}
	a.faults.Always("TransactWriteItems", nil)
	batch[4].what = "delivered once more"
	return deliver(ctx, a, out, batch[4:])
}

// lostResponse is pattern 3: a message was counted, and the response was lost.
func lostResponse(ctx context.Context, a app, out report.Report) error {
	out.Title("3. A lost response does not count twice")
	m := metering.Message{WorkspaceID: "initech", MetricID: "logins", Count: 4, Hour: example.Hour}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	batch := []delivery{{"l-1", "every response of DynamoDB is lost", string(text)}}
	a.faults.Always("TransactWriteItems", tabletest.DropResponse())
	if err := deliver(ctx, a, out, batch); err != nil {
		return err
	}
	a.faults.Always("TransactWriteItems", nil)
	batch[0].what = "delivered once more"
	if err := deliver(ctx, a, out, batch); err != nil {
		return err
	}
	u, err := a.reader.Usage(ctx, metering.Question{
		Meter: metering.Meter{WorkspaceID: "initech", MetricID: "logins"}, From: m.Hour, To: m.Hour,
	})
	if err != nil {
		return err
	}
	out.Line("  count of the message %d, counter %d", m.Count, u.Total)
	return nil
}

// about tells the requests that are about a workspace.
func about(workspace string) func(tabletest.Request) bool {
	return func(r tabletest.Request) bool {
		return bytes.Contains(r.Body, []byte(metering.Workspace.PK(workspace)))
	}
}

// usageOfATime is pattern 4: how much was counted in a time, of a workspace or
// of a user.
func usageOfATime(ctx context.Context, a app, out report.Report) error {
	out.Title("4. Usage of a workspace from one hour to another")
	if err := seed(ctx, a); err != nil {
		return err
	}
	out.Meter.Take()
	q := metering.Question{
		Meter: metering.Meter{WorkspaceID: "acme", MetricID: "exports"},
		From:  today.AddDate(0, 0, -30).Add(-9 * time.Hour), To: today.Add(-8 * time.Hour),
	}
	out.Line("  from %s to %s: both included: hours, days and hours, in parallel", hour(q.From), hour(q.To))
	u, err := a.reader.Usage(ctx, q)
	if err != nil {
		return err
	}
	var rows []string
	items := 0
	for _, p := range u.Parts {
		r := p.Range()
		rows = append(rows, fmt.Sprintf("pk = %s\tsk between %s and %s\titems %d\ttotal %d",
			q.PK(), r.From, r.To, p.Stats.Items, p.Total))
		items += p.Stats.Items
	}
	out.Rows(rows...)
	out.Line("  total %d", u.Total)
	out.Cost("read", items)
	q.UserID = "ana"
	if u, err = a.reader.Usage(ctx, q); err != nil {
		return err
	}
	out.Line("  the same of a user in it, pk = %s: total %d", q.PK(), u.Total)
	out.Meter.Take()
	return nil
}

// usageOfAUser is pattern 5: how much a user used, in one workspace and in all.
func usageOfAUser(ctx context.Context, a app, out report.Report) error {
	out.Title("5. Usage of a user in all workspaces")
	day := example.Hour.Truncate(24 * time.Hour)
	for _, workspace := range []string{"acme", "umbrella", "globex", ""} {
		q := metering.Question{
			Meter: metering.Meter{WorkspaceID: workspace, UserID: "ana", MetricID: "logins"},
			From:  day, To: day.Add(23 * time.Hour),
		}
		u, err := a.reader.Usage(ctx, q)
		if err != nil {
			return err
		}
		requests, units := out.Meter.Take()
		out.Line("  pk = %s: total %d (requests %d, read units %g)", q.PK(), u.Total, requests, units)
	}
	return nil
}

// whatDaysSave measures what it saves to read days: the items and the read units
// of the days of a question, against those of their hours.
func whatDaysSave(ctx context.Context, a app, out report.Report) error {
	out.Title("6. What it saves to read whole days by the day")
	rows := []string{"metric\tfull days\tby the hour\t\tby the day\t\tfewer items", "\t\titems\tread units\titems\tread units\t"}
	for _, metric := range []string{"exports", "reports"} {
		for _, days := range []int{1, 7, 30} {
			q := metering.Question{
				Meter: metering.Meter{WorkspaceID: "acme", MetricID: metric},
				From:  today.AddDate(0, 0, -days), To: today.Add(-time.Hour),
			}
			byDay, err := a.reader.Usage(ctx, q)
			if err != nil {
				return err
			}
			byHour, err := a.reader.Hourly(ctx, q)
			if err != nil {
				return err
			}
			if byDay.Total != byHour.Total {
				return fmt.Errorf("%s: the days say %d, the hours %d", metric, byDay.Total, byHour.Total)
			}
			d, h := byDay.Parts[0].Stats, byHour.Parts[0].Stats
			rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%g\t%d\t%g\t%.3g times",
				metric, days, h.Items, h.Capacity, d.Items, d.Capacity, float64(h.Items)/float64(d.Items)))
		}
	}
	out.Rows(rows...)
	out.Line("  exports are made in every hour, reports in eight hours of a day; both totals are the same")
	return nil
}

func hour(t time.Time) keys.SK { return keys.None.SK(keys.Time(t)) }
