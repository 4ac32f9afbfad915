package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tablemodel"
)

// place is where a finding is: its name, which stays, and the path in its file.
type place struct {
	text, path string
	inLoad     bool
}

// report adds a finding.
type report func(at place, format string, args ...any)

// checked is a design, and what the rules ask of it.
type checked struct {
	Design
	table   schema.Table // with all defaults
	entries []entry
	limits  []simulate.Limit
	places  map[string]simulate.Units // what the load asks of the table and each index at most
}

// entry is where items of an entity are: in the table, or in an index.
type entry struct {
	entity  tablemodel.Entity
	at      place
	item    int
	index   string // "" for the table
	pattern tablemodel.Pattern
	pk, sk  []pattern.Segment
}

func newChecked(d Design) *checked {
	c := &checked{Design: d, table: d.Model.WithDefaults()}
	for i, e := range d.Model.Entities {
		for n, p := range e.Items {
			at := place{"entity " + e.Type, fmt.Sprintf("entities[%d].items[%d]", i, n), false}
			if n > 0 {
				at.text += fmt.Sprintf(", items[%d]", n)
			}
			c.add(entry{entity: e, at: at, item: n, pattern: p})
			for _, name := range slices.Sorted(maps.Keys(p.Indexes)) {
				in := place{at.text + ", index " + name, at.path + ".indexes." + name, false}
				c.add(entry{entity: e, at: in, item: n, index: name, pattern: p.Indexes[name]})
			}
		}
	}
	if d.Load != nil {
		c.limits, c.places = simulate.Limits(*d.Load), simulate.Peaks(*d.Load)
	}
	return c
}

func (c *checked) add(e entry) {
	e.pk = pattern.Split(e.pattern.PK)
	if e.pattern.SK != "" {
		e.sk = pattern.Split(e.pattern.SK)
	}
	c.entries = append(c.entries, e)
}

// in names where the entry is.
func (e entry) in() string {
	if e.index == "" {
		return "the table"
	}
	return "index " + e.index
}

// of returns the entries of the entity that has this one.
func (c *checked) of(e entry) (all []entry) {
	for _, x := range c.entries {
		if x.entity.Type == e.entity.Type {
			all = append(all, x)
		}
	}
	return all
}

func indexPlace(i int, x schema.Index) place {
	return place{"index " + x.Name, fmt.Sprintf("indexes[%d]", i), false}
}

// spread is how many partition keys the items of an entity have, the most first: a key of
// several attributes has as many values as that of them with the most.
type spread int

const (
	many   spread = iota // or not known
	period               // such as DAY#{day}: many, of which one is written at a time
	few                  // such as STATUS#{status}
	one                  // a constant
)

// These are names of attributes with few values, with periods, and with times.
var (
	fewValues = regexp.MustCompile(`^([Ii]s|[Hh]as)[A-Z_]|` + lastWord("Status", "State", "Type", "Kind", "Priority", "Severity", "Gender", "Active", "Enabled"))
	periods   = regexp.MustCompile(lastWord("Year", "Month", "Week", "Day", "Date", "Hour", "Minute"))
	times     = regexp.MustCompile(`(?i:^at$)|At$|_at$|` + lastWord("Time", "Datetime", "Timestamp", "Date"))
	expiries  = regexp.MustCompile(`(?i)^(ttl|expir(es?|y|ation)(_?(at|on|time|date))?|delete_?after)$`)
)

// lastWord returns the pattern of names that are one of the words, or end with one, as in
// orderDate, order_date and ORDER_DATE. A candidate is no date.
func lastWord(words ...string) string {
	all := strings.Join(words, "|")
	return `(?:^|[^A-Za-z])(?i:` + all + `)$|[a-z0-9](?:` + all + `)$`
}

// partitions returns how many partition keys the pattern makes. A text that is not known can
// be a shard, so it counts as many.
func (e entry) partitions() spread {
	kind := one
	for _, s := range e.pk {
		if !s.Constant() {
			kind = min(kind, spreadOf(s.Name, strings.HasPrefix(s.Form, "time")))
		}
	}
	return kind
}

// spreadOf returns how many values an attribute has, by its name.
func spreadOf(name string, isTime bool) spread {
	switch {
	case isTime, periods.MatchString(name):
		return period
	case fewValues.MatchString(name):
		return few
	}
	return many
}

// first returns the first segment of a sort key that varies.
func (e entry) first() (s pattern.Segment, ok bool) {
	i := slices.IndexFunc(e.sk, func(s pattern.Segment) bool { return !s.Constant() })
	if i < 0 {
		return s, false
	}
	return e.sk[i], true
}

// grows reports whether later items have greater sort keys.
func (e entry) grows() bool {
	s, ok := e.first()
	return ok && isTime(s)
}

func isTime(s pattern.Segment) bool {
	return strings.HasPrefix(s.Form, "time") || s.Form == "" && times.MatchString(s.Name)
}

// varies reports whether there are many items of the entity, one for each value of what is in
// the key of its main item.
func (e entry) varies() bool { return len(e.identity()) > 0 }

// identity returns the names in the key of the main item.
func (e entry) identity() []string {
	main := e.entity.Items[0]
	return slices.Concat(pattern.Names(main.PK), pattern.Names(main.SK))
}

// contains reports whether all of the names are there.
func contains(all, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(all, name) })
}

// sameForm reports whether the patterns can make the same text: their segments have the same
// constants, and vary at the same places in a form that can be the same.
func sameForm(a, b []pattern.Segment) bool {
	return slices.EqualFunc(a, b, func(a, b pattern.Segment) bool {
		return a.Constant() == b.Constant() && a.Before == b.Before && a.After == b.After &&
			(a.Form == b.Form || a.Form == "" || b.Form == "")
	})
}

// calm reports whether the load asks so little of the table or an index that no partition of
// it is over its limits, whatever the keys. AWS: "Best practices for designing and using
// partition keys effectively in DynamoDB", Amazon DynamoDB Developer Guide.
func (c *checked) calm(place string) bool {
	asked, ok := c.places[place]
	return ok && asked.Write > 0 && asked.Write*c.Factor <= partitionWrites && asked.Read*c.Factor <= partitionReads
}

const (
	partitionReads  = 3000
	partitionWrites = 1000
)
