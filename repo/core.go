package repo

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// core is what a [Repo] holds and does, whatever T is: so it is compiled once, and
// not again for each T. A value is given to it, and returned, as a *T in an any.
type core struct {
	table *table.Table // as given, without what a view of it leaves out
	// reads refuses items of other types, and upgrades those of former shapes.
	// consistent does so too, reads consistently, and leaves shape attributes as they
	// are stored: writes need these.
	reads, consistent *table.Table
	// view is what reads does with the items.
	view      item.View
	schema    schema.Table
	typeValue types.AttributeValue // of all items; nobody changes it
	// typeAttribute is where it is stored. It is empty for a kind: what such items have there is
	// an attribute like others.
	typeAttribute string
	entity        description
	items         []Copy[any]
	// attributes are the names of those that T's fields have, sorted; known is
	// false if T makes its attributes itself.
	attributes []string
	known      bool
	// unixTimes are those of times in seconds, of which the zero time is left out.
	unixTimes []string
	// keyed are those that key functions read, as far as samples show.
	keyed []string
	// indexAttributes are the key attributes of the indexes that the entity
	// declares. They are written on the item that declares them only.
	indexAttributes []string
	// indexKeyNames are the key attributes of all indexes of the table.
	indexKeyNames []string
	// indexParts are those of them that are fields of T, and left out of an item if they
	// are empty. Those of vector indexes are among them, and the vectors.
	indexParts []string
	// crowded are the indexes that hold all items of an entity, and shown the attributes that
	// the repository writes and T can have: see decided.go. readsShown means that a key
	// function reads one of these in a struct.
	crowded    []crowdedIndex
	shown      []string
	readsShown bool
	// vectors are the vector indexes that the entity is in.
	vectors []schema.VectorIndex
	// textKeys means that the table's keys are a string and a string.
	textKeys bool
	// reserved are the attributes that the repository writes, whatever T has for
	// them: keys, index keys, type and version.
	reserved map[string]bool
	// own are the attributes of T, those reserved and those of upgrades. True are
	// those that matter to a write although T has no field for them: see
	// [core.isExtra].
	own map[string]bool
	// counter is what the version attribute is, and field the struct field of T
	// for it, if there is a plain one.
	counter counter
	field   []int
	// isoTime means that the field is a [table.ISOTime].
	isoTime bool
	shapes  shapes
}

// init makes the core of a new repository.
func (c *core) init(t *table.Table, entity description) error {
	if isZero(t) {
		return refused(entity.Type, "", errNoTable.Error())
	}
	spec := t.Schema()
	entity = entity.withKind(spec)
	if err := entity.validate(spec); err != nil {
		return err
	}
	t = t.Reading(item.Reading{Whole: true}) // writes need items as a whole, and reads have the entity's type
	*c = core{
		table: t, schema: spec,
		typeValue: &types.AttributeValueMemberS{Value: entity.Type},
		entity:    entity, items: entity.items(),
	}
	c.setKind()
	c.shapes = newShapes(spec, entity.Version, entity.OldestShape, entity.Upgrades)
	c.attributes, c.known = item.Attributes(entity.typ)
	c.unixTimes = item.UnixTimes(entity.typ)
	if c.known && c.isPlain() {
		c.keyed = entity.keyed(c.attributes)
	}
	c.counter = entity.counterOf()
	if entity.Version != "" {
		c.field, _ = item.Field(entity.typ, entity.Version, unixMilliType, isoTimeType)
		c.isoTime = c.field != nil && entity.typ.FieldByIndex(c.field).Type == isoTimeType
	}
	c.setIndexes(spec)
	c.textKeys = spec.SK != "" && spec.PKType == types.ScalarAttributeTypeS && spec.SKType == types.ScalarAttributeTypeS
	c.reserved = map[string]bool{
		spec.PK: true, spec.SK: true, c.typeAttribute: true, entity.Version: true,
		c.shapes.attribute: true, c.shapes.from: true, c.shapes.at: true,
	}
	c.own = map[string]bool{
		spec.PK: false, spec.SK: false, c.typeAttribute: false, entity.Version: false,
		c.shapes.attribute: true, c.shapes.from: true, c.shapes.at: true,
	}
	for name, gone := range c.shapes.touched {
		c.own[name] = gone
	}
	if len(entity.Counters) > 0 {
		c.reserved[item.Counted], c.own[item.Counted] = true, true
	}
	for _, name := range entity.Counted {
		c.reserved[name] = true
	}
	for name := range c.entity.shared.Constants {
		c.reserved[name], c.own[name] = true, false
	}
	for _, name := range c.attributes {
		c.own[name] = false
	}
	for _, name := range c.indexAttributes {
		c.reserved[name], c.own[name] = true, true
	}
	c.setViews(t)
	return nil
}

