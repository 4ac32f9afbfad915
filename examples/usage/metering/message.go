package metering

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrLater matches the error of a message that a later release may know: with a later
// schemaVersion than [SchemaVersion], or with an unknown member. [table.Classify] does not
// call it permanent.
var ErrLater = errors.New("metering: perhaps of a later release")

const (
	// SchemaVersion is the version of the messages that are understood, and of
	// those that have none.
	SchemaVersion = 1
	// MaxCount is the greatest count of one message; the least is 1.
	MaxCount = 1_000_000

	maxIdentifier = 128
	hourLayout    = "2006-01-02T15"
)

// Message says that a feature was used so many times in an hour. Its JSON is
//
//	{"schemaVersion":1,"workspaceId":"acme","userId":"ana","metricId":"exports","count":3,"date":"2024-01-15T10"}
type Message struct {
	// ID is the producer's own id of the message, and optional. With one, a
	// message that the producer sends twice counts once as well.
	ID string
	// WorkspaceID says who is metered, MetricID what.
	WorkspaceID, MetricID string
	// UserID says who used it, if that is known.
	UserID string
	// Count is how often it was used.
	Count int64
	// Hour is the hour in UTC in which it was used.
	Hour time.Time
}

// Decode reads a message and validates it. Without schemaVersion it is of version
// 1. Of the text an error repeats only the names of members.
//
// A member that no message has is a mistyped one, without which a message counts for
// less than it should, or one of a later release. So the message is kept.
//
// Errors, which list everything that is wrong:
//   - [ErrLater]: a message of a later version, or with an unknown member.
//   - [Problems], which match [ErrInvalid]: any other.
func Decode(text []byte) (Message, error) {
	d := decode(text)
	return d.message, d.err()
}

// decoded is a message, and what is wrong with it.
type decoded struct {
	reading
	message Message
	dated   bool // has the message an hour?
	later   bool
}

func decode(text []byte) decoded {
	d := decoded{reading: read(text)}
	if d.members == nil {
		return d
	}
	var version float64 = SchemaVersion // some producers have no other numbers
	switch value := d.take("schemaVersion"); {
	case value != nil && json.Unmarshal(value, &version) != nil, version < SchemaVersion:
		d.add("schemaVersion is not a number from %d on", SchemaVersion)
	case version != SchemaVersion:
		d.later = true
		d.add("schemaVersion is later than %d", SchemaVersion)
		return d // the rest may mean something else
	}
	m := &d.message
	m.ID = d.id("messageId", false)
	m.WorkspaceID = d.id("workspaceId", true)
	m.UserID = d.id("userId", false)
	m.MetricID = d.id("metricId", true)
	m.Count = d.count("count")
	m.Hour, d.dated = d.hour("date")
	d.later = d.unknown()
	return d
}

func (d decoded) err() error {
	if d.later {
		return fmt.Errorf("%w: %s", ErrLater, d.String())
	}
	return d.Problems.err()
}

// wire is the JSON of a message.
type wire struct {
	SchemaVersion int    `json:"schemaVersion"`
	MessageID     string `json:"messageId,omitempty"`
	WorkspaceID   string `json:"workspaceId"`
	UserID        string `json:"userId,omitempty"`
	MetricID      string `json:"metricId"`
	Count         int64  `json:"count"`
	Date          string `json:"date"`
}

// MarshalJSON returns the JSON that [Decode] reads.
func (m Message) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{SchemaVersion, m.ID, m.WorkspaceID, m.UserID, m.MetricID, m.Count, m.Hour.UTC().Format(hourLayout)})
}
