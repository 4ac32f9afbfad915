package view

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/expiring"
	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/table"
)

// value is an attribute value for a page.
type value struct {
	// Kind is DynamoDB's name of the type: S, N, M, …
	Kind string
	// Text is a value that has no members.
	Text text
	When *moment
	// Date is the time of a number, "" for a text, which says it itself.
	Date string
	// Members are those of a map, a list or a set, and Count is how many there are.
	Members []member
	Count   int
	Nested  bool // a map or a list
}

// member is an element of a map, a list or a set.
type member struct {
	Name  text
	Value value
}

// maxMembers bounds the members of one attribute that a page shows. The others are in
// the item's JSON.
const maxMembers = 500

// newValue returns a value with its texts cut to limit bytes.
func newValue(v types.AttributeValue, limit int, now time.Time) value {
	left := maxMembers
	return build(v, limit, &left, now)
}

func build(v types.AttributeValue, limit int, left *int, now time.Time) value {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		s := value{Kind: "S", Text: newText(v.Value, limit)}
		// Everything that is longer is no time.
		if len(v.Value) <= len(time.RFC3339Nano) {
			if t, err := time.Parse(time.RFC3339, v.Value); err == nil {
				m := newMoment(t, now)
				s.When = &m
			}
		}
		return s
	case *types.AttributeValueMemberN:
		return value{Kind: "N", Text: newText(v.Value, limit)}
	case *types.AttributeValueMemberB:
		return value{Kind: "B", Text: binary(v.Value, limit)}
	case *types.AttributeValueMemberBOOL:
		return value{Kind: "BOOL", Text: newText(fmt.Sprint(v.Value), limit)}
	case *types.AttributeValueMemberNULL:
		return value{Kind: "NULL", Text: newText("null", limit)}
	case *types.AttributeValueMemberSS:
		return buildSet("SS", v.Value, limit, left, func(s string) text { return newText(s, limit) })
	case *types.AttributeValueMemberNS:
		return buildSet("NS", v.Value, limit, left, func(s string) text { return newText(s, limit) })
	case *types.AttributeValueMemberBS:
		return buildSet("BS", v.Value, limit, left, func(b []byte) text { return binary(b, limit) })
	case *types.AttributeValueMemberL:
		if line, ok := numbers(v.Value); ok {
			return value{Kind: "L", Text: newText(line, limit)}
		}
		l := value{Kind: "L", Count: len(v.Value), Nested: true}
		for i, e := range v.Value {
			if *left--; *left < 0 {
				break
			}
			l.Members = append(l.Members, member{newText(fmt.Sprint(i), limit), build(e, limit, left, now)})
		}
		return l
	case *types.AttributeValueMemberM:
		m := value{Kind: "M", Count: len(v.Value), Nested: true}
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			if *left--; *left < 0 {
				break
			}
			m.Members = append(m.Members, member{newText(name, shortText), build(v.Value[name], limit, left, now)})
		}
		return m
	}
	return value{Kind: "?", Text: newText("a type that this program does not know", limit)}
}

func buildSet[T any](kind string, all []T, limit int, left *int, show func(T) text) value {
	s := value{Kind: kind, Count: len(all)}
	for _, e := range all {
		if *left--; *left < 0 {
			break
		}
		s.Members = append(s.Members, member{Value: value{Kind: kind[:1], Text: show(e)}})
	}
	return s
}

// binary returns bytes as base64.
func binary(b []byte, limit int) text {
	if whole := base64.StdEncoding.EncodedLen(len(b)); whole <= limit {
		return newText(base64.StdEncoding.EncodeToString(b), limit)
	}
	t := newText(base64.StdEncoding.EncodeToString(b[:limit/4*3]), limit)
	t.Bytes = len(b)
	return t
}

// Hidden returns how many members are not shown.
func (v value) Hidden() int { return v.Count - len(v.Members) }

// summary returns a value in one line, for lists of items.
func summary(v types.AttributeValue, now time.Time) value {
	s := newValue(v, shortText, now)
	if s.Members == nil && s.Count == 0 && !s.Nested {
		return s
	}
	short := value{Kind: s.Kind, Count: s.Count}
	switch s.Kind {
	case "M":
		short.Text = newText(fmt.Sprintf("{%d}", s.Count), shortText)
	case "L":
		short.Text = newText(fmt.Sprintf("[%d]", s.Count), shortText)
	default:
		var all []string
		for _, m := range s.Members {
			if len(all) == 4 {
				all = append(all, "…")
				break
			}
			all = append(all, m.Value.Text.String())
		}
		short.Text = newText("{"+strings.Join(all, ", ")+"}", shortText)
	}
	return short
}

// value returns the value of an attribute, with the time that a number stands for.
func (s *state) value(name string, v types.AttributeValue, limit int, now time.Time) value {
	return s.dated(name, v, newValue(v, limit, now), now)
}

// summary returns the value of an attribute in one line.
func (s *state) summary(name string, v types.AttributeValue, now time.Time) value {
	return s.dated(name, v, summary(v, now), now)
}

func (s *state) dated(name string, v types.AttributeValue, shown value, now time.Time) value {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return shown
	}
	at, ok := telling.TimeOfNumber(name, n.Value)
	if name == s.schema.TTLAttribute {
		at, ok = expiring.Time(n.Value)
	}
	if ok {
		m := newMoment(at, now)
		shown.When, shown.Date = &m, m.Full
	}
	return shown
}

// attribute is an attribute of an item.
type attribute struct {
	Name  text
	Value value
	// Counts are the types of the entities that the attribute is known to count.
	Counts []chip
}

// expiryOf returns when the item expires, or nil if it does not.
func expiryOf(item table.Item, ttl string, now time.Time) *expiry {
	at, ok := expiring.Of(item, ttl)
	if !ok {
		return nil
	}
	return &expiry{moment: newMoment(at, now), Expired: !at.After(now), Far: at.Sub(now) > farAhead}
}
