package repo

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// saveCopy plans the ith item, a copy, which may be under another key.
func (p *planner) saveCopy(i int) error {
	from, to := p.was.keys[i], p.keys[i]
	var moved table.Item
	if p.unread != nil && from != to && to != (keys.Key{}) {
		return p.errMoves(p.items[i].Name)
	}
	if from != to {
		var err error
		if moved, err = p.leave(i); err != nil {
			return err
		}
	}
	copied, read := p.old.seen[to]
	switch {
	case to == keys.Key{}:
		return nil
	case !read && p.old.doubts[to]:
		p.need = append(p.need, to)
		return nil
	case !read && from == to:
		return p.presume(i)
	case copied != nil:
		return p.bring(i, copied)
	}
	p.differs = true
	made := p.copyOf(i, moved)
	p.steps = append(p.steps, step{verb: create, key: to, name: p.items[i].Name, made: made})
	return made.Err
}

// leave plans that the ith item, a copy, is removed under its old key, and returns it. It is
// read if it has attributes to take along.
func (p *planner) leave(i int) (table.Item, error) {
	from, name := p.was.keys[i], p.items[i].Name
	copied, read := p.old.seen[from]
	ours, err := p.isOurs(from, name, copied)
	switch {
	case from == keys.Key{}:
	case !read && (p.readsAll || p.old.doubts[from] || p.keys[i] != keys.Key{}):
		p.need = append(p.need, from)
	case !read:
		p.steps = append(p.steps, step{verb: remove, key: from, name: name, held: p.was.stamp, gone: true, like: p.like})
	case ours:
		p.steps = append(p.steps, step{verb: remove, key: from, name: name + " (old key)", held: p.stampOf(copied), gone: true})
		return copied, nil
	}
	return nil, err
}

// presume plans a change of the ith item, a copy that was not read, as if it was as the main
// item says.
func (p *planner) presume(i int) error {
	to := p.keys[i]
	d, err := p.withIndexes(i, to, p.v, p.withoutVectors(p.fields), nil, false)
	if err != nil {
		return err
	}
	if p.readsAll {
		p.need = append(p.need, to)
		return nil
	}
	return p.patch(i, step{key: to, name: p.items[i].Name, held: p.was.stamp, like: p.like}, d, nil)
}

var errTaken = fmt.Errorf("%w: the key of the copy is another entity's", table.ErrExists)

// bring plans that the item under the key of the ith one, a copy, becomes as it is wished. An
// item of another entity is not touched.
func (p *planner) bring(i int, copied table.Item) error {
	to, name := p.keys[i], p.items[i].Name
	ours, err := p.isOurs(to, name, copied)
	switch {
	case err != nil:
		return err
	//mutants:guard an item of another entity is not overwritten by a copy | TestDefaultEngine/^Adoption$ ./suites/conformance
	case !ours:
		return p.failedAt(to, name, errTaken)
	}
	made := p.copyOf(i, copied)
	if made.Err != nil {
		return made.Err
	}
	for _, name := range p.entity.Counted {
		//mutants:guard a copy that is the main item of another release keeps its number | TestOwnersKeepNumbers
		if n := copied[name]; n != nil {
			made.Item[name] = n
		}
	}
	held := p.stampOf(copied)
	d := p.difference(copied, made.Item)
	p.differs = p.differs || !d.empty() || held != p.was.stamp
	return p.patch(i, step{key: to, name: name, held: held}, p.withoutVectors(d), new(item.RawOf(copied)))
}

// copyOf makes the ith item, a copy, of the main item. The copy keeps its own keys of
// indexes that this release does not know. If it holds the revision of the main item, it
// keeps all that T does not know.
func (p *planner) copyOf(i int, own table.Item) item.Made {
	attributes := p.fields.apply(p.was.raw)
	for _, name := range p.entity.Counted {
		delete(attributes, name) // the number belongs to the main item's key
	}
	keeps := p.onlyMain
	switch {
	case own != nil && !p.known: // T may have any attribute
		//mutants:guard the copy of a map keeps index keys of other releases | TestMapsKeepIndexKeysOfOtherReleases | keepsIndexKey => isUnknown
		keeps = p.keepsIndexKey
	//mutants:guard a copy of another revision becomes as its main item | TestPlans | && p.stampOf(own) == p.was.stamp =>
	case own != nil && p.stampOf(own) == p.was.stamp:
		keeps = p.isUnknown
	}
	maps.DeleteFunc(attributes, keeps)
	for name, value := range own {
		if keeps(name, value) {
			attributes[name] = value
		}
	}
	return p.whole(i, p.keys[i], p.v, attributes, p.becomes)
}

// isUnknown reports whether T, the repository and upgrades do not have an attribute.
func (c *core) isUnknown(name string, _ types.AttributeValue) bool {
	_, own := c.own[name]
	_, respelled := c.respelled(name)
	return c.known && !own && !respelled
}

// onlyMain reports whether an attribute is a key of an index, which another release
// has given the main item. T does not have it, so copies must not: a query of the
// index would return the entity twice.
func (c *core) onlyMain(name string, value types.AttributeValue) bool {
	return slices.Contains(c.indexKeyNames, name) && c.isUnknown(name, value)
}

// keepsIndexKey reports whether an attribute of a copy stays as it is, although T may have
// it: it is a key of an index that another release declares, and the write does not change it.
func (p *planner) keepsIndexKey(name string, _ types.AttributeValue) bool {
	_, set := p.fields.set[name]
	return slices.Contains(p.indexKeyNames, name) && !slices.Contains(p.indexAttributes, name) &&
		!set && !slices.Contains(p.fields.remove, name)
}

// difference returns what makes an item another one under its key, except for its stamp.
func (c *core) difference(from, to table.Item) diff {
	d := diff{set: table.Item{}}
	skip := func(name string) bool {
		//mutants:guard a copy loses the note of upgrades that are no longer compatible | TestPlans | c.shapes.derives() && =>
		return name == c.schema.PK || name == c.schema.SK || name == c.entity.Version || c.shapes.derives() && name == c.shapes.at
	}
	for name, value := range to {
		if !skip(name) && !item.EqualUnordered(from[name], value) {
			d.set[name] = value
		}
	}
	for name := range from {
		if _, has := to[name]; !has && !skip(name) {
			d.remove = append(d.remove, name)
		}
	}
	slices.Sort(d.remove)
	return d
}
