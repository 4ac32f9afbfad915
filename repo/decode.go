package repo

import (
	"fmt"
	"slices"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Decode makes an entity of an item that was read elsewhere, such as an image in a
// stream or a line of an export, by the rules of reads: an item of an older shape is
// upgraded. main is true for the item under [Entity].Key, and false for a copy, former or
// present. The expiry is not looked at. A copy of an entity with a vector is less than the
// entity: then v is the zero value.
//
// item is whole: a write of a value that was made of less removes the rest.
//
// Errors:
//   - [table.ErrInvalid], if a value in the item is nil.
//   - [table.ErrWrongType], [table.ErrNewerShape] and [ErrUpgrade].
//   - [ErrOrphan], if no key of the entity leads to the item.
//   - The error of attributevalue, if the item does not fit T.
func (r *Repo[T]) Decode(item table.Item) (v T, main bool, err error) {
	c := &r.core
	key := c.table.KeyOf("", item)
	found, kind, err := c.identify(key, item)
	if err != nil {
		return v, false, c.fail("Decode", key, err)
	}
	main = kind == mainItem
	if !main && len(c.vectors) > 0 {
		return v, false, nil
	}
	return *found.v.(*T), main, nil
}

// UniqueKeys returns the keys of [Shared].Unique that a stored item gives, expired or not. It reads
// nothing. Package backfill checks them for a whole table.
//
// Errors: [table.ErrInvalid], if the entity has no Unique, and those of [Repo.Decode].
func (r *Repo[T]) UniqueKeys(item table.Item) ([]keys.Key, error) {
	if r.core.entity.shared.Unique == nil {
		return nil, r.core.fail("UniqueKeys", keys.Key{}, fmt.Errorf("%w: %q has no Shared.Unique", table.ErrInvalid, r.core.entity.Type))
	}
	v, _, err := r.Decode(item)
	if err != nil {
		return nil, err
	}
	return r.core.uniqueOf(&v), nil
}

// Changes returns the names of the attributes in which two values of the entity
// differ, in order. The version, which every write changes, is not one of them, nor are
// [Entity].Counted, which change without one. Sets
// are equal if they have the same elements. A value that does not encode is
// [table.ErrInvalid].
func (r *Repo[T]) Changes(before, after T) ([]string, error) {
	return r.core.changes(&before, &after)
}

func (c *core) changes(before, after any) ([]string, error) {
	changes, err := compare(before, after)
	if err != nil {
		return nil, c.fail("Changes", keys.Key{}, err)
	}
	var names []string
	for _, change := range changes {
		// Of a plain value that differs, Before is not given.
		if change.Name != c.entity.Version && !slices.Contains(c.entity.Counted, change.Name) && (change.Before == nil || !item.EqualUnordered(change.Before, change.After)) {
			names = append(names, change.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
