package tablemodel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// segment is a part of a pattern, and stands for the segment of a key.
type segment struct {
	// constant means that the segment is raw, as it is stored.
	constant bool
	raw      string
	// before and after are the text around what varies, as they are stored.
	before, after string
	// attribute is the name of the attribute that the segment is made of; empty if
	// it is not known.
	attribute string
	form      string
}

// isUnknown reports whether nothing says what the segment is made of.
func (s segment) isUnknown() bool { return !s.constant && s.attribute == "" }

// The forms of an attribute in a key. Any other is a width.
const (
	formPlain      = ""
	formTime       = "time"
	formTimeMillis = "time-ms"
	formLower      = "lower"
	formRaw        = "raw"
)

// braced writes text in a pattern.
func braced(text string) string {
	if !strings.ContainsAny(text, "{}") {
		return text
	}
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
}

// String returns the segment as it is written in a pattern. number is that of a
// segment that is not known.
func (s segment) String(number int) string {
	if s.constant {
		return braced(s.raw)
	}
	name := s.attribute
	if name == "" {
		name = strconv.Itoa(number)
	}
	if s.form != formPlain {
		name += ":" + s.form
	}
	return braced(s.before) + "{" + name + "}" + braced(s.after)
}

// parsePattern takes a pattern apart.
func parsePattern(pattern string) ([]segment, error) {
	if pattern == "" {
		return nil, errors.New("is empty")
	}
	segments := make([]segment, 0, 1+strings.Count(pattern, delimiter))
	for text := range strings.SplitSeq(pattern, delimiter) {
		s, err := parseSegment(text)
		if err != nil {
			return nil, err
		}
		segments = append(segments, s)
	}
	return segments, nil
}

func parseSegment(text string) (segment, error) {
	before, rest := cutText(text)
	if rest == "" {
		return segment{constant: true, raw: before}, nil
	}
	inside, end, closed := strings.Cut(rest[1:], "}")
	after, more := cutText(end)
	name, form, formed := strings.Cut(inside, ":")
	switch {
	case rest[0] == '}' || more != "" || !closed && before != "":
		return segment{}, fmt.Errorf("segment %q has a single brace, or more than one attribute; text is written with {{ and }}", text)
	case closed && name != "" && !formed && digits(name):
		return segment{before: before, after: after}, nil
	case !closed || !nameable(name):
		return segment{}, fmt.Errorf("segment %q is not the name of an attribute in braces", text)
	case formed && !slices.Contains([]string{formTime, formTimeMillis, formLower, formRaw}, form) && width(form) == 0:
		return segment{}, fmt.Errorf("segment %q has a form that is neither a width of 1 to 20 nor time, time-ms, lower or raw", text)
	}
	return segment{before: before, after: after, attribute: name, form: form}, nil
}

// cutText returns the text up to a single brace, with {{ and }} as one, and the rest.
func cutText(s string) (text, rest string) {
	var b strings.Builder // which most patterns do not need
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 || i+1 == len(s) || s[i+1] != s[i] {
			if i < 0 {
				i = len(s)
			}
			if b.Len() == 0 {
				return s[:i], s[i:]
			}
			return b.String() + s[:i], s[i:]
		}
		b.WriteString(s[:i+1])
		s = s[i+2:]
	}
}

// nameable reports whether a pattern can name the attribute.
func nameable(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsAny(name, "{}#:") && !digits(name)
}

// digits reports whether a text is nothing but decimal digits.
func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// width returns the width that a form names, 0 for another form.
func width(form string) int {
	const widest = 20 // of keys.Int
	n, err := strconv.Atoi(form)
	if err != nil || n < 1 || n > widest || strconv.Itoa(n) != form {
		return 0
	}
	return n
}

// like reports whether the segment of a key has the form of s.
func (s segment) like(text string) bool {
	if s.constant {
		return s.raw == text
	}
	text, begins := strings.CutPrefix(text, s.before)
	text, ends := strings.CutSuffix(text, s.after)
	switch {
	case !begins || !ends:
		return false
	case s.form == formTime || s.form == formTimeMillis:
		return isTime(text)
	case s.form == formLower:
		return keys.JSLower(text) == text
	case s.form == formPlain || s.form == formRaw:
		return true
	}
	return len(text) == width(s.form) && digits(text)
}

