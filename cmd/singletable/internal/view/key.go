package view

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// keyPart is the value of one key attribute, taken apart.
type keyPart struct {
	// Name is the attribute's name.
	Name string
	// Stored is the value as it is stored, readable.
	Stored string
	// Segments are those of a string. Another value is one segment.
	Segments []segment
	// Bytes is the length of the value if it is cut, 0 otherwise.
	Bytes int
}

// Differs reports whether the value is shown in another form than it is stored.
func (p keyPart) Differs() bool {
	return slices.ContainsFunc(p.Segments, func(s segment) bool { return s.Stored != "" })
}

// segment is one segment of a key, with escapes undone, and without the padding of a number.
type segment struct {
	Text   text
	Prefix bool   // It says what the key names.
	Stored string // as it is stored, if that differs
	When   *moment
	// Guess is the time of a number that looks like milliseconds since 1970.
	Guess string
}

// Title says what a segment does not show.
func (s segment) Title() string {
	switch {
	case s.Stored == "":
		return s.Guess
	case s.Guess == "":
		return "stored as " + s.Stored
	}
	return "stored as " + s.Stored + ", " + s.Guess
}

// longKey is the length in bytes to which keys are cut. It is that of the longest
// keys that DynamoDB stores.
const longKey = keys.MaxPK

// newKeyPart takes the value of a key attribute apart. The text of a number is
// decimal, that of a binary value its bytes.
func newKeyPart(a schema.Attribute, value string, now time.Time) keyPart {
	p := keyPart{Name: a.Name}
	switch a.Type {
	case types.ScalarAttributeTypeB:
		p.Stored = base64.StdEncoding.EncodeToString([]byte(value))
		p.Segments = []segment{{Text: newText(p.Stored, longKey)}}
		return p
	case types.ScalarAttributeTypeN:
		p.Stored = value
		p.Segments = []segment{{Text: newText(value, longKey)}}
		return p
	}
	if len(value) > longKey {
		p.Bytes = len(value)
		value = strings.ToValidUTF8(value[:longKey], "")
	}
	p.Stored = escaped(value)
	for i, stored := range strings.Split(value, "#") {
		p.Segments = append(p.Segments, newSegment(stored, i == 0, now))
	}
	return p
}

// padding is in front of a number of three digits or more, and keeps the order of keys. Two digits
// can be a month or an hour.
var padding = regexp.MustCompile(`^0+([1-9][0-9]*|0)$`)

// milliseconds are at the end of a text. A shorter number, of seconds, can be anything.
var milliseconds = regexp.MustCompile(`(?:^0*|_)([1-9][0-9]{12})$`)

func newSegment(stored string, first bool, now time.Time) segment {
	s := segment{Text: newText(stored, longKey)}
	parts, err := keys.Parse(stored)
	if err != nil {
		s.Prefix = first
		return s // Another program wrote it, and so it is shown as it is.
	}
	if parts[0] != stored {
		s.Text, s.Stored = newText(parts[0], longKey), escaped(stored)
	}
	if number := padding.FindStringSubmatch(parts[0]); number != nil && len(parts[0]) > 2 {
		s.Text, s.Stored = newText(number[1], longKey), escaped(stored)
	}
	if t, err := parts.Time(0); err == nil {
		m := newMoment(t, now)
		s.When = &m
	} else if t, err := time.Parse(time.RFC3339, parts[0]); err == nil {
		m := newMoment(t, now)
		s.When = &m
	}
	if ms := milliseconds.FindStringSubmatch(parts[0]); ms != nil {
		if t, ok := telling.TimeOfNumber("at", ms[1]); ok {
			s.Guess = "as a time: " + newMoment(t, now).Full
		}
	}
	s.Prefix = first && s.When == nil
	return s
}

// layout is the key attributes of a table or of an index.
type layout struct {
	Index           string // "" for the table
	Partition, Sort []schema.Attribute
	Local           bool
	composite       bool
}

// keys returns all key attributes.
func (l layout) keys() []schema.Attribute { return slices.Concat(l.Partition, l.Sort) }

// attributeNames returns the names of attributes.
func attributeNames(attributes []schema.Attribute) []string {
	var all []string
	for _, a := range attributes {
		all = append(all, a.Name)
	}
	return all
}

