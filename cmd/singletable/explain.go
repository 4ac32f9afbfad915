package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/singletable/singletable/cmd/singletable/internal/shell"
	"github.com/singletable/singletable/keys"
)

const explainHelp = `Usage: singletable explain [flags] KEY
       singletable explain [flags] PK SK

Explain takes a key apart: its segments with the escapes undone, what could be a
time or a number, its length against DynamoDB's limits, and what is wrong with it.
A key alone may be a partition or a sort key. Put a key that begins with - after --.

A key is valid if DynamoDB can store it. A note tells when the builders of package
keys would not write it: then another program stored it so, or it was written as
a string, with keys.Raw or keys.LabelPrefix. Another note guesses which library has
made a key of its form: ElectroDB, or OneTable and TypeDORM for unique values.

Segments do not record their origin: a time or a number is one possible reading.

Exit codes: 0 the key is valid, 1 it is not, 2 wrong usage.

Examples:

  singletable explain USER#u-123 'TX#2024-01-15T10:05:00.000Z#tx-abc'
  singletable explain 'TEAM#a%23b'
  singletable explain -json USER#
`

// explained is the output of explain.
type explained struct {
	Valid bool   `json:"valid"`
	Parts []part `json:"parts"`
}

// part is a partition key, a sort key, or one of the two.
type part struct {
	Part     string    `json:"part"`
	Key      string    `json:"key"`
	Bytes    int       `json:"bytes"`
	Limit    int       `json:"limit"`
	Valid    bool      `json:"valid"`
	Problem  string    `json:"problem,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
	Segments []segment `json:"segments,omitempty"`
}

// segment is one segment of a key.
type segment struct {
	Stored  string     `json:"stored"`
	Text    string     `json:"text"`
	Means   string     `json:"means,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Number  *int64     `json:"number,omitempty"`
	Note    string     `json:"note,omitempty"`
	Problem string     `json:"problem,omitempty"`
}

func (p *program) explain(_ context.Context, args []string) error {
	fs, asJSON := flags("explain")
	rest, err := p.parse(fs, explainHelp, args, takes{1, 2, "a key, or a partition key and a sort key"})
	if err != nil {
		return err
	}
	var out explained
	if len(rest) == 1 {
		out.Parts = []part{explainKey(rest[0])}
	} else {
		out.Parts = []part{explainPK(rest[0]), explainSK(rest[1])}
	}
	out.Valid = true
	for _, part := range out.Parts {
		out.Valid = out.Valid && part.Valid
	}
	return p.printResult(out, out.text(p.zone), *asJSON, out.Valid)
}

func explainKey(key string) part {
	e := newPart("key", key, keys.MaxPK, keys.PK(key).Validate())
	if len(key) > keys.MaxSK && e.Valid {
		e.Notes = append(e.Notes, fmt.Sprintf("too long for a sort key, which may have %d bytes", keys.MaxSK))
	}
	return e
}

func explainPK(pk string) part {
	return newPart("partition key", pk, keys.MaxPK, keys.PK(pk).Validate())
}

func explainSK(sk string) part {
	e := newPart("sort key", sk, keys.MaxSK, keys.SK(sk).Validate())
	if sk == "" {
		e.Notes = append(e.Notes, "empty, as in a table or an index without sort key")
	}
	return e
}

func newPart(name, key string, limit int, invalid error) part {
	e := part{Part: name, Key: key, Bytes: len(key), Limit: limit, Valid: invalid == nil, Problem: rule(invalid)}
	if key == "" {
		return e
	}
	foreign := false
	for i, stored := range strings.Split(key, "#") {
		s := newSegment(stored)
		if i == 0 {
			s.Means = beginnings[s.Text]
		}
		foreign = foreign || s.Note == noteForeign || s.Note == noteEmpty
		e.Segments = append(e.Segments, s)
	}
	if whose := guess(key); whose != "" && e.Valid {
		e.Notes = append(e.Notes, "a guess by its form: "+whose)
	}
	if foreign && e.Valid {
		e.Notes = append(e.Notes, "valid, but not as the builders of package keys write keys: stored so by another program, written as a string, or built with keys.Raw or keys.LabelPrefix")
	}
	return e
}

// forms are those of keys that other libraries make.
var forms = []struct {
	of    *regexp.Regexp
	whose string
}{
	{regexp.MustCompile(`^\$[^#]+(#[^#]+_[^#]*)+$`), "ElectroDB makes such keys of a service or an entity, then labels and values, in lower case by default. keys.LabelPrefix builds them"},
	{regexp.MustCompile(`^\$[^#]+_[^#_]+$`), "ElectroDB makes such sort keys of an entity and the version of its model. keys.LabelPrefix builds them"},
	{regexp.MustCompile(`^_unique#.`), "OneTable keeps a unique value under such a key, _unique#Model#attribute#value. The item names no owner"},
	{regexp.MustCompile(`^_unique#$`), "OneTable gives this sort key to unique values"},
	{regexp.MustCompile(`^DRM_GEN_`), "TypeDORM keeps a unique value under such a key, DRM_GEN_ENTITY.ATTRIBUTE#value. The item names no owner"},
}

