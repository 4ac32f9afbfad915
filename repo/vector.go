package repo

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// The vector of an entity is a field of T. A copy with it would be in the vector index, too,
// and one without it less than the entity. So an entity with a vector has no copies. Those
// that other releases have stored are without it, and no entity is made of them.

// vectorFields returns the attributes of a vector index: the vector, what divides the index, if
// anything does, and what filters it.
func vectorFields(x schema.VectorIndex) []schema.Attribute {
	parts := append([]schema.Attribute{{Name: x.Attribute}, x.Partition}, x.Filters...)
	return slices.DeleteFunc(parts, func(a schema.Attribute) bool { return a.Name == "" })
}

// vectorsOf returns the vector indexes of a schema that an entity is in.
func (e *description) vectorsOf(spec schema.Table) (all []schema.VectorIndex) {
	fields, known := item.Attributes(e.typ)
	for _, x := range spec.Vectors {
		if !known || slices.Contains(fields, x.Attribute) {
			all = append(all, x)
		}
	}
	return all
}

// vectorProblems adds why the entity cannot be in a vector index, or not be searched.
func (e *description) vectorProblems(p *problems, spec schema.Table, fields []string, known bool) {
	for _, x := range e.vectorsOf(spec) {
		//mutants:guard an entity with a vector has no copies | TestVectorsOfEntitiesAreValidated
		if len(e.Copies) > 0 {
			p.add("Copies: a %v has the vector of index %q, or can have it, and a copy would be without; let a Claim make a value unique, and name stored copies in FormerCopies",
				e.typ, x.Name)
		}
		for _, name := range []string{spec.TypeAttribute, spec.TTLAttribute} {
			if name != "" && !x.Holds(spec, name) {
				p.add("vector index %q: does not hold attribute %q, by which a search tells what it finds", x.Name, name)
			}
		}
		if !known {
			continue
		}
		if f, kind := item.FieldKind(e.typ, x.Attribute); kind != item.L && kind != 0 {
			p.add("vector index %q: attribute %q: a %v is not stored as a list of numbers", x.Name, x.Attribute, f)
		}
		for _, a := range append([]schema.Attribute{x.Partition}, x.Filters...) {
			switch {
			case a.Name == "", a.Name == spec.PK, a.Name == spec.SK, a.Name == spec.TypeAttribute, slices.Contains(e.mainIndexAttributes(spec), a.Name):
			case slices.Contains(fields, a.Name):
				if problem := checkIndexField(e.typ, a); problem != "" {
					p.add("vector index %q: attribute %q: %s", x.Name, a.Name, problem)
				}
			case a == x.Partition:
				p.add("vector index %q: %v has no attribute %q, which divides the index", x.Name, e.typ, a.Name)
			}
		}
	}
}

// mainIndexAttributes returns the key attributes of the indexes that the main item declares.
func (e *description) mainIndexAttributes(spec schema.Table) (names []string) {
	for _, x := range spec.Indexes {
		if _, declared := e.Indexes[x.Name]; declared {
			names = append(names, x.PK, x.SK)
		}
	}
	return names
}

// withoutVectors returns the changes of a copy: without those of vectors, which the main item
// has by another release.
func (c *core) withoutVectors(d diff) diff {
	for _, x := range c.schema.Vectors {
		if d.set[x.Attribute] != nil {
			d.set = maps.Clone(d.set)
			delete(d.set, x.Attribute)
		}
		if slices.Contains(d.remove, x.Partition.Name) { // as package table wants it
			d = d.removing(x.Attribute)
		}
	}
	return d
}

// removing returns the changes with the removal of an attribute.
func (d diff) removing(attribute string) diff {
	if !slices.Contains(d.remove, attribute) {
		d.remove = append(slices.Clone(d.remove), attribute)
	}
	return d
}

// withPartitions returns the changes of the main item as package table takes them: with the
// partition of each vector that they set, and with the vector of each partition that they
// remove. It is removed only if none is stored.
func (p *planner) withPartitions(d diff) diff {
	for _, x := range p.schema.Vectors {
		partition := x.Partition.Name
		set, removed := d.set[x.Attribute] != nil, slices.Contains(d.remove, partition)
		if partition == "" || partition == p.schema.PK || partition == p.schema.SK || set == removed || d.set[partition] != nil {
			continue
		}
		stored := p.was.raw.Attributes(func(n []byte) bool { return string(n) == partition || string(n) == x.Attribute })
		switch {
		case removed && stored[x.Attribute] == nil:
			d = d.removing(x.Attribute)
		case set && stored[partition] != nil:
			d.set = maps.Clone(d.set) // copies may share it
			d.set[partition] = stored[partition]
		}
	}
	return d
}

// checkMain refuses a value that was made of a copy, which another release has stored without
// the vector: a write of the value would remove the vector.
func (c *core) checkMain(v any, key keys.Key) error {
	if key == c.entity.Key(v) {
		return nil
	}
	return fmt.Errorf("%w: it is without the vector, so read the entity under its main key", ErrOrphan)
}

