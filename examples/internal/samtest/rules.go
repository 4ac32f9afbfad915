package samtest

import (
	"maps"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Rule is what CloudFormation checks of parameters before it makes anything.
type Rule struct {
	Assertions []struct {
		Assert      yaml.Node `yaml:"Assert"`
		Description string    `yaml:"AssertDescription"`
	} `yaml:"Assertions"`
}

// Refused returns what the rules of a template say against parameters. One without a
// value has its default.
func Refused(tb testing.TB, t Template, parameters map[string]string) (why []string) {
	tb.Helper()
	values := map[string]string{}
	for name, p := range t.Parameters {
		values[name] = p.Default
	}
	for name, value := range parameters {
		if _, ok := values[name]; !ok {
			tb.Fatalf("there is no parameter %s", name)
		}
		values[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(t.Rules)) {
		for _, a := range t.Rules[name].Assertions {
			if !holds(tb, &a.Assert, values) {
				why = append(why, a.Description)
			}
		}
	}
	return why
}

// holds evaluates an assertion.
func holds(tb testing.TB, n *yaml.Node, values map[string]string) bool {
	tb.Helper()
	text := func(n *yaml.Node) string {
		if n.Tag != "!Ref" {
			return n.Value
		}
		value, ok := values[n.Value]
		if !ok {
			tb.Fatalf("line %d: there is no parameter %s", n.Line, n.Value)
		}
		return value
	}
	is := func(n *yaml.Node) bool { return holds(tb, n, values) }
	switch n.Tag {
	case "!Equals":
		return text(n.Content[0]) == text(n.Content[1])
	case "!Not":
		return !is(n.Content[0])
	case "!And":
		return !slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return !is(n) })
	case "!Or":
		return slices.ContainsFunc(n.Content, is)
	}
	tb.Fatalf("line %d: %s is not known here", n.Line, n.Tag)
	return false
}
