// Package pattern takes the patterns of keys in a schema file apart. Package tablemodel says what
// they are, and has checked them.
package pattern

import (
	"regexp"
	"strings"
)

// Segment is one of the segments of a pattern, between '#'.
type Segment struct {
	// Before and After are constant text, as it is stored. A segment without a Name is Before.
	Before, After string
	// Name is that of an attribute, or a number if it is not known of which.
	Name string
	// Form is how the attribute is written, such as time; "" for the plain form.
	Form string
}

var segment = regexp.MustCompile(`^((?:[^{}]|\{\{|\}\})*)(?:\{([^{}:]+)(?::([^{}]*))?\}((?:[^{}]|\{\{|\}\})*))?$`)

// Split returns the segments of a pattern.
func Split(pattern string) []Segment {
	var all []Segment
	for text := range strings.SplitSeq(pattern, "#") {
		of := segment.FindStringSubmatch(text)
		if of == nil {
			of = []string{text, text, "", "", ""} // A pattern that was not checked.
		}
		plain := strings.NewReplacer("{{", "{", "}}", "}")
		all = append(all, Segment{Before: plain.Replace(of[1]), Name: of[2], Form: of[3], After: plain.Replace(of[4])})
	}
	return all
}

// Names returns the names in braces, in their order, with numbers.
func Names(pattern string) []string {
	var names []string
	for _, s := range Split(pattern) {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// Constant reports whether the segment is text, which is Before.
func (s Segment) Constant() bool { return s.Name == "" }

// Unknown reports whether it is not known which attribute the segment is made of.
func (s Segment) Unknown() bool { return IsNumber(s.Name) }

// IsNumber reports whether a name in braces is a number, and no attribute.
func IsNumber(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

// Escapes reports whether package keys escapes the attribute. Otherwise it is a text, whatever
// it looks like.
func (s Segment) Escapes() bool { return s.Form != "lower" && s.Form != "raw" }

// Braces returns what varies as it is written in a pattern, such as {at:time}.
func (s Segment) Braces() string {
	if s.Form != "" {
		return "{" + s.Name + ":" + s.Form + "}"
	}
	return "{" + s.Name + "}"
}

// String returns the segment as it is written in a pattern.
func (s Segment) String() string {
	text := Text(s.Before)
	if s.Name != "" {
		text += s.Braces() + Text(s.After)
	}
	return text
}

// Text returns a text as it is written in a pattern.
func Text(text string) string { return strings.NewReplacer("{", "{{", "}", "}}").Replace(text) }

// Like reports whether the segment of a key has the constant text of this one.
func (s Segment) Like(text string) bool {
	if s.Constant() {
		return text == s.Before
	}
	return len(text) >= len(s.Before)+len(s.After) && strings.HasPrefix(text, s.Before) && strings.HasSuffix(text, s.After)
}