// Search finds the entities whose vectors are nearest to one, the nearest first: see
// [table.SearchVectors]. The vector is a field of T, a []float32 or []float64, under the
// attribute of a vector index of the schema.
//
// The index gives keys and scores, and [table.BatchGet] then reads the entities, whole, for
// their read units. Each is compared again with what was asked for, as it is stored by then:
// one that is missing, has expired, is of another type, or has another value of Partition or
// Filter is left out. So is a copy that another release has stored with the vector. The
// Score is that of the vector in the index.
//
// Stats.Items is the number of matches, and Stats.Scanned how many the index had; the other
// Stats are of all requests.
//
// Errors: those of [table.SearchVectors] and [table.BatchGet]; [table.ErrInvalid] for a
// Project: see [Repo.View] for searches of less. An item that does not decode, or is not
// read after all retries, fails the search.
//
// Seen: nubo-db/dynamodb-conformance, vectorSearch/search.test.ts.
func (r *Repo[T]) Search(ctx context.Context, s table.Search) ([]table.Match[T], table.Stats, error) {
	found, stats, err := r.core.search(ctx, s)
	if err != nil {
		return nil, stats, r.core.named("Search", keys.Key{}, err)
	}
	matches := make([]table.Match[T], len(found))
	for i, m := range found {
		matches[i] = table.Match[T]{Item: *m.Item.(*T), Key: m.Key, Score: m.Score}
	}
	return matches, stats, nil
}

// search returns pointers to what a search finds.
func (c *core) search(ctx context.Context, s table.Search) (matches []table.Match[any], stats table.Stats, err error) {
	asked, err := c.asked(s)
	if err != nil {
		return nil, stats, err
	}
	s.Project = []string{c.schema.PK}
	found, stats, err := table.SearchVectors[struct{}](ctx, c.reads.OfType(c.entity.Type), s)
	if err != nil {
		return nil, stats, err
	}
	all := make([]keys.Key, len(found))
	for i, m := range found {
		all[i] = m.Key
	}
	// There are 100 keys at most, so one request is sent at a time.
	counted := table.WithObserver(ctx, func(_ context.Context, e table.Event) {
		stats = stats.Add(table.Stats{Requests: 1, Capacity: e.Capacity})
	})
	items, err := table.BatchGet[table.Item](counted, c.reads.Reading(item.Reading{Views: []item.View{c.view}}), all)
	if err != nil {
		return nil, stats, err
	}
	for _, m := range found {
		attributes, there := items[m.Key]
		if !there || !hasAll(attributes, asked) {
			continue
		}
		v := c.entity.zero()
		if err := attributes.Decode(v); err != nil {
			return nil, stats, c.fail("Search", m.Key, err)
		}
		//mutants:guard a search finds no copy of another release | TestSearchesOfCopiesAndOfLess | c.checkMain(v, m.Key) == nil => true
		if c.checkMain(v, m.Key) == nil {
			matches = append(matches, table.Match[any]{Item: v, Key: m.Key, Score: m.Score})
		}
	}
	stats.Items = len(matches)
	return matches, stats, nil
}

// askedValue is a value that an attribute must have, as text.
type askedValue struct {
	schema.Attribute
	text string
}

// hasAll reports whether an item has all values that were asked for.
func hasAll(attributes table.Item, asked []askedValue) bool {
	return !slices.ContainsFunc(asked, func(a askedValue) bool {
		p := item.ValueOf(attributes[a.Name])
		return !p.Kind.Holds(p.Text+string(p.Bytes), string(a.Type), a.text)
	})
}

// asked returns the values that the matches of a search must have, and reports a search that
// would find something wrong.
func (c *core) asked(s table.Search) (asked []askedValue, err error) {
	i := slices.IndexFunc(c.schema.Vectors, func(x schema.VectorIndex) bool { return x.Name == s.Index })
	if i < 0 {
		return nil, nil // as package table will say
	}
	x := c.schema.Vectors[i]
	switch {
	case !slices.ContainsFunc(c.vectors, func(of schema.VectorIndex) bool { return of.Name == x.Name }):
		return nil, fmt.Errorf("%w: Index: %w", table.ErrInvalid, c.unknown(x.Attribute))
	case len(s.Project) > 0:
		return nil, fmt.Errorf("%w: Project: a repository reads whole entities; search its View by package table for less", table.ErrInvalid)
	}
	//mutants:guard a search drops what has another type by then | TestSearchComparesWithWhatItReads | c.entity.Type}} => c.entity.Type}}[:0]
	asked = []askedValue{{schema.Attribute{Name: c.schema.TypeAttribute, Type: types.ScalarAttributeTypeS}, c.entity.Type}}
	if x.Partition.Name != "" {
		if err := c.checkName(x.Partition.Name); err != nil {
			return nil, fmt.Errorf("%w: Partition: %w", table.ErrInvalid, err)
		}
		//mutants:guard a search compares the tenant with what it reads | TestSearchComparesWithWhatItReads
		asked = append(asked, askedValue{x.Partition, s.Partition})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Filter)) {
		if err := c.checkName(name); err != nil {
			return nil, fmt.Errorf("%w: Filter: %w", table.ErrInvalid, err)
		}
		if i := slices.IndexFunc(x.Filters, func(a schema.Attribute) bool { return a.Name == name }); i >= 0 {
			asked = append(asked, askedValue{x.Filters[i], s.Filter[name]})
		}
	}
	return asked, nil
}
