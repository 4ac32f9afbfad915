package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tablemodel"
)

// Step is a part of a change of a live table.
type Step struct {
	// When is the phase of the deployment.
	When string `json:"when"`
	// Place is what changes, and Does what has to be done about it.
	Place string `json:"place"`
	Does  string `json:"does"`
	// Recipe is a page of the library's docs, with the anchor of the recipe.
	Recipe string `json:"recipe"`
	// Impossible means that a live table cannot be changed so.
	Impossible bool `json:"impossible,omitempty"`

	phase phase
}

// phase is a part of a deployment.
type phase int

const (
	cannot phase = iota
	byHand       // since ensure changes nothing while a person has something to do
	before
	release
	fill
	then
	clean
	last
)

var phases = map[phase]string{
	cannot:  "cannot be changed",
	byHand:  "before the release",
	before:  "before the release",
	release: "release",
	fill:    "when the former release is gone",
	then:    "next release",
	clean:   "when the release before it is gone",
	last:    "at last",
}

// The recipes of the library.
const (
	recipes     = "docs/change-your-table.md"
	addIndex    = recipes + "#access-pattern-added-by-an-index"
	addCopy     = recipes + "#access-pattern-added-by-a-copy"
	changeKey   = recipes + "#key-format-changed"
	dropIndex   = recipes + "#index-dropped"
	otherTable  = recipes + "#from-another-table"
	itsParts    = recipes + "#the-parts"
	vectors     = "docs/vectors.md"
	deletedData = "docs/delete-data.md"
)

// change collects the steps from one model to another.
type change struct {
	from, to tablemodel.Model
	load     *simulate.Load
	steps    []Step
	filled   []string // entities whose items a backfill has to bring up to date
	cleaned  []string // entities of which a backfill deletes what the next release has dropped
}

// Steps returns what the change of a live table from one model to another takes, in the order
// of deployment. The load may be nil; with one, a new index has its costs.
func Steps(from, to tablemodel.Model, load *simulate.Load) []Step {
	c := &change{from: from, to: to, load: load}
	c.from.Table, c.to.Table = from.WithDefaults(), to.WithDefaults()
	c.keys()
	c.indexes()
	c.settings()
	c.entities()
	if len(c.filled) > 0 {
		c.add(fill, strings.Join(c.filled, ", "), recipes+"#what-it-costs",
			"Run backfill.Job with DryRun, which says how many items change and what that costs. Run it without, and verify with DryRun.")
	}
	if len(c.cleaned) > 0 {
		c.add(clean, strings.Join(c.cleaned, ", "), recipes+"#what-it-costs",
			"Run backfill.Job, which deletes the copies and keys that this release does not have, and verify with DryRun.")
	}
	slices.SortStableFunc(c.steps, func(a, b Step) int { return cmp.Compare(a.phase, b.phase) })
	return c.steps
}

func (c *change) add(when phase, at, recipe, format string, args ...any) {
	c.steps = append(c.steps, Step{phases[when], at, fmt.Sprintf(format, args...), recipe, when == cannot, when})
}

// keys compares what DynamoDB cannot change, and what all items have.
func (c *change) keys() {
	of := func(t schema.Table) [5]string {
		return [5]string{t.Name, t.PK, t.SK, string(t.PKType), string(t.SKType)}
	}
	if of(c.from.Table) != of(c.to.Table) {
		c.add(cannot, "the table", otherTable, "The name and the keys of a table stay: create a table, and copy the items.")
	}
	if c.from.TypeAttribute != c.to.TypeAttribute || !reflect.DeepEqual(c.from.Kinds, c.to.Kinds) {
		c.add(cannot, "the table", otherTable, "Stored items have the former type attribute, and the new program does not know them by it: copy the items, with Map.")
	}
	if c.from.Shape != c.to.Shape {
		c.add(cannot, "the table", itsParts, "Stored items have their shape under %s, and the new program reads it under %s: keep the name.", c.from.Shape, c.to.Shape)
	}
}

