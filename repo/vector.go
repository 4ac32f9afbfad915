package repo

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// The vector of an entity is a field of T, and its main item alone has it: a copy would be
// in the vector index, too. So a copy is less than the entity, and a value that was read
// through one is marked as a part, as are the values that a search finds.

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
		for _, name := range []string{spec.Type, spec.TTL} {
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
			case a.Name == "", a.Name == spec.PK, a.Name == spec.SK, a.Name == spec.Type, slices.Contains(e.mainIndexAttributes(spec), a.Name):
			case slices.Contains(fields, a.Name):
				if problem := checkPart(e.typ, a); problem != "" {
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

// withoutVectors returns the changes of a copy: without those of vectors. An older release
// may have given the copy one.
func (c *core) withoutVectors(d diff) diff {
	if len(c.schema.Vectors) == 0 {
		return d
	}
	d = diff{set: maps.Clone(d.set), remove: slices.Clone(d.remove)}
	for _, x := range c.schema.Vectors {
		delete(d.set, x.Attribute)
		if c.hasVector(x) || slices.Contains(d.remove, x.Partition.Name) {
			d = d.without(x.Attribute)
		}
	}
	return d
}

// hasVector reports whether the entity is in a vector index.
func (c *core) hasVector(x schema.VectorIndex) bool {
	return slices.ContainsFunc(c.vectors, func(of schema.VectorIndex) bool { return of.Name == x.Name })
}

// without returns the changes with the removal of an attribute.
func (d diff) without(attribute string) diff {
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
			d = d.without(x.Attribute)
		case set && stored[partition] != nil:
			d.set = maps.Clone(d.set) // copies may share it
			d.set[partition] = stored[partition]
		}
	}
	return d
}

// isCopy reports whether a value was made of a copy: it was read under another key than
// those that the entity gives its main item, now or formerly. v may be of another type than T.
func (c *core) isCopy(v any, stored func() map[string]types.AttributeValue, pk, sk string) bool {
	if reflect.TypeOf(v) != reflect.PointerTo(c.entity.typ) {
		var err error
		if v, err = c.decodeStored(stored()); err != nil {
			return false
		}
	}
	key := keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}
	return key != c.entity.Key(v) && !slices.Contains(keysBy(c.entity.FormerKeys, v), key)
}

// Search finds the entities whose vectors are nearest to one, the nearest first: see
// [table.SearchVectors]. The vector is a field of T, a []float32 or []float64, under the
// attribute of a vector index of the schema.
//
// The values are parts of entities, since DynamoDB leaves the vector out: see
// [Repo.Project]. Read the whole ones by their keys, or use [Repo.Update]. An entity without
// a Version is [table.ErrInvalid]: a Put of its part would remove the vector. If it is only read, search its
// [Repo.View] with package table. An upgrade gets
// an item without its vector, too; one that writes an attribute that a search asks for is
// refused.
//
// A copy that an earlier release has stored with the vector is dropped, if the search returns
// all other attributes: without them its key is not known.
//
// Seen: nubo-db/dynamodb-conformance, vectorSearch/search.test.ts.
func (r *Repo[T]) Search(ctx context.Context, s table.Search) ([]table.Match[T], table.Stats, error) {
	c := &r.core
	whole, err := c.checkSearch(s)
	if err != nil {
		return nil, table.Stats{}, c.fail("Search", keys.Key{}, err)
	}
	matches, stats, err := table.SearchVectors[T](ctx, c.reads, s)
	if err != nil || !whole || len(c.items) == 1 && len(c.entity.FormerCopies) == 0 {
		return matches, stats, err
	}
	matches = slices.DeleteFunc(matches, func(m table.Match[T]) bool { return c.isOldCopy(&m.Item, m.Key) })
	stats.Items = len(matches)
	return matches, stats, nil
}

// checkSearch reports a search that would tell or find something wrong, and otherwise whether
// it returns all attributes but the vector.
func (c *core) checkSearch(s table.Search) (whole bool, err error) {
	i := slices.IndexFunc(c.schema.Vectors, func(x schema.VectorIndex) bool { return x.Name == s.Index })
	if i < 0 {
		return false, nil // as package table will say
	}
	x := c.schema.Vectors[i]
	switch {
	case !c.hasVector(x):
		return false, fmt.Errorf("%w: Index: %w", table.ErrInvalid, c.unknown(x.Attribute))
	case c.counter == unversioned:
		return false, fmt.Errorf("%w: %q needs a Version for this, or a Put of what is found would remove the vector; table.SearchVectors takes the View of any entity", errInvalidEntity, c.entity.Type)
	case x.Partition.Name != "" && c.checkName(x.Partition.Name) != nil:
		return false, fmt.Errorf("%w: Partition: %w", table.ErrInvalid, c.checkName(x.Partition.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Filter)) {
		if err := c.checkName(name); err != nil {
			return false, fmt.Errorf("%w: Filter: %w", table.ErrInvalid, err)
		}
	}
	project := s.Project
	if len(project) == 0 {
		project = c.project
	}
	return len(project) == 0 && x.Projection == types.ProjectionTypeAll, c.checkQuery(table.Query{Project: project})
}

// isOldCopy reports whether the item of a value is a copy.
func (c *core) isOldCopy(v any, key keys.Key) bool {
	all := c.keysOf(v)
	return key != all[0] && (slices.Contains(all[1:], key) || slices.Contains(keysBy(c.entity.FormerCopies, v), key))
}
