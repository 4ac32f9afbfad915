package metering

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/internal/strictjson"
	"github.com/singletable/singletable/table"
)

// ErrInvalid matches what is wrong with a message or a question by itself. It
// is one of the errors that [table.Classify] calls permanent.
var ErrInvalid = fmt.Errorf("metering: not valid: %w", table.ErrInvalid)

// ErrVersion matches the error of a message whose schemaVersion is later than
// [SchemaVersion]. The message may be a good one, for a consumer of a later
// release. [table.Classify] does not call it permanent.
var ErrVersion = errors.New("metering: schemaVersion is later than this release knows")

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

// wire is a message as JSON has it. Pointers tell what is empty from what is
// left out.
type wire struct {
	SchemaVersion int     `json:"schemaVersion"`
	MessageID     *string `json:"messageId,omitempty"`
	WorkspaceID   *string `json:"workspaceId"`
	UserID        *string `json:"userId,omitempty"`
	MetricID      *string `json:"metricId"`
	Count         *int64  `json:"count"`
	Date          *string `json:"date"`
}

// Decode reads a message and validates it. Without schemaVersion it is of version
// 1. Of the text an error repeats only the names of unknown members.
//
// A member that no message has is refused: a mistyped userId would otherwise
// count for the workspace alone, and nobody would notice. So is a member that is
// there twice.
//
// Errors:
//   - [ErrVersion]: a message of a later version.
//   - [Problems], which match [ErrInvalid]: everything that is wrong.
func Decode(text []byte) (Message, error) {
	members, err := object(text)
	if err != nil {
		return Message{}, err
	}
	// The version comes first: the rest may mean something else in another one.
	var version float64 // some producers have no other numbers
	if raw, ok := members["schemaVersion"]; ok && string(raw) != "null" {
		switch err := json.Unmarshal(raw, &version); {
		case err != nil || version < SchemaVersion:
			return Message{}, Problems{fmt.Sprintf("schemaVersion is not a number from %d on", SchemaVersion)}
		case version != SchemaVersion:
			return Message{}, ErrVersion
		}
	}
	delete(members, "schemaVersion")
	var w wire
	if err := decode(members, map[string]any{
		"messageId": &w.MessageID, "workspaceId": &w.WorkspaceID, "userId": &w.UserID,
		"metricId": &w.MetricID, "count": &w.Count, "date": &w.Date,
	}); err != nil {
		return Message{}, err
	}
	return w.message()
}

// object returns the members of a JSON object, each of which is there once.
func object(text []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	switch err := strictjson.Check(text); {
	case errors.Is(err, strictjson.ErrDuplicate):
		return nil, Problems{"a member is there twice"}
	case err != nil || json.Unmarshal(text, &members) != nil || members == nil:
		return nil, Problems{"it is not one JSON object"}
	}
	return members, nil
}

// decode sets each target to the member of its name, and reports the members that
// have no target and those of another type. Targets are a **string or **int64.
func decode(members map[string]json.RawMessage, targets map[string]any) error {
	var p Problems
	for _, name := range slices.Sorted(maps.Keys(members)) {
		target, ok := targets[name]
		switch {
		case !ok && isIdentifier(name):
			p.add("unknown member %s", name)
		case !ok:
			p.add("unknown member, whose name is no identifier")
		default:
			if number, ok := target.(**int64); ok {
				if !whole(members[name], number) {
					p.add("%s is not a whole number", name)
				}
			} else if json.Unmarshal(members[name], target) != nil {
				p.add("%s is not a string", name)
			}
		}
	}
	return p.err()
}

// whole sets the target to a whole number, or to nil for null, and reports whether
// the text is either. It also takes 3.0 and 3e0: to some producers, all numbers have a
// fraction.
func whole(text json.RawMessage, target **int64) bool {
	var f *float64
	if json.Unmarshal(text, &f) != nil {
		return false
	}
	if f == nil {
		return true
	}
	n := int64(*f)
	*target = &n
	// Greater numbers are not exact.
	return math.Abs(*f) < 1<<53 && float64(n) == *f
}

func (w wire) message() (Message, error) {
	var m Message
	var p Problems
	m.WorkspaceID = p.identifier("workspaceId", w.WorkspaceID, true)
	m.MetricID = p.identifier("metricId", w.MetricID, true)
	m.UserID = p.identifier("userId", w.UserID, false)
	m.ID = p.identifier("messageId", w.MessageID, false)
	if w.Count == nil || *w.Count < 1 || *w.Count > MaxCount {
		p.add("count is not a number from 1 to %d", MaxCount)
	} else {
		m.Count = *w.Count
	}
	m.Hour = p.hour("date", w.Date)
	return m, p.err()
}

// MarshalJSON returns the JSON that [Decode] reads.
func (m Message) MarshalJSON() ([]byte, error) {
	date := m.Hour.UTC().Format(hourLayout)
	w := wire{SchemaVersion: SchemaVersion, WorkspaceID: &m.WorkspaceID, MetricID: &m.MetricID, Count: &m.Count, Date: &date}
	if m.UserID != "" {
		w.UserID = &m.UserID
	}
	if m.ID != "" {
		w.MessageID = &m.ID
	}
	return json.Marshal(w)
}

// Problems is everything that is wrong with a message or a question, for whoever
// sent it. As an error it matches [ErrInvalid].
type Problems []string

// Error returns the problems, and whose they are.
func (p Problems) Error() string { return ErrInvalid.Error() + ": " + p.String() }

// String returns the problems alone.
func (p Problems) String() string { return strings.Join(p, "; ") }

// Unwrap returns [ErrInvalid].
func (p Problems) Unwrap() error { return ErrInvalid }

func (p *Problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// identifier returns the identifier of a member; nil means that it is left out.
func (p *Problems) identifier(name string, id *string, required bool) string {
	switch {
	case id == nil && required:
		p.add("%s is missing", name)
	case id == nil:
	case !isIdentifier(*id):
		p.add("%s is not 1 to %d letters, digits, _ and -", name, maxIdentifier)
	default:
		return *id
	}
	return ""
}

func isIdentifier(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return 1 <= len(s) && len(s) <= maxIdentifier
}

// hour returns the hour of a member.
func (p *Problems) hour(name string, date *string) time.Time {
	if date == nil {
		p.add("%s is missing", name)
		return time.Time{}
	}
	// Parse knows the calendar, but takes an hour of one digit too.
	at, err := time.Parse(hourLayout, *date)
	if err != nil || len(*date) != len(hourLayout) {
		p.add("%s is not an hour of the calendar, as YYYY-MM-DDThh", name)
	}
	return at
}