// guess says which library may have made a key.
func guess(key string) string {
	for _, f := range forms {
		if f.of.MatchString(key) {
			return f.whose
		}
	}
	return ""
}

// beginnings are the first segments that package keys has names for.
var beginnings = map[string]string{
	string(keys.User):     "prefix keys.User",
	string(keys.Tx):       "prefix keys.Tx",
	string(keys.Notif):    "prefix keys.Notif",
	string(keys.Ide):      "prefix keys.Ide",
	string(keys.Profile):  "sort key keys.Profile",
	string(keys.Metadata): "sort key keys.Metadata",
}

const (
	noteForeign = "not escaped as package keys does it"
	noteEmpty   = "empty: package keys writes no empty segment"
)

func newSegment(stored string) segment {
	s := segment{Stored: stored, Text: stored}
	if stored == "" {
		s.Note = noteEmpty
		return s
	}
	parts, err := keys.Parse(stored)
	if err != nil {
		if len(stored) > keys.MaxPK {
			return s // That is a fault of the key.
		}
		if keys.PK(stored).Validate() == nil {
			s.Note = noteForeign
		} else {
			s.Problem = rule(err)
		}
		return s
	}
	s.Text = parts[0]
	if t, err := parts.Time(0); err == nil {
		s.Time = &t
	} else if t, err := time.Parse(time.RFC3339, s.Text); err == nil {
		s.Note = "a time, but not as keys.Time writes it, " + keys.Time(t).String() + ": the two do not sort together"
	}
	if n, err := parts.Int(0); err == nil {
		s.Number = &n
	}
	return s
}

// noteEscapes says how package keys writes keys under which nothing was found, if it writes
// them in another way: a person types an id as it is, and it is stored with escapes.
func (p *program) noteEscapes(typed []string) {
	for _, key := range typed {
		if guess(key) != "" {
			continue // The library that makes such keys does not escape them.
		}
		segments := strings.Split(key, "#")
		for i, segment := range segments {
			if newSegment(segment).Note == noteForeign {
				segments[i] = string(keys.None.SK(keys.Str(segment)))
			}
		}
		if written := strings.Join(segments, "#"); written != key {
			fmt.Fprintf(p.stderr, "Package keys writes %s as %s\n", shell.Quote(key), shell.Quote(written))
		}
	}
}

// rule returns the rule that a key breaks.
func rule(err error) string {
	if e, ok := errors.AsType[*keys.Error](err); ok {
		return e.Rule
	}
	return ""
}

func (e explained) text(zone *time.Location) string {
	var b strings.Builder
	for i, part := range e.Parts {
		if i > 0 {
			b.WriteString("\n")
		}
		part.write(&b, zone)
	}
	return b.String()
}

func (e part) write(b *strings.Builder, zone *time.Location) {
	verdict := "valid"
	if !e.Valid {
		verdict = "INVALID: " + e.Problem
	}
	fmt.Fprintf(b, "%s %s\n%s, %d of at most %d bytes\n", e.Part, printable(e.Key), verdict, e.Bytes, e.Limit)
	width := 0
	for _, s := range e.Segments {
		width = max(width, utf8.RuneCountInString(printable(s.Text)))
	}
	for i, s := range e.Segments {
		line := fmt.Sprintf("  %d  %-*s  %s", i, width, printable(s.Text), strings.Join(s.remarks(i, zone), "; "))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, note := range e.Notes {
		fmt.Fprintf(b, "note: %s\n", note)
	}
}

// remarks returns what there is to say of segment i.
func (s segment) remarks(i int, zone *time.Location) []string {
	var all []string
	if s.Problem != "" {
		all = append(all, "INVALID: "+s.Problem)
	}
	if s.Text != s.Stored {
		all = append(all, "stored as "+printable(s.Stored))
	}
	switch {
	case s.Means != "":
		all = append(all, s.Means)
	case i == 0 && s.Time == nil && s.Note == "" && s.Problem == "":
		all = append(all, "prefix")
	}
	if s.Time != nil {
		const layout = "Mon 2 Jan 2006 15:04:05.000 MST"
		text := "time: " + s.Time.Format(layout)
		if local := s.Time.In(zone); local.Format("-07:00") != "+00:00" {
			text += ", here " + local.Format(layout)
		}
		all = append(all, text)
	}
	if s.Number != nil {
		all = append(all, fmt.Sprintf("number: %d, %d digits wide", *s.Number, len(s.Text)))
	}
	if s.Note != "" {
		all = append(all, s.Note)
	}
	return all
}
