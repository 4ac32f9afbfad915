package table

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
)

// Search asks for the items of a vector index whose vectors are nearest to one. It is a
// plain value; Index and Near have no default, and neither has Partition if the index has
// one.
type Search struct {
	// Index is the vector index: see [schema.VectorIndex].
	Index string
	// Near is the vector to compare with. It has as many numbers as the index has
	// dimensions, all of them finite.
	Near []float32
	// Top is how many items to find, 100 at most. Zero means 10.
	Top int
	// Partition is the value of the attribute that divides the index. A number is written as
	// plain decimal text (12.5), a binary value as its bytes.
	Partition string
	// Filter are the values that attributes must have, by their names, written as Partition
	// is. They are among the index's Filters.
	Filter map[string]string
	// Project names the attributes to return; all that the index holds by default, except for
	// the vector. Keys, type, expiry, and what the search is for are always returned.
	Project []string
}

// Match is an item that a search has found.
type Match[T any] struct {
	Item T
	// Key is the item's key in the table.
	Key keys.Key
	// Score says how near it is, by the distance function of the index: COSINE from 0, the
	// same direction, to 2; EUCLIDEAN from 0. For DOT_PRODUCT a greater score is nearer.
	Score float64
}

const (
	defaultTop = 10
	maxTop     = 100
)

// SearchVectors finds the items whose vectors are nearest to one, the nearest first. Which
// they are is approximate, and a write is found after a moment: vector indexes have no
// consistent reads, and no pages.
//
// Items that have expired, of another type than the view's ([Table.OfType]), or with
// another value of Partition or Filter than was asked for are dropped, whatever DynamoDB
// says. So there can be fewer matches than there are in the index: Stats.Scanned is how many
// DynamoDB found.
//
// The values are less than the items, since DynamoDB leaves the vector out, and has 32 bits
// of each number if it is asked for. An index without the TTL attribute gives expired items,
// too.
//
// The client needs a SearchVectors method, as a *[dynamodb.Client] has. DAX has none. The
// permission is dynamodb:SearchVectors, to which conditions on keys do not apply. So nothing
// but the Partition of the search separates tenants.
//
// Errors: [ErrInvalid] and [keys.ErrInvalid], before anything is sent, and the SDK's. An
// index that is being filled takes no searches: see [schema.Table.Ensure].
//
// AWS: SearchVectors, Amazon DynamoDB API Reference.
func SearchVectors[T any](ctx context.Context, t *Table, s Search) ([]Match[T], Stats, error) {
	var values []T
	found, err := t.search(ctx, s, into(&values))
	if err != nil {
		return nil, found.stats, t.readError("SearchVectors", s.Index, keys.PK(s.Partition), err)
	}
	matches := make([]Match[T], len(values))
	for i, p := range found.places {
		matches[i] = Match[T]{values[i], p.at.key, found.scores[p.index]}
	}
	return matches, found.stats, nil
}

// found is what a search has found, without the values.
type found struct {
	places []place
	// scores are those of all results, also of those that were dropped.
	scores []float64
	stats  Stats
}

func (t *Table) search(ctx context.Context, s Search, items *items) (f found, err error) {
	x, err := t.searchedIndex(s.Index)
	if err != nil {
		return f, err
	}
	in, asked, err := t.searchInput(x, s)
	if err != nil {
		return f, err
	}
	e := extent{less: "Index", shapeless: !x.Holds(t.schema, t.schema.Shape)}
	if err := t.projectSearch(x, s, in, &e); err != nil {
		return f, err
	}
	if t.api.searchVectors == nil {
		return f, invalidSearch("Index", "the client has no SearchVectors")
	}
	items.placed, items.searched, items.required = true, true, asked
	if err := items.of(t).in("").setExtent(e); err != nil {
		return f, err
	}
	for _, k := range asked {
		items.watch(k.Name)
	}
	out, err := call(ctx, t, &request{operation: "SearchVectors", index: s.Index, items: items}, t.api.searchVectors, in)
	if err != nil {
		return f, err
	}
	for _, r := range out.SearchResults {
		f.scores = append(f.scores, r.Score)
	}
	f.places = items.places
	_, spent := consumption(out)
	f.stats = Stats{Items: len(f.places), Scanned: len(out.SearchResults), Requests: 1, VectorBytes: spent}
	for _, p := range f.places {
		if p.err != nil {
			return f, &itemError{p.at, p.err}
		}
	}
	return f, nil
}

func invalidSearch(field, format string, args ...any) error {
	return fmt.Errorf("%w search: %s: %w", ErrInvalid, field, fmt.Errorf(format, args...))
}

