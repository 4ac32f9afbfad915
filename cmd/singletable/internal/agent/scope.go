package agent

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
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
	kind := s.model.TypeOf(item)
	if kind == "" || !slices.ContainsFunc(s.model.Entities, func(e tablemodel.Entity) bool { return e.Type == kind }) {
		return "", false
	}
	return kind, s.admitsPartition(key.PK)
}

// admitsPartition reports whether a partition of the table is in the scope.
func (s scope) admitsPartition(pk keys.PK) bool {
	return len(s.partitions) == 0 || slices.ContainsFunc(s.partitions, func(p string) bool {
		return string(pk) == p || s.model.PKType == types.ScalarAttributeTypeS && strings.HasPrefix(string(pk), p+"#")
	})
}

// visible returns the attributes of an item in the scope that are shown: without those that
// are hidden, and without a key that is not known to be made of visible ones.
func (s scope) visible(item table.Item) table.Item {
	if len(s.hidden) == 0 {
		return item
	}
	isKey, known := map[string]bool{}, map[string]bool{}
	at := func(place, pk, sk string) {
		isKey[pk], isKey[sk] = true, true
		for _, p := range s.patternsOf(item, place) {
			known[pk] = known[pk] || s.makes(p.PK, item, pk)
			known[sk] = known[sk] || s.makes(p.SK, item, sk)
		}
	}
	at("", s.model.PK, s.model.SK)
	for _, x := range s.model.Indexes {
		if x.PKs == nil { // which are attributes of their own
			at(x.Name, x.PK, x.SK)
		}
	}
	shown := table.Item{}
	for name, value := range item {
		if !slices.Contains(s.hidden, name) && (!isKey[name] || known[name]) {
			shown[name] = value
		}
	}
	return shown
}

// patternsOf returns the patterns that keys of the item's entity have in a place.
func (s scope) patternsOf(item table.Item, place string) (all []tablemodel.Pattern) {
	kind := s.model.TypeOf(item)
	for _, e := range s.model.Entities {
		if e.Type != kind {
			continue
		}
		for _, p := range e.Items {
			if place == "" {
				all = append(all, p)
			} else if in, ok := p.Indexes[place]; ok {
				all = append(all, in)
			}
		}
	}
	return all
}

// makes reports whether a pattern of visible attributes makes the key that an item has.
func (s scope) makes(pattern string, item table.Item, attribute string) bool {
	key := made(pattern, item)
	return key != "" && !s.hides(pattern) && key == textOf(item[attribute])
}

// madeBy reports whether a key of an item is made by a pattern.
func madeBy(p tablemodel.Pattern, item table.Item, key keys.Key) bool {
	return made(p.PK, item) == string(key.PK) && made(p.SK, item) == string(key.SK)
}

// made returns what a pattern makes of an item, "" if it cannot.
func made(pattern string, item table.Item) string {
	if pattern == "" {
		return ""
	}
	all, err := tablemodel.Entity{Items: []tablemodel.Pattern{{PK: pattern}}}.Keys(item)
	if err != nil {
		return ""
	}
	return string(all[0].PK)
}

func textOf(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// hides reports whether a pattern has an attribute that is hidden, or text that could be of
// one: {1} is text that is no attribute that the pattern names.
func (s scope) hides(of string) bool {
	return slices.ContainsFunc(pattern.Names(of), func(name string) bool { return pattern.IsNumber(name) || slices.Contains(s.hidden, name) })
}
