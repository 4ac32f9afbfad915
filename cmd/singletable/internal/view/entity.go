package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// entityNote says what an entity has besides an item.
type entityNote struct {
	Copies int  // other items that are stored
	Keys   bool // The item has keys in indexes that are made of attributes.
	Whole  bool // A schema file names all items of the entity.
}

// Label says what is changed together with the item.
func (n entityNote) Label() string {
	const made = "keys in indexes that are made of changed attributes"
	follow := ""
	if n.Copies > 0 {
		follow = quantity.Of(n.Copies, "other item") + " follow"
		if n.Copies == 1 {
			follow += "s"
		}
	}
	switch {
	case n.Whole && follow != "" && n.Keys:
		return "Change the entity as one: " + follow + ", and " + made
	case n.Whole && follow != "":
		return "Change the entity as one: " + follow
	case n.Whole && n.Keys:
		return "Change the entity as one: " + made
	case n.Whole:
		return "Change the entity as one"
	}
	label := "Change the known items together"
	if n.Copies > 0 {
		label = fmt.Sprintf("Change the %d known items together", n.Copies+1)
	}
	switch {
	case n.Keys && n.Copies > 0:
		return label + ", and " + made
	case n.Keys:
		return "Change " + made + ", too"
	}
	return label
}

// entityNote returns what the entity of an item has besides it, nil if nothing is known.
func (s *state) entityNote(v *visit, item table.Item) (*entityNote, error) {
	_, model := s.types()
	e, here, ok := model.Find(item)
	if of, _ := s.kindOf(item); !ok || of.Claim {
		return nil, nil
	}
	n := &entityNote{Keys: len(e.Items[here].Indexes) > 0, Whole: !s.unread(item)}
	if len(e.Items) < 2 && !n.Keys {
		return nil, nil
	}
	others, err := s.otherItems(v, item)
	n.Copies = len(others)
	return n, err
}

// unread reports whether the entity of an item can have copies that are not known: no
// schema file has the entity with this key. What was inferred from items that were read has
// no copies under other keys. A claim has none at all.
func (s *state) unread(item table.Item) bool {
	if of, _ := s.kindOf(item); of.Claim {
		return false
	}
	_, _, ok := s.givenModel().Find(item)
	return !ok
}

// givenModel returns the entities of the schema file.
func (s *state) givenModel() tablemodel.Model {
	return tablemodel.Model{Table: s.schema, Entities: s.given}
}

// otherItems returns the other items of an entity that are stored under the keys that are
// known.
func (s *state) otherItems(v *visit, item table.Item) (all []link, err error) {
	_, model := s.types()
	e, here, ok := model.Find(item)
	if !ok {
		return nil, nil
	}
	own := s.table.KeyOf("", item)
	ks, _ := e.Keys(item) // Those that it cannot tell are zero.
	ask := slices.DeleteFunc(slices.Clone(ks), func(k keys.Key) bool { return k == own || k == keys.Key{} })
	if len(ask) == 0 {
		return nil, nil
	}
	read, err := table.BatchGet[table.Item](v.Context(), s.table.Consistent(), ask)
	if err != nil {
		return nil, fmt.Errorf("other items of the entity: %w", err)
	}
	for _, k := range ask {
		stored := read[k]
		if stored == nil || s.typeOf(stored) != e.Type {
			continue
		}
		// Another entity can have taken the key.
		if back, _ := e.Keys(stored); back[here] == own || back[here] == (keys.Key{}) {
			all = append(all, s.link(k, v.now))
		}
	}
	return all, nil
}

// detached says how a plan makes the attributes of an item disagree with its key, nil if it
// does not.
func (s *state) detached(m tablemodel.Model, plan edit.Plan) error {
	item := plan.Old
	if item == nil {
		item = plan.New
	}
	e, here, ok := m.Find(item)
	if of, _ := s.kindOf(item); !ok || of.Claim {
		return nil
	}
	return edit.CheckKeys(e, here, plan)
}

// notMade lists the copies and the keys in indexes that the entity of a new item has by its
// patterns, and that the plans do not make.
func (s *state) notMade(plans []edit.Plan) (all []string) {
	const lacks = ": an attribute in braces is missing or has another form"
	item := plans[0].New
	_, model := s.types()
	e, here, ok := model.Find(item)
	if of, _ := s.kindOf(item); !ok || of.Claim {
		return nil
	}
	for _, x := range s.schema.Indexes {
		p, made := e.Items[here].Indexes[x.Name]
		attributes := []schema.Attribute{{Name: x.PK, Type: x.PKType}}
		if x.SK != "" {
			attributes = append(attributes, schema.Attribute{Name: x.SK, Type: x.SKType})
		}
		if made && len(x.PKs) == 0 && len(missing(item, attributes)) > 0 {
			all = append(all, "the keys in "+x.Name+", "+patternText(p)+lacks)
		}
	}
	ks, _ := e.Keys(item) // Those that it cannot tell are zero.
	for i, k := range ks {
		text := fmt.Sprintf("copy %d, %s", i, patternText(e.Items[i]))
		switch {
		case i == here || slices.ContainsFunc(plans, func(p edit.Plan) bool { return p.Key == k }):
		case k == keys.Key{}:
			all = append(all, text+lacks)
		default:
			all = append(all, text+": the item is created alone")
		}
	}
	for i := range all {
		all[i] = escaped(all[i])
	}
	return all
}

// patternText is a pattern for people.
func patternText(p tablemodel.Pattern) string {
	return strings.Trim(p.PK+" / "+p.SK, " /")
}