// setKind sets what says the type of an item: an attribute, or a kind.
func (c *core) setKind() {
	if c.schema.KindOf(c.entity.Type) == nil {
		c.typeAttribute = c.schema.TypeAttribute
	}
}

// withKind returns the description with the attributes of its kind as constants.
func (e description) withKind(spec schema.Table) description {
	if kind := spec.KindOf(e.Type); kind != nil {
		constants := map[string]string{}
		maps.Copy(constants, kind.Equal)
		maps.Copy(constants, e.shared.Constants)
		e.shared.Constants = constants
	}
	return e
}

// setIndexes sets what the indexes of the schema are to the entity.
func (c *core) setIndexes(spec schema.Table) {
	for _, x := range spec.Indexes {
		for _, a := range slices.Concat(x.Keys()) {
			c.indexKeyNames = append(c.indexKeyNames, a.Name)
			c.indexParts = append(c.indexParts, a.Name)
		}
	}
	c.vectors = c.entity.vectorsOf(spec)
	for _, x := range spec.Vectors {
		for _, a := range vectorFields(x) {
			c.indexParts = append(c.indexParts, a.Name)
		}
	}
	c.indexAttributes = c.entity.indexAttributes(spec)
	c.indexParts = slices.DeleteFunc(c.indexParts, func(name string) bool {
		return name == spec.PK || name == spec.SK || name == c.typeAttribute || slices.Contains(c.indexAttributes, name)
	})
	c.crowded = c.entity.crowdedIndexes(spec, c.attributes, c.known)
	c.setShown()
}

var errNoTable = errors.New("the table was not made by table.New")

func isZero(t *table.Table) bool { return t == nil || t.Schema().Name == "" }

// setViews sets how the items of t are read.
func (c *core) setViews(t *table.Table) {
	c.view = item.View{
		Type: c.entity.Type, Shape: c.shapes.current, Attributes: slices.Sorted(maps.Keys(c.shapes.touched)),
		Change: func(item map[string]types.AttributeValue, shape int) error { return c.shapes.upgrade(item, shape) },
	}
	c.view.Equal = c.entity.shared.Constants
	if c.shapes.derives() {
		c.view.Version, c.view.At = c.entity.Version, c.shapes.at
	}
	c.consistent = t.Reading(item.Reading{Type: c.entity.Type, Views: []item.View{c.view}}).Consistent()
	c.view.Change = func(item map[string]types.AttributeValue, shape int) error { return c.shapes.present(item, shape) }
	c.view.Whole = c.entity.typ
	if len(c.vectors) > 0 {
		//mutants:guard no entity is made of a copy without the vector | TestCopiesWithoutTheVectorAreNoEntities
		c.view.Check = func(v any, pk, sk string) error { return c.checkMain(v, keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}) }
	}
	c.reads = t.Reading(item.Reading{Type: c.entity.Type, Views: []item.View{c.view}})
}

// canHold reports whether an item can be stored under a key. The zero key is that of a
// copy that is left out.
func (c *core) canHold(key keys.Key) bool {
	if c.textKeys {
		return key.Validate() == nil
	}
	_, err := c.table.IndexKey("", key)
	return err == nil
}

// fail returns the error of an operation on the entity under a key, nil for nil.
func (c *core) fail(op string, key keys.Key, err error) error {
	if err == nil {
		return nil
	}
	return &table.Error{Op: op, Name: c.entity.Type, Table: c.schema.Name, Key: key, Err: err}
}

// named gives an error the operation that it ended, of which a read of table's may be a
// part.
func (c *core) named(op string, key keys.Key, err error) error {
	e, ok := err.(*table.Error) //nolint:errorlint // one further in may be the caller's
	if !ok {
		return c.fail(op, key, err)
	}
	e.Op, e.Name = op, cmp.Or(e.Name, c.entity.Type)
	return e
}