// searchedIndex returns the index of that name, which the view can search.
func (t *Table) searchedIndex(name string) (x schema.VectorIndex, err error) {
	x, ok := t.vectorIndex(name)
	if !ok {
		return x, invalidSearch("Index", "the schema has no vector index %q", name)
	}
	for _, v := range t.views {
		if len(v.Attributes) > 0 && x.Projection != types.ProjectionTypeAll || slices.Contains(v.Attributes, x.Attribute) {
			return x, invalidSearch("Index", "%q does not return all attributes, and upgrades need them", name)
		}
	}
	switch {
	case t.consistent:
		return x, invalidSearch("Index", "%q has no consistent reads", name)
	case t.ofType != "" && !x.Holds(t.schema, t.schema.TypeAttribute):
		return x, invalidSearch("Index", "%q does not hold the type attribute %q", name, t.schema.TypeAttribute)
	}
	return x, nil
}

// searchInput returns the request without its projection, and the values that every
// match must have.
func (t *Table) searchInput(x schema.VectorIndex, s Search) (in *dynamodb.SearchVectorsInput, asked []fixedKey, err error) {
	top := cmp.Or(s.Top, defaultTop)
	switch {
	case len(s.Near) != x.Dimensions:
		return nil, nil, invalidSearch("Near", "has %d numbers, and index %q has %d dimensions", len(s.Near), x.Name, x.Dimensions)
	case slices.ContainsFunc(s.Near, func(f float32) bool { return f != f || math.IsInf(float64(f), 0) }): //nolint:gocritic // NaN
		return nil, nil, invalidSearch("Near", "has a NaN or an infinity")
	case top < 1 || top > maxTop:
		return nil, nil, invalidSearch("Top", "%d is not 1 to %d", s.Top, maxTop)
	case x.Partition.Name == "" && s.Partition != "":
		return nil, nil, invalidSearch("Partition", "is given, and index %q has none", x.Name)
	}
	if x.Partition.Name != "" {
		asked = append(asked, fixedKey{x.Partition, s.Partition})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Filter)) {
		i := slices.IndexFunc(x.Filters, func(a schema.Attribute) bool { return a.Name == name })
		if i < 0 {
			return nil, nil, invalidSearch("Filter", "attribute %q is not among the Filters of index %q", name, x.Name)
		}
		asked = append(asked, fixedKey{x.Filters[i], s.Filter[name]})
	}
	in = &dynamodb.SearchVectorsInput{
		TableName: t.name, IndexName: aws.String(x.Name), TopK: aws.Int32(int32(top)), SearchVector: item.Vector(s.Near),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	var conditions []string
	for i, k := range asked {
		if err := checkPlain(k.Type, fmt.Sprintf("value of %q", k.Name), k.text, keys.MaxPK); err != nil {
			field := "Filter"
			if k.Name == x.Partition.Name {
				field = "Partition"
			}
			return nil, nil, invalidSearch(field, "%w", err)
		}
		name, value := "#s"+strconv.Itoa(i), ":s"+strconv.Itoa(i)
		conditions = append(conditions, name+" = "+value)
		if i == 0 {
			in.ExpressionAttributeNames, in.ExpressionAttributeValues = map[string]string{}, map[string]types.AttributeValue{}
		}
		in.ExpressionAttributeNames[name], in.ExpressionAttributeValues[value] = k.Name, k.value()
	}
	if len(conditions) > 0 {
		in.SearchConditionExpression = aws.String(strings.Join(conditions, " AND "))
	}
	return in, asked, nil
}

// projectSearch adds the projection to a request, or to what is kept of each item.
func (t *Table) projectSearch(x schema.VectorIndex, s Search, in *dynamodb.SearchVectorsInput, e *extent) (err error) {
	wanted := s.Project
	if len(wanted) == 0 {
		wanted = t.project
	}
	if len(wanted) == 0 {
		return nil
	}
	own := []string{t.schema.PK, t.schema.SK, t.schema.TypeAttribute, t.schema.TTLAttribute, t.schema.Shape, t.schema.ShapeFrom(), x.Partition.Name}
	for _, a := range x.Filters {
		own = append(own, a.Name)
	}
	names := map[string]string{}
	offers := func(attribute string) bool { return x.Holds(t.schema, attribute) }
	if in.ProjectionExpression, err = t.projected(x.Name, wanted, own, offers, names, e); err != nil {
		return invalidSearch("Project", "%w", err)
	}
	if in.ExpressionAttributeNames == nil && len(names) > 0 { // DynamoDB refuses an empty one
		in.ExpressionAttributeNames = names
	} else {
		maps.Copy(in.ExpressionAttributeNames, names)
	}
	return nil
}
