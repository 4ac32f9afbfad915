package agent

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// scope says what is shown. It is asked about each item: a partition of an index can hold
// items of everybody.
type scope struct {
	model      tablemodel.Model // with the entities in the scope
	typeName   string
	partitions []string
	hidden     []string
}

// admits reports whether an item of the table is in the scope, and of which entity it is.
func (s scope) admits(item table.Item, key keys.Key) (entity string, ok bool) {
	kind, ok := item[s.typeName].(*types.AttributeValueMemberS)
	if !ok || !slices.ContainsFunc(s.model.Entities, func(e tablemodel.Entity) bool { return e.Type == kind.Value }) {
		return "", false
	}
	return kind.Value, s.admitsPartition(key.PK)
}

// admitsPartition reports whether a partition of the table is in the scope.
func (s scope) admitsPartition(pk keys.PK) bool {
	return len(s.partitions) == 0 || slices.ContainsFunc(s.partitions, func(p string) bool {
		return string(pk) == p || strings.HasPrefix(string(pk), p+"#")
	})
}

// visible returns the attributes of an item in the scope that are shown: without those that
// are hidden, and without the keys that are made of one. Of an item whose keys are like no
// pattern, nobody knows what its keys are made of.
func (s scope) visible(item table.Item) table.Item {
	if len(s.hidden) == 0 {
		return item
	}
	gone := slices.Clone(s.hidden)
	e, n, known := s.model.Find(item)
	pattern := tablemodel.Pattern{}
	if known {
		pattern = e.Items[n]
	}
	drop := func(text, attribute string) {
		if attribute != "" && (!known || s.hides(text)) {
			gone = append(gone, attribute)
		}
	}
	drop(pattern.PK, s.model.PK)
	drop(pattern.SK, s.model.SK)
	for _, x := range s.model.Indexes {
		in, ok := pattern.Indexes[x.Name]
		partition, sort := x.Keys()
		for i, a := range slices.Concat(partition, sort) {
			switch {
			case x.PKs != nil: // which are attributes of their own
			case !ok && a.Name != s.model.PK && a.Name != s.model.SK:
				gone = append(gone, a.Name)
			case i < len(partition):
				drop(in.PK, a.Name)
			default:
				drop(in.SK, a.Name)
			}
		}
	}
	shown := table.Item{}
	for name, value := range item {
		if !slices.Contains(gone, name) {
			shown[name] = value
		}
	}
	return shown
}

// hides reports whether a pattern has an attribute that is hidden, or text that could be of
// one: {1} is text that is no attribute as it is, such as a name in small letters.
func (s scope) hides(pattern string) bool {
	return len(s.hidden) > 0 && slices.ContainsFunc(placeholders(pattern), func(name string) bool {
		return isNumber(name) || slices.Contains(s.hidden, name)
	})
}

// placeholders returns the attributes of a pattern, in their order.
func placeholders(pattern string) (names []string) {
	for _, segment := range segments(pattern) {
		if name, is := attribute(segment); is {
			names = append(names, name)
		}
	}
	return names
}

func segments(pattern string) []string {
	if pattern == "" {
		return nil
	}
	return strings.Split(pattern, "#")
}

// attribute returns the name in a segment {name} or {name:form}.
func attribute(segment string) (name string, is bool) {
	if !strings.HasPrefix(segment, "{") || strings.HasPrefix(segment, "{{") {
		return "", false
	}
	name, _, _ = strings.Cut(strings.Trim(segment, "{}"), ":")
	return name, true
}

// constant returns the text of a segment that is no attribute.
func constant(segment string) string {
	return strings.NewReplacer("{{", "{", "}}", "}").Replace(segment)
}