// indexes compares indexes. AWS: "Managing Global Secondary Indexes in DynamoDB" and "Local
// secondary indexes", Amazon DynamoDB Developer Guide.
func (c *change) indexes() {
	had, has := indexesOf(c.from.Table), indexesOf(c.to.Table)
	for _, name := range slices.Sorted(maps.Keys(has)) {
		at, x := "index "+name, has[name]
		switch old, there := had[name]; {
		case there && old.layout == x.layout:
		case there:
			c.add(cannot, at, addIndex, "The keys and the projection of an index stay: add one under another name, move the queries to it, and delete this one.")
		case x.local:
			c.add(cannot, at, addIndex, "A local index is created with its table only: use a global index, or copy the items into a new table.")
		case x.vector:
			c.add(before, at, vectors, "Run singletable ensure: DynamoDB builds the index while reads and writes go on.")
			c.add(then, at, vectors, "Search it when singletable verify says that it is active.")
		default:
			c.add(before, at, addIndex, "Run singletable ensure: DynamoDB builds the index while reads and writes go on%s.", c.price())
			if !c.filledByPattern(name) {
				c.add(then, at, addIndex, "Query the index when singletable verify says that it is active.")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if _, there := has[name]; there {
			continue
		}
		at := "index " + name
		if had[name].local {
			c.add(cannot, at, dropIndex, "A local index stays as long as its table.")
			continue
		}
		c.add(release, at, dropIndex, "Release a program that does not read it, and still writes what is in it.")
		c.add(then, at, dropIndex, "Release one that removes its keys from stored items.")
		c.add(last, at, dropIndex, "Delete the index by hand: singletable ensure drops nothing.")
	}
}

// filledByPattern reports whether entities have patterns of keys in an index, whose queries
// wait for a backfill.
func (c *change) filledByPattern(index string) bool {
	return slices.ContainsFunc(c.to.Entities, func(e tablemodel.Entity) bool { return len(entriesOf(e)[index]) > 0 })
}

// layout is what of an index does not change.
type layout struct {
	layout        string
	local, vector bool
}

func indexesOf(t schema.Table) map[string]layout {
	all := map[string]layout{}
	for _, x := range t.Indexes {
		partition, sort := x.Keys()
		include := slices.Sorted(slices.Values(x.Include))
		all[x.Name] = layout{fmt.Sprint(partition, sort, x.Local, x.Projection, include), x.Local, false}
	}
	for _, x := range t.Vectors {
		all[x.Name] = layout{fmt.Sprintf("%+v", x), false, true}
	}
	return all
}

// price says what building an index costs at most, if the load has the size of the table. AWS:
// "Managing Global Secondary Indexes in DynamoDB", Amazon DynamoDB Developer Guide.
func (c *change) price() string {
	if c.load == nil || c.load.StoredGB == 0 {
		return ", for a write unit for each KB of each item that gets into it"
	}
	// The load's size is that of the table with its indexes, which are of equal size.
	gb := c.load.StoredGB / float64(1+len(c.from.Indexes))
	units := math.Ceil(gb * (1 << 20))
	return fmt.Sprintf(", for a write unit for each KB of each item that gets into it: %s of 1 KB in %.4g GB would take $%.2f",
		quantity.Of(int64(units), "item"), gb, units*simulate.USEast().WriteMillion/1e6)
}

// settings compares what singletable ensure turns on, or has a person do.
func (c *change) settings() {
	from, to := c.from.Table, c.to.Table
	switch from.TTLAttribute {
	case to.TTLAttribute:
	case "":
		c.add(before, "ttl", addIndex, "Look for items that have a number of seconds under %s: DynamoDB deletes those in the past. Then run singletable ensure, which turns TTL on.", to.TTLAttribute)
	default:
		c.add(byHand, "ttl", addIndex, "Turn TTL of %s off by hand, and if it has another attribute, run singletable ensure about an hour later: some items would never expire.", from.TTLAttribute)
	}
	switch {
	case from.Stream == to.Stream:
	case from.Stream == "":
		c.add(before, "stream", addIndex, "Run singletable ensure, which turns the stream on. It has the changes from then on.")
	case to.Stream == "":
		c.add(last, "stream", addIndex, "Turn the stream off by hand, when its consumers are gone.")
	default:
		c.add(byHand, "stream", addIndex, "Let the consumers read to the end, turn the stream off by hand, run singletable ensure, and connect the consumers to the new stream.")
	}
	if to.BillingMode != "" && billing(from) != billing(to) {
		c.add(byHand, "billingMode", addIndex, "Change the billing mode to %s by hand: singletable ensure changes nothing until then.", billing(to))
	}
	if to.PointInTimeRecovery && !from.PointInTimeRecovery {
		c.add(before, "pointInTimeRecovery", addIndex, "Run singletable ensure, which turns it on.")
	}
	if to.DeletionProtection && !from.DeletionProtection {
		c.add(before, "deletionProtection", addIndex, "Run singletable ensure, which turns it on.")
	}
}

func billing(t schema.Table) types.BillingMode {
	return cmp.Or(t.BillingMode, types.BillingModePayPerRequest)
}

// entities compares the patterns of keys.
func (c *change) entities() {
	for _, e := range c.to.Entities {
		i := slices.IndexFunc(c.from.Entities, func(x tablemodel.Entity) bool { return x.Type == e.Type })
		if i >= 0 {
			c.entity(c.from.Entities[i], e)
			continue
		}
		at := "entity " + e.Type
		renamed := slices.IndexFunc(c.from.Entities, func(x tablemodel.Entity) bool {
			return !c.hasType(x.Type) && reflect.DeepEqual(x.Items, e.Items)
		})
		if renamed >= 0 {
			c.add(cannot, at, otherTable, "It has the keys of %s, which goes: stored items keep their type, and the new program does not find them. Keep the name, or copy the items, with Map.", c.from.Entities[renamed].Type)
			continue
		}
		c.add(release, at, itsParts, "It is new: nothing is stored that has to change.")
	}
	for _, e := range c.from.Entities {
		if !c.hasType(e.Type) {
			c.add(last, "entity "+e.Type, deletedData, "Its items stay in the table: delete them when no release reads them.")
		}
	}
}

func (c *change) hasType(name string) bool {
	return slices.ContainsFunc(c.to.Entities, func(e tablemodel.Entity) bool { return e.Type == name })
}

// entity compares an entity with what it was.
func (c *change) entity(from, to tablemodel.Entity) {
	at, count := "entity "+to.Type, len(c.steps)
	if from.Version != to.Version {
		if from.Version == "" {
			c.add(release, at, itsParts, "Release it with the version, and wait until the former release is gone: that replaces whole items, and nothing stops it.")
		} else {
			c.add(cannot, at, itsParts, "Stored items have their version under %s, and a program that reads another attribute does not notice concurrent writes: keep the name.", from.Version)
		}
	}
	c.mainKey(at, from, to)
	dropped := c.copies(at, from, to)
	c.entries(at, from, to)
	if slices.ContainsFunc(c.steps[count:], func(s Step) bool { return !s.Impossible }) {
		c.filled = append(c.filled, to.Type)
	}
	count = len(c.steps)
	for _, p := range dropped {
		c.add(release, at, changeKey, "Release a program that does not read the copy %s, and still stores it.", keyText(p))
		c.add(then, at, changeKey, "Release one that has %s as one of FormerCopies.", keyText(p))
	}
	c.droppedEntries(at, from, to)
	if len(c.steps) > count {
		c.cleaned = append(c.cleaned, to.Type)
	}
}

// madeOf says what it means that a key is made of other attributes.
const madeOf = "%s is made of %s, and was made of %s. If an attribute only has another name, the keys stay: see Attribute renamed. If the values differ, all items move: "

// mainKey compares the keys of the main items.
func (c *change) mainKey(at string, from, to tablemodel.Entity) {
	old, now := from.Items[0], to.Items[0]
	const move = "add a copy under the new key and backfill, make it the main item, then drop the former key, in three releases."
	switch {
	case sameKey(old, now):
	case len(without([]tablemodel.Pattern{now}, from.Items)) == 0:
		c.add(release, at, changeKey, "The copy %s becomes the main item: both releases write both. Index keys and claims move with the backfill.", keyText(now))
	case sameTexts(old, now):
		c.add(release, at, changeKey, madeOf+move, "Its key", keyText(now), keyText(old))
	default:
		c.add(release, at, changeKey, "All of its main items move from %s to %s: "+move, keyText(old), keyText(now))
	}
}

// copies compares the copies, and returns those that are dropped.
func (c *change) copies(at string, from, to tablemodel.Entity) []tablemodel.Pattern {
	added, removed := without(to.Items[1:], from.Items), without(from.Items[1:], to.Items)
	for _, p := range added {
		i := slices.IndexFunc(removed, func(x tablemodel.Pattern) bool { return sameTexts(p, x) })
		if i < 0 {
			c.add(release, at, addCopy, "Release the copy %s, which each write of the entity stores. Read it only when the backfill is complete.", keyText(p))
			continue
		}
		c.add(release, at, changeKey, madeOf+"keep the former copy until reads of it are gone.", "A copy", keyText(p), keyText(removed[i]))
		removed = slices.Delete(removed, i, i+1)
	}
	return removed
}

// entries compares the keys of an entity in indexes.
func (c *change) entries(at string, from, to tablemodel.Entity) {
	had, has := entriesOf(from), entriesOf(to)
	for _, index := range slices.Sorted(maps.Keys(has)) {
		old, now, in := had[index], has[index], at+", index "+index
		switch {
		case slices.EqualFunc(old, now, sameKey):
			// What the keys of a main item that moves are moves with it.
			if was, is := carriers(from, index), carriers(to, index); sameKey(from.Items[0], to.Items[0]) && !slices.EqualFunc(was, is, sameKey) {
				c.add(release, in, addIndex, "Its keys move from the item %s to %s with the backfill. Queries find each entity once at any time.", keysText(was), keysText(is))
			}
		case slices.EqualFunc(old, now, sameTexts):
			c.add(release, in, addIndex, madeOf+"give them their keys in an index under another name.", "Its key", keysText(now), keysText(old))
		case len(old) > 0:
			c.add(cannot, in, addIndex, "While the backfill changes its keys from %s to %s, a query finds a part of the items: give them their keys in an index under another name.", keysText(old), keysText(now))
		default:
			c.add(release, in, addIndex, "Release a program that sets its keys, and does not yet query them.")
			c.add(then, in, addIndex, "Release the queries when the backfill is complete.")
		}
	}
}

// droppedEntries finds indexes that stay, and have no keys of the entity any more.
func (c *change) droppedEntries(at string, from, to tablemodel.Entity) {
	had, has := entriesOf(from), entriesOf(to)
	for _, index := range slices.Sorted(maps.Keys(had)) {
		if len(has[index]) == 0 && indexesOf(c.to.Table)[index].layout != "" {
			c.add(release, at+", index "+index, dropIndex, "Release a program without queries for it, which still sets its keys.")
			c.add(then, at+", index "+index, dropIndex, "Release one that removes its keys from stored items.")
		}
	}
}

// entriesOf returns the keys of an entity in each index.
func entriesOf(e tablemodel.Entity) map[string][]tablemodel.Pattern {
	all := map[string][]tablemodel.Pattern{}
	for _, p := range e.Items {
		for index, in := range p.Indexes {
			all[index] = append(all[index], in)
		}
	}
	return all
}

// carriers returns the items that have the keys of an entity in an index.
func carriers(e tablemodel.Entity, index string) (items []tablemodel.Pattern) {
	for _, p := range e.Items {
		if _, has := p.Indexes[index]; has {
			items = append(items, p)
		}
	}
	return items
}

// sameKey reports whether two patterns make the same key. A part that is not known can be any
// attribute.
func sameKey(a, b tablemodel.Pattern) bool {
	return sameTexts(a, b) && slices.EqualFunc(namesIn(a), namesIn(b), func(a, b string) bool {
		return a == b || pattern.IsNumber(a) || pattern.IsNumber(b)
	})
}

// sameTexts reports whether two patterns differ in the names of attributes only.
func sameTexts(a, b tablemodel.Pattern) bool {
	return a.SK == "" == (b.SK == "") && slices.EqualFunc(pattern.Split(a.PK+"#"+a.SK), pattern.Split(b.PK+"#"+b.SK), func(a, b pattern.Segment) bool {
		return a.Constant() == b.Constant() && a.Before == b.Before && a.After == b.After && (a.Form == b.Form || a.Unknown() || b.Unknown())
	})
}

func namesIn(p tablemodel.Pattern) []string { return pattern.Names(p.PK + "#" + p.SK) }

func keyText(p tablemodel.Pattern) string { return strings.TrimSuffix(p.PK+" / "+p.SK, " / ") }

func keysText(all []tablemodel.Pattern) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, keyText(p))
	}
	return strings.Join(texts, " and ")
}

// without returns the patterns of one list whose keys the other one lacks.
func without(all, other []tablemodel.Pattern) []tablemodel.Pattern {
	return slices.DeleteFunc(slices.Clone(all), func(p tablemodel.Pattern) bool {
		return slices.ContainsFunc(other, func(x tablemodel.Pattern) bool { return sameKey(p, x) })
	})
}