// text returns the segment of a key that is made of the item's attribute. The
// attribute is missing if it is empty, too.
func (s segment) text(attributes table.Item) (text string, missing bool, err error) {
	text, missing, err = s.value(attributes)
	if err != nil || missing {
		return "", missing, err
	}
	return s.before + text + s.after, false, nil
}

// value returns what the attribute is in the segment.
func (s segment) value(attributes table.Item) (text string, missing bool, err error) {
	wrong := func(is string) (string, bool, error) {
		return "", false, fmt.Errorf("attribute %q is %s", s.attribute, is)
	}
	p := item.ValueOf(attributes[s.attribute])
	of, number := p.Text, p.Kind == item.N
	unescaped := s.form == formLower || s.form == formRaw
	switch {
	case p.Kind == 0 || p.Kind == item.NULL:
		return "", true, nil
	case p.Kind == item.B && s.form == formPlain:
		// It is a binary key attribute, which is not escaped.
		return string(p.Bytes), len(p.Bytes) == 0, nil
	case p.Kind == item.B:
		return wrong("binary")
	case p.Kind == item.BOOL && unescaped:
		return strconv.FormatBool(p.Bool), false, nil
	case p.Kind != item.S && !number:
		return wrong("no string, number or binary value")
	}
	var made string
	switch {
	case of == "":
		return "", true, nil
	case unescaped:
		made = unescapedText(of, number, s.form == formLower)
		//mutants:guard a value with a '#' makes no key of a pattern that does not escape it | TestKeysOfAnEntity | delimiter => delimiter+delimiter
		if strings.Contains(made, delimiter) {
			return wrong("a text with a '#', which the form does not escape")
		}
	case s.form == formPlain:
		made = keys.Str(of).String()
	case s.form == formTime && !number:
		at, err := time.Parse(time.RFC3339Nano, of)
		if err != nil {
			return wrong("not a time of RFC 3339")
		}
		made = keys.Time(at).String()
	case !number:
		return wrong("a string and no number")
	default:
		segment, err := numberSegment(of, s.form)
		if err != nil {
			return wrong("not a whole number that fits")
		}
		made = segment.String()
	}
	// Package keys writes what a key cannot hold as text that is not UTF-8.
	if !utf8.ValidString(made) {
		return wrong("a value that a key cannot hold")
	}
	return made, false, nil
}

// unescapedText writes a text as it is, or in lower case, and a number, as programs in
// JavaScript do.
func unescapedText(of string, number, lower bool) string {
	if number {
		n, _ := strconv.ParseFloat(of, 64) // It is infinite if it is too great.
		of = keys.JSNumber(n)
	}
	if lower {
		return keys.JSLower(of)
	}
	return of
}

// numberSegment writes a number attribute in a form other than the plain one.
func numberSegment(of, form string) (keys.Segment, error) {
	if w := width(form); w > 0 {
		n, err := strconv.ParseUint(of, 10, 64)
		return keys.Int(n, w), err
	}
	n, err := strconv.ParseInt(of, 10, 64)
	if form == formTimeMillis {
		return keys.Time(time.UnixMilli(n)), err
	}
	return keys.Time(time.Unix(n, 0)), err
}

// isTime reports whether a segment is one that keys.Time writes.
func isTime(text string) bool {
	_, err := keys.Parts{text}.Time(0)
	return err == nil
}

// format makes a key of a pattern and the attributes of an item. missing is an
// attribute that the item lacks.
func format(pattern string, item table.Item) (key, missing string, err error) {
	segments, err := parsePattern(pattern)
	if err != nil {
		return "", "", err
	}
	texts := make([]string, len(segments))
	for i, s := range segments {
		switch {
		case s.constant:
			texts[i] = s.raw
		case s.attribute == "":
			return "", "", fmt.Errorf("the pattern %q does not say of which attribute segment %d is made", pattern, i)
		default:
			text, lacks, err := s.text(item)
			if err != nil {
				return "", "", err
			}
			if lacks {
				return "", s.attribute, nil
			}
			texts[i] = text
		}
	}
	return strings.Join(texts, delimiter), "", nil
}

// segmentsOf returns the segments of a key attribute, as they are stored. A number
// and a binary value are one segment.
func segmentsOf(v types.AttributeValue) ([]string, bool) {
	p := item.ValueOf(v)
	if p.Kind == item.S {
		return strings.Split(p.Text, delimiter), p.Text != ""
	}
	text := p.Text + string(p.Bytes)
	return []string{text}, text != ""
}
