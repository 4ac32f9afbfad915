package repotest

import (
	"maps"
	"slices"
	"strings"

	"github.com/singletable/singletable/repo"
)

const changing = "docs/change-your-table.md"

// unknown is the key of a function that makes none of a sample.
const unknown = "?"

// entity compares two forms of an entity.
func (c *comparison) entity(was, is repo.Form) {
	guard := func(f repo.Form) string { return strings.TrimSpace(f.Version + " " + f.Attributes[f.Version]) }
	if was.Version != "" && (was.Version != is.Version || !fits(was.Attributes[was.Version], is.Attributes[is.Version])) {
		c.breaks("%s: Version was %q and is %q: keep it, since earlier releases guard their writes by it", was.Type, guard(was), guard(is))
	}
	c.shapes(was, is)
	c.attributes(was, is)
	c.marks(was, is)
	c.keys(was, is)
}

// shapes compares the history of upgrades.
func (c *comparison) shapes(was, is repo.Form) {
	switch {
	case is.Shape < was.Shape:
		c.breaks("%s: the program writes shape %d, and %d is stored: keep all Upgrades, and raise OldestShape by one for each that you delete", was.Type, is.Shape, was.Shape)
	case is.OldestShape > was.Shape:
		c.breaks("%s: OldestShape %d refuses the items of shape %d: release the Upgrades first, and backfill", was.Type, is.OldestShape, was.Shape)
	case is.OldestShape > was.OldestShape:
		c.fits("%s: OldestShape %d refuses items of former shapes: a verified backfill has to be before it", was.Type, is.OldestShape)
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(was.Upgraded)), maps.Keys(is.Upgraded))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		// An upgrade of a shape that both programs know is the same one in both.
		former, now := was.Upgraded[name], is.Upgraded[name]
		added, deleted := now > was.Shape, former <= is.OldestShape && now == 0 || now <= was.OldestShape && former == 0
		//mutants:guard an upgrade that stored items have behind them stays | TestUpgradesAreAppended ./repo/repotest | former != now && => false &&
		if former != now && !added && !deleted {
			c.breaks("%s: an upgrade of attribute %s has changed, and items of shape %d do not get it: keep former Upgrades in their order, and append others", was.Type, name, was.Shape)
		}
	}
}

// attributes compares the attributes of T.
func (c *comparison) attributes(was, is repo.Form) {
	// An upgrade that the file does not have yet brings stored items to the new form.
	follows := func(path string) bool { return is.Upgraded[top(path)] > was.Shape }
	added := slices.DeleteFunc(slices.Sorted(maps.Keys(is.Attributes)), func(path string) bool { return was.Attributes[path] != "" })
	for _, path := range slices.Sorted(maps.Keys(was.Attributes)) {
		kind, now := was.Attributes[path], is.Attributes[path]
		switch name := top(path); {
		case kind == now, path == was.Version:
		//mutants:guard a name or type of an attribute changes with an upgrade only | TestChangesNeedUpgrades ./repo/repotest | follows(path) => true
		case follows(path):
			c.fits("%s: attribute %s is changed by an upgrade", was.Type, path)
		case fits(kind, now):
			c.fits("%s: attribute %s was %s and is %s, which holds it", was.Type, path, kind, now)
		case name != path && fits(was.Attributes[name], is.Attributes[name]):
			if is.Attributes[name] != anything {
				c.breaks("%s: %s was %s and is %s in attribute %s: add to Upgrades: repo.Convert(%q, %q, …), which makes the new value of the stored one",
					was.Type, path, kind, orGone(now), name, name, name)
			}
		case name != path: // with the attribute
		case now != "":
			c.breaks("%s: attribute %s is %s now, and was %s: add to Upgrades: repo.Convert(%q, %q, …), or better, give it another name: %s#type-changed",
				was.Type, path, now, kind, path, path, changing)
		default:
			c.gone(was, path, slices.DeleteFunc(slices.Clone(added), func(path string) bool { return path != top(path) || follows(path) || is.Attributes[path] != kind }))
		}
	}
	for _, path := range added {
		if !follows(path) && path != is.Version {
			c.fits("%s: attribute %s is new: earlier items are read with its zero value; if that is wrong, add to Upgrades: repo.Default(%q, …)", was.Type, path, top(path))
		}
	}
}

