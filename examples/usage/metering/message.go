package metering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/singletable/singletable/table"
)

// ErrInvalid matches what is wrong with a message or a question by itself. It
// is one of the errors that [table.Classify] calls permanent.
var ErrInvalid = fmt.Errorf("metering: not valid: %w", table.ErrInvalid)

const (
	// SchemaVersion is the version of the messages that are understood.
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
	SchemaVersion *int    `json:"schemaVersion"`
	MessageID     *string `json:"messageId,omitempty"`
	WorkspaceID   *string `json:"workspaceId"`
	UserID        *string `json:"userId,omitempty"`
	MetricID      *string `json:"metricId"`
	Count         *int64  `json:"count"`
	Date          *string `json:"date"`
}

// Decode reads a message and validates it. The error matches [ErrInvalid],
// lists everything that is wrong, and holds nothing of the text itself.
//
// A member that no message has is refused: a mistyped userId would otherwise
// count for the workspace alone, and nobody would notice.
func Decode(text []byte) (Message, error) {
	var w wire
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&w); err != nil {
		return Message{}, fmt.Errorf("%w: %s", ErrInvalid, reason(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Message{}, fmt.Errorf("%w: there is more than one JSON value", ErrInvalid)
	}
	if w.SchemaVersion == nil || *w.SchemaVersion != SchemaVersion {
		// The rest may mean something else in another version.
		return Message{}, fmt.Errorf("%w: schemaVersion is not %d", ErrInvalid, SchemaVersion)
	}
	return w.message()
}

// reason says what is wrong with JSON without repeating any of it.
func reason(err error) string {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && kind.Field != "" {
		return fmt.Sprintf("%s is not of type %s", kind.Field, kind.Type)
	}
	return "it is not the JSON of a message"
}

func (w wire) message() (Message, error) {
	var m Message
	var p problems
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
	version, date := SchemaVersion, m.Hour.UTC().Format(hourLayout)
	w := wire{SchemaVersion: &version, WorkspaceID: &m.WorkspaceID, MetricID: &m.MetricID, Count: &m.Count, Date: &date}
	if m.UserID != "" {
		w.UserID = &m.UserID
	}
	if m.ID != "" {
		w.MessageID = &m.ID
	}
	return json.Marshal(w)
}

// problems collects what is wrong.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	text := ""
	for i, problem := range p {
		if i > 0 {
			text += "; "
		}
		text += problem.Error()
	}
	return fmt.Errorf("%w: %s", ErrInvalid, text)
}

// identifier returns the identifier of a member; nil means that it is left out.
func (p *problems) identifier(name string, id *string, required bool) string {
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
func (p *problems) hour(name string, date *string) time.Time {
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
