package repotest

import (
	"maps"
	"slices"
	"strings"

	"github.com/singletable/singletable/repo"
)

const changing = "docs/change-your-table.md"

// entity compares two forms of an entity.
func (c *comparison) entity(was, is repo.Form) {
	switch {
	case is.Shape < was.Shape:
		c.breaks("%s: the program writes shape %d, and %d is stored: keep all Upgrades, and raise OldestShape by one for each that you delete", was.Type, is.Shape, was.Shape)
	case is.OldestShape > was.Shape:
		c.breaks("%s: OldestShape %d refuses the items of shape %d: release the Upgrades first, and backfill", was.Type, is.OldestShape, was.Shape)
	}
	guard := func(f repo.Form) string { return strings.TrimSpace(f.Version + " " + f.Attributes[f.Version]) }
	if was.Version != "" && guard(was) != guard(is) {
		c.breaks("%s: Version was %q and is %q: keep it, since earlier releases guard their writes by it", was.Type, guard(was), guard(is))
	}
	c.attributes(was, is)
	c.keys(was, is)
}

// attributes compares the attributes of T.
func (c *comparison) attributes(was, is repo.Form) {
	// An upgrade that the file does not have yet brings stored items to the new form.
	follows := func(path string) bool {
		return path == was.Version || path == is.Version || is.Upgraded[top(path)] > was.Shape
	}
	added := slices.DeleteFunc(slices.Sorted(maps.Keys(is.Attributes)), func(path string) bool { return was.Attributes[path] != "" })
	for _, path := range slices.Sorted(maps.Keys(was.Attributes)) {
		kind, now := was.Attributes[path], is.Attributes[path]
		switch name := top(path); {
		case kind == now:
		//mutants:guard a name or type of an attribute changes with an upgrade only | TestChangesNeedUpgrades ./repo/repotest | follows(path) => true
		case follows(path):
			c.fits("%s: attribute %s is changed by an upgrade", was.Type, path)
		case name != path && was.Attributes[name] == is.Attributes[name]:
			c.breaks("%s: %s was %s and is %s in attribute %s: add to Upgrades: repo.Convert(%q, %q, …), which makes the new value of the stored one",
				was.Type, path, kind, orGone(now), name, name, name)
		case name != path: // with the attribute
		case now != "":
			c.breaks("%s: attribute %s is %s now, and was %s: add to Upgrades: repo.Convert(%q, %q, …), or better, give it another name: %s#type-changed",
				was.Type, path, now, kind, path, path, changing)
		default:
			c.gone(was, path, slices.DeleteFunc(slices.Clone(added), func(path string) bool { return path != top(path) || follows(path) || is.Attributes[path] != kind }))
		}
	}
	for _, path := range added {
		if !follows(path) {
			c.fits("%s: attribute %s is new: earlier items are read with its zero value; if that is wrong, add to Upgrades: repo.Default(%q, …)", was.Type, path, top(path))
		}
	}
}

// top returns the attribute that a path begins with.
func top(path string) string {
	if i := strings.IndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return path
}

func orGone(kind string) string {
	if kind == "" {
		return "gone"
	}
	return kind
}

// gone says what to do for an attribute that T has no more. Those in added are new, and of its type.
func (c *comparison) gone(was repo.Form, path string, added []string) {
	if len(added) == 0 {
		c.breaks("%s: attribute %s is gone: add to Upgrades: repo.Drop(%q). If it has another name and type now: repo.Convert(%q, …).", was.Type, path, path, path)
		return
	}
	c.breaks("%s: attribute %s is gone, and %s is new: add to Upgrades: repo.Rename(%q, %q), or repo.Drop(%q) if they have nothing in common. %s#attribute-renamed has a way in which both releases work.",
		was.Type, path, strings.Join(added, " and "), path, added[0], path, changing)
}

// keys compares the keys of a sample value.
func (c *comparison) keys(was, is repo.Form) {
	if was.Key != is.Key {
		c.breaks("%s: the key of a sample was %q and is %q: stored items stay under the former one, and are not found: %s#key-format-changed", was.Type, was.Key, is.Key, changing)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Copies)) {
		key := was.Copies[name]
		//mutants:guard a copy under a former key is deleted, or the test fails | TestChangesNeedUpgrades ./repo/repotest | slices.Contains(is.FormerCopies, key) => true
		if key != is.Copies[name] && key != "" && key != is.Key && !slices.Contains(is.FormerCopies, key) && !slices.Contains(slices.Collect(maps.Values(is.Copies)), key) {
			c.breaks("%s: copy %q was under %q, and stays there: add a function with that key to FormerCopies, and backfill", was.Type, name, key)
		}
	}
	if len(was.Claims) > 0 && !slices.Equal(was.Claims, is.Claims) {
		c.breaks("%s: Claims were %q and are %q: all releases that write the entity need the same: %s#releases-side-by-side", was.Type, was.Claims, is.Claims, changing)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Counters)) {
		if was.Counters[name] != is.Counters[name] {
			c.fits("%s: counter %q was %s and is %s: what it has counted moves with a backfill", was.Type, name, was.Counters[name], orGone(is.Counters[name]))
		}
	}
	if !maps.Equal(was.Indexes, is.Indexes) || !maps.Equal(was.Copies, is.Copies) || len(was.Claims) == 0 && len(is.Claims) > 0 || len(is.Counters) > len(was.Counters) {
		c.fits("%s: keys of indexes, copies, claims or counters have changed: backfill when the former release is gone, before reads rely on them: %s", was.Type, changing)
	}
}
