// Package metering counts how often features are used, from messages that a
// queue delivers at least once, and returns the counts.
//
// A [Consumer] adds each [Message] to the counters of its hour and its day, of
// the workspace and of the user. A [Reader] sums counters up over a time.
package metering

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the table: counters, and the records of the messages that were
// counted.
func Schema(name string) schema.Table {
	return schema.Table{Name: name, TTLAttribute: "expiresAt"}
}

const (
	// Workspace begins the partition of a workspace's counters of one metric;
	// [keys.User] that of a user's.
	Workspace keys.Prefix = "WORKSPACE"
	// Hour begins the sort keys of the counters of hours.
	Hour keys.Prefix = "HOUR"
	// Day begins the sort keys of the counters of days.
	Day keys.Prefix = "DAY"

	counterType = "COUNTER"
	day         = 24 * time.Hour
)

// Meter names what is counted: a metric of a workspace, with UserID of one user
// in it, and without WorkspaceID of that user in all workspaces.
type Meter struct {
	WorkspaceID, UserID, MetricID string
}

// PK returns the partition of the meter's counters.
//
//	WORKSPACE#acme#exports
//	USER#acme#ana#exports
//	USER#ana#exports
func (m Meter) PK() keys.PK {
	switch {
	case m.UserID == "":
		return Workspace.PK(m.WorkspaceID, m.MetricID)
	case m.WorkspaceID == "":
		return keys.User.PK(m.UserID, m.MetricID)
	}
	return keys.User.PK(m.WorkspaceID, m.UserID, m.MetricID)
}

// Counter is an item of the table: what was counted in an hour or in a day. The
// hour or the day is in the sort key.
//
//	HOUR#2024-01-15T10:00:00.000Z
//	DAY#2024-01-15T00:00:00.000Z
type Counter struct {
	SK        keys.SK `dynamodbav:"sk"`
	Count     int64   `dynamodbav:"count"`
	ExpiresAt int64   `dynamodbav:"expiresAt"`
}

// add returns the op that adds to the counter that begins at a time. It creates
// a missing counter.
//
// The expiry depends on the counter's time and the retention alone. So every
// message sets the same one, and a late one makes nothing live longer.
func (m Meter) add(kind keys.Prefix, at time.Time, count int64, retention time.Duration) table.Op {
	key := keys.Key{PK: m.PK(), SK: kind.SK(keys.Time(at))}
	return table.Update(key, expression.
		Add(expression.Name("count"), expression.Value(count)).
		Set(expression.Name("expiresAt"), expression.Value(at.Add(retention).Unix())).
		Set(expression.Name("entityType"), expression.Value(counterType)))
}

// meters are the meters that a message adds to.
func (m Message) meters() []Meter {
	meters := []Meter{{WorkspaceID: m.WorkspaceID, MetricID: m.MetricID}}
	if m.UserID != "" {
		meters = append(meters,
			Meter{WorkspaceID: m.WorkspaceID, UserID: m.UserID, MetricID: m.MetricID},
			Meter{UserID: m.UserID, MetricID: m.MetricID})
	}
	return meters
}

// ops are the writes of a message: two counters, or six.
func (m Message) ops(retention time.Duration) []table.Op {
	var ops []table.Op
	for i, meter := range m.meters() {
		name := [...]string{"workspace", "user in workspace", "user"}[i]
		ops = append(ops,
			meter.add(Hour, m.Hour, m.Count, retention).WithName(name+" hour"),
			meter.add(Day, midnight(m.Hour), m.Count, retention).WithName(name+" day"))
	}
	return ops
}

// midnight returns the beginning of the day in UTC.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(day) }
