package agent

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
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

// outputSchema is that of a [structured] result. It comes with each tool, so it is short.
var outputSchema = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"data":      map[string]any{"type": "string"},
		"items":     map[string]any{"type": "integer"},
		"next":      map[string]any{"type": "string"},
		"stopped":   map[string]any{"type": "string"},
		"readUnits": map[string]any{"type": "number"},
	},
	"required": []string{"data", "items", "readUnits"},
}

// tools returns all tools.
func (s *server) tools() []tool {
	all := []tool{
		{"describe_table", "Lists the entities of the table with the patterns of their keys, the indexes, and what a call may read. It reads nothing.", nil, s.describe},
		{"explain_key", "Takes a key apart: its segments, the times in it, and which entities have such keys. It reads nothing.", []input{
			{name: "pk", does: "partition key, " + asStored, required: true},
			{name: "sk", does: "sort key, " + asStored},
		}, s.explain},
	}
	if s.isWhole {
		all = append(all, tool{"check_design", "Lists faults in the design of the table's keys and indexes, with what to do about each. It reads nothing.", nil, s.checkDesign})
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
		begin := all[i].name[:min(len(all[i].name), 58)] // of 64 characters that clients allow
		name := begin
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", begin, n)
		}
		taken[name], all[i].name = true, name
	}
	return all
}

// keyTools are the tools for keys as they are stored.
func (s *server) keyTools() []tool {
	inputs := []input{{name: "pk", does: "partition key, " + asStored, required: true}}
	one := inputs
	if !s.model.SimpleKey {
		one = append(one, input{name: "sk", does: "sort key, " + asStored, required: true})
	}
	indexes := slices.DeleteFunc(slices.Sorted(maps.Keys(s.places())), func(name string) bool { return name == "" })
	if len(indexes) > 0 {
		inputs = append(inputs, input{name: "index", does: "name of the index; the table itself by default", choices: indexes})
	}
	inputs = append(inputs, input{name: "sk_begins_with", does: "how the sort keys begin, if they are texts"})
	return []tool{
		{"get_item", "Reads one item by its key in the table.", one, s.getItem},
		{
			"list_items", "Reads the items of one partition of the table or an index, in the order of their sort keys.",
			append(inputs, pageInputs...), s.listItems,
		},
	}
}

// asStored says how a key is written.
const asStored = "as it is stored; base64 if it is binary"

var pageInputs = []input{
	{name: "newest_first", does: "the greatest sort key first", choices: []string{"true", "false"}},
	{name: "limit", does: "how many items at most", number: true},
	{name: "cursor", does: "the next of an earlier page of the same list"},
}

// places returns where lists are read: the table under "", and indexes by their names. An index
// without the type and the expiry of its items cannot tell what is in the scope.
func (s *server) places() map[string]keyTypes {
	all := map[string]keyTypes{"": {s.model.PKType, s.model.SKType}}
	for _, x := range s.model.Indexes {
		partition, sort := x.Keys()
		held := []string{s.model.PK, s.model.SK, ""}
		for _, a := range slices.Concat(partition, sort) {
			held = append(held, a.Name)
		}
		held = append(held, x.Include...)
		without := func(name string) bool { return !slices.Contains(held, name) }
		tells := x.Projection == types.ProjectionTypeAll || !slices.ContainsFunc(s.telling(), without)
		if tells && x.PKs == nil {
			all[x.Name] = s.typesOf(x)
		}
	}
	return all
}

// telling returns the attributes that tell the type and the expiry of an item in the scope, apart
// from its key.
func (s *server) telling() []string {
	all := []string{s.model.TTLAttribute}
	for _, k := range s.model.Kinds { // also of others: an item of theirs can have a type attribute
		all = append(slices.AppendSeq(all, maps.Keys(k.Equal)), k.Exists...)
	}
	if s.hasTypeAttribute() {
		all = append(all, s.model.TypeAttribute)
	}
	return all
}

// hasTypeAttribute reports whether items in the scope have a type attribute. Those of kinds have
// none.
func (s *server) hasTypeAttribute() bool {
	return slices.ContainsFunc(s.model.Entities, func(e tablemodel.Entity) bool { return s.model.KindOf(e.Type) == nil })
}

// patternTools returns the tools for the nth item of an entity: one that gets it by all
// attributes of its key, and one for each partition that lists it. Text that varies and is no
// attribute cannot be asked for, and what is hidden neither.
func (s *server) patternTools(e tablemodel.Entity, n int, p tablemodel.Pattern) (all []tool) {
	of, proof := "The entity "+e.Type, ""
	if n > 0 {
		of += ", by a copy"
	}
	if len(s.scope.hidden) > 0 { // see [server.has]
		proof = " It finds items that have all attributes of the key."
	}
	if !s.scope.hides(p.PK) && !s.scope.hides(p.SK) {
		names := pattern.Names(p.PK)
		for _, name := range pattern.Names(p.SK) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		all = append(all, tool{
			toolName("get", e.Type, names, ""), fmt.Sprintf("%s: reads the item under %s.%s", of, shown(p), proof), s.attributeInputs(asked{pattern: p}, names),
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
		names, sorted := pattern.Names(l.pattern.PK), pattern.Names(l.pattern.SK)
		switch place, ok := places[index]; {
		case !ok, s.scope.hides(l.pattern.PK), l.pattern.SK == "", len(sorted) == 0 && index == "":
		case len(s.scope.hidden) > 0 && slices.ContainsFunc(sorted, pattern.IsNumber): // it cannot be seen that a key is of it
		default:
			inputs := s.attributeInputs(l, names)
			if _, first := l.begin(); first.Name != "" && place.sk == types.ScalarAttributeTypeS && !s.scope.hides(first.Braces()) {
				inputs = append(inputs,
					input{name: "from", does: "least " + first.Name + " in the sort key, or how it begins; a time is as in 2024-01-15T10:05"},
					input{name: "to", does: "greatest " + first.Name + ", or how it begins"})
			}
			where := "the table"
			if index != "" {
				where = "index " + index
			}
			all = append(all, tool{
				toolName("list", e.Type, names, index), fmt.Sprintf("The entity %s: lists those under %s, in %s.%s", e.Type, shown(l.pattern), where, proof),
				append(inputs, pageInputs...),
				func(ctx context.Context, a arguments) (result, error) { return s.list(ctx, l, a) },
			})
		}
	}
	return all
}

func (s *server) attributeInputs(of asked, names []string) (all []input) {
	kinds := s.kindsIn(of)
	for _, name := range names {
		does := "attribute of the key"
		if kinds[name] == types.ScalarAttributeTypeB {
			does += ", in base64"
		}
		all = append(all, input{name: argumentOf(name), does: does, required: true})
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

func shown(p tablemodel.Pattern) string { return strings.TrimSuffix(p.PK+" / "+p.SK, " / ") }

// toolName returns the name of a tool, in the characters that names of tools have.
func toolName(does, entity string, by []string, index string) string {
	name := does + "_" + entity
	if len(by) > 0 {
		name += "_by_" + strings.Join(by, "_")
	}
	if index != "" {
		name += "_in_" + index
	}
	return notInNames.ReplaceAllString(name, "_")
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]`)
