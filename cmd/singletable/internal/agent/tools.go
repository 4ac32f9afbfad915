package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table/tablemodel"
)

// tool is one that a client can call.
type tool struct {
	name, does string
	inputs     []input
	run        func(context.Context, arguments) (result, error)
}

// input is a member of a tool's arguments.
type input struct {
	name, does string
	required   bool
	number     bool
	choices    []string
}

// maxArgument bounds a text, in bytes: no key is longer.
const maxArgument = keys.MaxPK

// arguments are checked: each is an input of the tool, and of its type.
type arguments map[string]string

// inputSchema returns the JSON Schema of the arguments.
func (t tool) inputSchema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, in := range t.inputs {
		p := map[string]any{"type": "string", "description": in.does, "maxLength": maxArgument}
		if in.number {
			p = map[string]any{"type": "integer", "minimum": 1, "description": in.does}
		}
		if in.choices != nil {
			p["enum"] = in.choices
		}
		properties[in.name] = p
		if in.required {
			required = append(required, in.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// tools returns all tools.
func (s *server) tools() []tool {
	all := []tool{
		{"describe_table", "Lists the entities of the table with the patterns of their keys, the indexes, and what a call may read. It reads nothing.", nil, s.describe},
	}
	// A key that is asked for as it is stored would tell whether a guess of a hidden attribute
	// is right.
	if len(s.scope.hidden) == 0 {
		all = append(all, s.keyTools()...)
	}
	for _, e := range s.model.Entities {
		for n, p := range e.Items {
			all = append(all, s.patternTools(e, n, p)...)
		}
	}
	taken := map[string]bool{}
	for i := range all {
		begin := shortened(all[i].name)
		name := begin
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", begin, n)
		}
		taken[name], all[i].name = true, name
	}
	return all
}

// keyTools are the tools for keys as they are stored. Binary keys are no text.
func (s *server) keyTools() (all []tool) {
	places := s.places()
	if _, ok := places[""]; ok {
		all = append(all, tool{"get_item", "Reads one item by its key in the table.", s.keyInputs(), s.getItem})
	}
	indexes := slices.DeleteFunc(slices.Sorted(maps.Keys(places)), func(name string) bool { return name == "" })
	var index []input
	if len(indexes) > 0 {
		index = []input{{name: "index", does: "name of the index; the table itself by default", choices: indexes}}
	}
	return append(all, tool{
		"list_items", "Reads the items of one partition of the table or an index, in the order of their sort keys.", slices.Concat(index, []input{
			{name: "pk", does: "partition key, as it is stored", required: true},
			{name: "sk_begins_with", does: "how the sort keys begin, if they are texts"},
		}, pageInputs()), s.listItems,
	})
}

// shortened bounds the name of a tool; clients allow 64 characters, and it may get a number.
func shortened(name string) string { return name[:min(len(name), 58)] }

func pageInputs() []input {
	return []input{
		{name: "newest_first", does: "the greatest sort key first", choices: []string{"true", "false"}},
		{name: "limit", does: "how many items at most", number: true},
		{name: "cursor", does: "the next of an earlier page of the same list"},
	}
}

func (s *server) keyInputs() []input {
	all := []input{{name: "pk", does: "partition key, as it is stored", required: true}}
	if !s.model.SimpleKey {
		all = append(all, input{name: "sk", does: "sort key, as it is stored", required: true})
	}
	return all
}

// places returns where lists are read: the table under "", and indexes by their names, with
// the type of the sort key. An index without the type and the expiry of its items cannot tell
// what is in the scope, and binary keys are no text.
func (s *server) places() map[string]types.ScalarAttributeType {
	all := map[string]types.ScalarAttributeType{}
	add := func(name string, pk, sk types.ScalarAttributeType) {
		if pk != types.ScalarAttributeTypeB && sk != types.ScalarAttributeTypeB {
			all[name] = sk
		}
	}
	add("", s.model.PKType, s.model.SKType)
	for _, x := range s.model.Indexes {
		partition, sort := x.Keys()
		held := []string{s.model.PK, s.model.SK, ""}
		for _, a := range slices.Concat(partition, sort) {
			held = append(held, a.Name)
		}
		held = append(held, x.Include...)
		tells := x.Projection == types.ProjectionTypeAll || slices.Contains(held, s.model.Type) && slices.Contains(held, s.model.TTL)
		if tells && x.PKs == nil {
			add(x.Name, x.PKType, x.SKType)
		}
	}
	return all
}

// patternTools returns the tools for the nth item of an entity: one that gets it by all
// attributes of its key, and one for each partition that lists it. Text that varies and is no
// attribute cannot be asked for, and what is hidden neither.
func (s *server) patternTools(e tablemodel.Entity, n int, p tablemodel.Pattern) (all []tool) {
	proof := ""
	if len(s.scope.hidden) > 0 { // see [server.has]
		proof = " It finds items that have all attributes of the key."
	}
	if s.askable(p.PK) && s.askable(p.SK) {
		of := "The entity " + e.Type
		if n > 0 {
			of += ", by a copy"
		}
		names := inOrder(placeholders(p.PK), placeholders(p.SK))
		all = append(all, tool{
			"get_" + word(e.Type) + by(names), fmt.Sprintf("%s: reads the item under %s.%s", of, shown(p), proof), attributeInputs(names),
			func(ctx context.Context, a arguments) (result, error) {
				return s.getBy(ctx, asked{entity: e.Type, pattern: p}, a)
			},
		})
	}
	patterns := map[string]tablemodel.Pattern{"": p}
	maps.Copy(patterns, p.Indexes)
	places := s.places()
	for _, index := range slices.Sorted(maps.Keys(patterns)) {
		l := asked{entity: e.Type, index: index, pattern: patterns[index]}
		sort, ok := places[index]
		if !ok || !s.askable(l.pattern.PK) || !s.provable(l.pattern.SK) || l.pattern.SK == "" || len(placeholders(l.pattern.SK)) == 0 && index == "" {
			continue
		}
		names := placeholders(l.pattern.PK)
		where := "the table"
		if index != "" {
			where = "index " + index
		}
		inputs := attributeInputs(names)
		if first, _ := l.ranged(); first != "" && sort == types.ScalarAttributeTypeS && !slices.Contains(s.scope.hidden, first) {
			inputs = append(inputs,
				input{name: "from", does: "least " + first + " in the sort key, or how it begins; a time is as in 2024-01-15T10:05"},
				input{name: "to", does: "greatest " + first + ", or how it begins"})
		}
		all = append(all, tool{
			"list_" + word(e.Type) + by(names) + inIndex(index), fmt.Sprintf("The entity %s: lists those under %s, in %s.%s", e.Type, shown(l.pattern), where, proof),
			slices.Concat(inputs, pageInputs()),
			func(ctx context.Context, a arguments) (result, error) { return s.list(ctx, l, a) },
		})
	}
	return all
}

// askable reports whether every segment of a pattern is a constant, or an attribute that is
// shown.
func (s *server) askable(pattern string) bool {
	return !s.scope.hides(pattern) && !slices.ContainsFunc(placeholders(pattern), func(name string) bool {
		return strings.Trim(name, "0123456789") == ""
	})
}

// provable reports whether it can be seen that a key is of a pattern, which matters with a
// hidden attribute: see [server.has].
func (s *server) provable(pattern string) bool {
	return len(s.scope.hidden) == 0 || !slices.ContainsFunc(placeholders(pattern), isNumber)
}

func attributeInputs(names []string) (all []input) {
	for _, name := range names {
		all = append(all, input{name: argumentOf(name), does: "attribute of the key", required: true})
	}
	return all
}

// argumentOf returns the argument for an attribute. Some names are those of other arguments.
func argumentOf(attribute string) string {
	if slices.Contains([]string{"from", "to", "newest_first", "limit", "cursor"}, attribute) {
		return "attribute_" + attribute
	}
	return attribute
}

// inOrder returns the names, each once.
func inOrder(lists ...[]string) (all []string) {
	for _, name := range slices.Concat(lists...) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

func shown(p tablemodel.Pattern) string { return strings.TrimSuffix(p.PK+" / "+p.SK, " / ") }

func by(names []string) string {
	if len(names) == 0 {
		return ""
	}
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = word(name)
	}
	return "_by_" + strings.Join(words, "_")
}

func inIndex(name string) string {
	if name == "" {
		return ""
	}
	return "_in_" + word(name)
}

// word returns a name in the characters that names of tools have.
func word(name string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name), "_")
}