// layouts returns those of the table and of its indexes. The schema has all its
// defaults.
func layouts(s schema.Table) []layout {
	main := layout{Partition: []schema.Attribute{{Name: s.PK, Type: s.PKType}}}
	if !s.SimpleKey {
		main.Sort = []schema.Attribute{{Name: s.SK, Type: s.SKType}}
	}
	all := []layout{main}
	for _, x := range s.Indexes {
		l := layout{Index: x.Name, Local: x.Local, composite: len(x.PKs)+len(x.SKs) > 0}
		l.Partition, l.Sort = x.Keys()
		if x.Local {
			l.Partition = main.Partition
		}
		all = append(all, l)
	}
	return all
}

// values returns the values of the key attributes in an item: text, a decimal number,
// or bytes. It is not ok if the item lacks one of them, and so is not in the index.
func values(item table.Item, attributes []schema.Attribute) (all []string, ok bool) {
	for _, a := range attributes {
		switch v := item[a.Name].(type) {
		case *types.AttributeValueMemberS:
			if a.Type != types.ScalarAttributeTypeS {
				return nil, false
			}
			all = append(all, v.Value)
		case *types.AttributeValueMemberN:
			if a.Type != types.ScalarAttributeTypeN {
				return nil, false
			}
			all = append(all, v.Value)
		case *types.AttributeValueMemberB:
			if a.Type != types.ScalarAttributeTypeB {
				return nil, false
			}
			all = append(all, string(v.Value))
		default:
			return nil, false
		}
	}
	return all, true
}

// parts takes the values of key attributes apart.
func parts(attributes []schema.Attribute, values []string, now time.Time) []keyPart {
	var all []keyPart
	for i, a := range attributes {
		if i < len(values) {
			all = append(all, newKeyPart(a, values[i], now))
		}
	}
	return all
}

// keyParts takes the key of an item of the table apart.
func (s *state) keyParts(k keys.Key, now time.Time) []keyPart {
	return parts(s.layouts[0].keys(), []string{string(k.PK), string(k.SK)}, now)
}

// root is the path under which all pages are, such as "/ABC".
type root string

// address returns the address of a page of the table, with the parameters in pairs of
// name and value. Empty values are left out.
func (r root) address(table, page string, parameters ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			v.Add(parameters[i], parameters[i+1])
		}
	}
	a := string(r) + "/t/" + url.PathEscape(table)
	if page != "" {
		a += "/" + page
	}
	if len(v) > 0 {
		a += "?" + v.Encode()
	}
	return a
}

// partitionAddress returns the address of the page of a partition.
func (s *state) partitionAddress(l layout, pks []string, parameters ...string) string {
	return s.keyAddress("partition", l, pks, parameters...)
}

// keyAddress returns the address of a page about a partition.
func (s *state) keyAddress(page string, l layout, pks []string, parameters ...string) string {
	all := append([]string{"index", l.Index}, parameters...)
	for i, pk := range pks {
		all = append(all, "pk", toText(l.Partition[i], pk))
	}
	return s.root.address(s.schema.Name, page, all...)
}

// itemAddress returns the address of a page about an item.
func (s *state) itemAddress(page string, k keys.Key, parameters ...string) string {
	main := s.layouts[0]
	all := append([]string{"pk", toText(main.Partition[0], string(k.PK))}, parameters...)
	if len(main.Sort) > 0 {
		all = append(all, "sk", toText(main.Sort[0], string(k.SK)))
	}
	return s.root.address(s.schema.Name, page, all...)
}

// toText returns the value of a key attribute for addresses and forms, which hold no
// bytes: a binary value is written as base64.
func toText(a schema.Attribute, value string) string {
	if a.Type == types.ScalarAttributeTypeB {
		return base64.StdEncoding.EncodeToString([]byte(value))
	}
	return value
}

// fromText returns the values of key attributes in an address or a form.
func fromText(attributes []schema.Attribute, texts []string) ([]string, error) {
	all := slices.Clone(texts)
	for i, a := range attributes {
		if i < len(all) && a.Type == types.ScalarAttributeTypeB {
			b, err := base64.StdEncoding.DecodeString(all[i])
			if err != nil {
				return nil, fmt.Errorf("%w: %s is binary, and the value is not base64", table.ErrInvalid, a.Name)
			}
			all[i] = string(b)
		}
	}
	return all, nil
}
