package view

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// vectorFacts are those of a vector index.
type vectorFacts struct {
	Name, Href string
	// Attribute holds the vector, of so many Numbers.
	Attribute, Numbers string
	Distance           string
	Partition, Filters string // "" if it has none
	Kind               string
	Count              string // of items and bytes
	Last               *past  // the last search, nil if there was none
}

// distances are the distance functions, and what their scores say.
var distances = map[types.VectorDistanceFunction]struct{ name, scores string }{
	"":                                     {"cosine", "0 is the same direction, and 2 the opposite one"},
	types.VectorDistanceFunctionCosine:     {"cosine", "0 is the same direction, and 2 the opposite one"},
	types.VectorDistanceFunctionEuclidean:  {"Euclidean", "0 is the same place"},
	types.VectorDistanceFunctionDotProduct: {"dot product", "a greater score is nearer"},
}

// vectors returns the facts about the vector indexes.
func (s *state) vectors() []vectorFacts {
	var all []vectorFacts
	for _, x := range s.schema.Vectors {
		f := vectorFacts{
			Name: x.Name, Href: s.root.address(s.schema.Name, "similar", "index", x.Name),
			Attribute: x.Attribute, Numbers: quantity.Of(x.Dimensions, "number"), Distance: distances[x.Distance].name,
			Filters: names(x.Filters), Kind: holds(x.Projection, x.Include),
		}
		if x.Projection == "" || x.Projection == types.ProjectionTypeAll {
			f.Kind = "all attributes but the vector"
		}
		if x.Partition.Name != "" {
			f.Partition = names([]schema.Attribute{x.Partition})
		}
		if last := s.recent.of("similar", x.Name, ""); len(last) > 0 {
			f.Last = &last[0]
		}
		for _, d := range s.live.VectorIndexes {
			if aws.ToString(d.IndexName) != x.Name {
				continue
			}
			f.Count = s.counts(d.ItemCount, d.IndexSizeBytes, func(item table.Item) bool { return vectorMissing(x, item) == "" })
			switch {
			case aws.ToBool(d.Backfilling):
				f.Kind += ", being filled"
			case d.IndexStatus != types.IndexStatusActive:
				f.Kind += ", " + string(d.IndexStatus)
			}
		}
		all = append(all, f)
	}
	return all
}

// vectorMissing says why an item is not in a vector index, "" if it is.
func vectorMissing(x schema.VectorIndex, item table.Item) string {
	list, ok := item[x.Attribute].(*types.AttributeValueMemberL)
	var why []string
	switch {
	case item[x.Attribute] == nil:
		why = append(why, "it lacks "+x.Attribute)
	case !ok || len(list.Value) != x.Dimensions:
		why = append(why, fmt.Sprintf("%s is not a list of %s", x.Attribute, quantity.Of(x.Dimensions, "number")))
	}
	if x.Partition.Name != "" && len(missing(item, []schema.Attribute{x.Partition})) > 0 {
		why = append(why, "it lacks "+x.Partition.Name)
	}
	return strings.Join(why, ", ")
}

// vectorPlace is the place of an item in a vector index, or why it is in none.
type vectorPlace struct {
	Title   string
	Missing string
	Vector  string
	// Partition has the attribute and the value that divide the index, nil if none do.
	Partition *attribute
	Similar   string // the address of a search near the item
}

// vectorPlaces returns where an item is in the vector indexes, and the names of those whose
// vector it lacks.
func (s *state) vectorPlaces(v *visit, item table.Item) (all []vectorPlace, outside []string) {
	for _, x := range s.schema.Vectors {
		if item[x.Attribute] == nil {
			outside = append(outside, x.Name)
			continue
		}
		p := vectorPlace{Title: x.Name, Missing: vectorMissing(x, item)}
		if p.Missing == "" {
			p.Vector = fmt.Sprintf("%s in %s", quantity.Of(x.Dimensions, "number"), x.Attribute)
			p.Similar = s.itemAddress("similar", s.table.KeyOf("", item), "index", x.Name)
		}
		if x.Partition.Name != "" && p.Missing == "" {
			p.Partition = &attribute{Name: newText(x.Partition.Name, shortText), Value: s.summary(x.Partition.Name, item[x.Partition.Name], v.now)}
		}
		all = append(all, p)
	}
	return all, outside
}