// marks compares what stored items have without a field of T, and the attributes in which other
// entities count.
func (c *comparison) marks(was, is repo.Form) {
	for _, name := range slices.Sorted(maps.Keys(was.Constants)) {
		if now, kept := is.Constants[name]; kept && now != was.Constants[name] {
			c.breaks("%s: constant %s was %q and is %q: stored items have the former one, and are of another type: keep it", was.Type, name, was.Constants[name], now)
		}
	}
	if was.UniqueType != is.UniqueType && slices.ContainsFunc(is.Keys, func(k repo.FormKeys) bool { return len(k.Unique) > 0 }) {
		c.breaks("%s: UniqueType was %q and is %q: the items of stored values have the former one: keep it", was.Type, was.UniqueType, is.UniqueType)
	}
	for _, name := range was.Counted {
		if is.Attributes[name] != "" && !slices.Contains(is.Counted, name) {
			c.breaks("%s: attribute %s is not in Counted: writes of the entity would replace the number that others have counted: keep it there, or give the attribute another name", was.Type, name)
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

// keys compares the keys of the samples.
func (c *comparison) keys(was, is repo.Form) {
	if len(is.Keys) < len(was.Keys) {
		c.breaks("%s: the keys of %d samples are in the file, and Form has %d: keep its samples, and add others behind them", was.Type, len(was.Keys), len(is.Keys))
		return
	}
	var first comparison // of the samples, since most show the same change
	for i, former := range was.Keys {
		var one comparison
		one.sample(was.Type, former, is.Keys[i])
		if len(first.breaking) == 0 {
			first.breaking = one.breaking
		}
		if len(first.compatible) == 0 {
			first.compatible = one.compatible
		}
	}
	c.breaking, c.compatible = append(c.breaking, first.breaking...), append(c.compatible, first.compatible...)
}

// sample compares the keys of one sample.
func (c *comparison) sample(entity string, was, is repo.FormKeys) {
	copies := slices.Collect(maps.Values(is.Copies))
	wasCopy := slices.Contains(slices.Collect(maps.Values(was.Copies)), is.Key)
	stays := func(key string) bool {
		return key != "" && key != unknown && key != is.Key && !slices.Contains(is.FormerCopies, key) && !slices.Contains(copies, key)
	}
	//mutants:guard the main item moves to the key of a stored copy only | TestTheMainItemMovesToTheKeyOfACopy ./repo/repotest | !wasCopy || => !wasCopy &&
	if was.Key != unknown && was.Key != is.Key && (!wasCopy || stays(was.Key)) {
		c.breaks("%s: the key of a sample was %q and is %q: stored items stay under the former one, and are not found: %s#key-format-changed", entity, was.Key, is.Key, changing)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Copies)) {
		//mutants:guard a copy under a former key is deleted, or the test fails | TestChangesNeedUpgrades ./repo/repotest | stays(key) => false
		if key := was.Copies[name]; stays(key) {
			c.breaks("%s: copy %q was under %q, and stays there: add a function with that key to FormerCopies, and backfill", entity, name, key)
		}
	}
	if len(was.Claims) > 0 && !slices.Equal(was.Claims, is.Claims) {
		c.breaks("%s: Claims were %q and are %q: all releases that write the entity need the same: %s#releases-side-by-side", entity, was.Claims, is.Claims, changing)
	}
	if len(was.Unique) > 0 && !slices.Equal(was.Unique, is.Unique) && !slices.Equal(was.Unique, is.Claims) {
		c.breaks("%s: Unique was %q and is %q: the items of stored values stay under the former keys: keep them", entity, was.Unique, is.Unique)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Counters)) {
		c.counter(entity, name, was, is)
	}
	if was.Key != is.Key || !maps.Equal(was.Indexes, is.Indexes) || !maps.Equal(was.Copies, is.Copies) || len(was.Claims) == 0 && len(is.Claims) > 0 || len(is.Counters) > len(was.Counters) {
		c.fits("%s: keys of the item, of indexes, copies, claims or counters have changed: backfill when the former release is gone, before reads rely on them: %s", entity, changing)
	}
}

// counter compares a counter of the former program. One of another name counts from 0.
func (c *comparison) counter(entity, name string, was, is repo.FormKeys) {
	former, now := was.Counters[name], is.Counters[name]
	for _, other := range slices.Sorted(maps.Keys(is.Counters)) {
		if was.Counters[other] == "" && is.Counters[other] == former {
			c.breaks("%s: counter %q is named %q now, and would count all again in the number that it has: keep the name, or give it another attribute", entity, name, other)
			return
		}
	}
	if former != now {
		c.fits("%s: counter %q was %s and is %s: what it has counted moves with a backfill", entity, name, former, orGone(now))
	}
}

// counted fails for a number of another entity that does not know of it.
func (c *comparison) counted(is repo.Form, forms []repo.Form) {
	if len(is.Keys) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(is.Keys[0].Counters)) {
		of, _, _ := strings.Cut(is.Keys[0].Counters[name], " at ")
		for _, owner := range forms {
			attribute, owns := strings.CutSuffix(of, " of "+owner.Type)
			//mutants:guard an owner knows of the number that another entity counts in it, or the test fails | TestOwnersNeedCounted | !slices.Contains(owner.Counted, attribute) => false
			if owns && !slices.Contains(owner.Counted, attribute) {
				c.breaks("%s: counter %q adds to attribute %s of %s, whose Counted has no %s: a Save of it would set the number back", is.Type, name, attribute, owner.Type, attribute)
			}
		}
	}
}

// shown fails for keys that no sample shows, since their changes would not be seen.
func (c *comparison) shown(is repo.Form) {
	var hidden []string
	for _, x := range []struct {
		what string
		of   func(repo.FormKeys) bool
	}{
		{"Key", func(k repo.FormKeys) bool { return k.Key == unknown }},
		{"Copies", func(k repo.FormKeys) bool { return slices.Contains(slices.Collect(maps.Values(k.Copies)), unknown) }},
		{"Claims", func(k repo.FormKeys) bool { return slices.Contains(k.Claims, unknown) }},
		{"Unique", func(k repo.FormKeys) bool { return slices.Contains(k.Unique, unknown) }},
	} {
		if len(is.Keys) > 0 && !slices.ContainsFunc(is.Keys, func(k repo.FormKeys) bool { return !x.of(k) }) {
			hidden = append(hidden, x.what)
		}
	}
	if len(hidden) > 0 {
		c.breaks("%s: a function of %s makes no key of any sample, so that a change of it would not be seen: give Form a value as the program stores it", is.Type, strings.Join(hidden, " and "))
	}
}
