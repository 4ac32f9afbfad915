package table

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
)

// items makes the values of a read: one for each live item of its responses, in their
// order. It is the one place where items of a response become Go values. An item comes as
// JSON, or as attribute values from a client that has read the response itself.
type items struct {
	// t is the view that says which items are live, and of which type and shape they
	// are, and extent how much the read gives of an item: all of it, or what setExtent has
	// admitted. index is what is read, and key the key attributes that a position has.
	t *Table
	extent
	index string
	key   []schema.Attribute
	// values is the slice that they are appended to. limit is the length at which it is
	// full; 0 means never.
	values reflect.Value
	limit  int
	// places, if placed is set, has the place of each of the values. Then an item that
	// is no value has a place, too, and the zero value.
	placed bool
	places []place
	// noted are the positions of some of the values, by their number from 1.
	noted map[int]Item
	// queried means that items of other types could be left out by the Range of a query.
	queried bool
	// searched means that items of other types are dropped, and those whose attributes do
	// not have the values that were asked for.
	searched bool
	required []fixedKey

	// err is why the item that was read last is no value. None was read after it.
	err error
	// startKey is that of the item that was read last, once values is full or there is
	// an err. more is set if the response has items after it.
	startKey Item
	more     bool
	// now is the time of the response.
	now time.Time

	// itemIndex is the place in its response of the item that was read last, and watched
	// are its type, expiry, shape and key attributes.
	itemIndex int
	watched   []item.Watched
	decoder   *item.Decoder
	// json is that item in the response; read is it if the client has read it.
	json []byte
	read Item
}

// place says where an item was found.
type place struct {
	// index is its place in the response, and size its bytes.
	index, size int
	at          itemKeys
	// err is why it is no value.
	err error
}

// The attributes that are watched before those of the key.
const (
	watchedType = iota
	watchedTTL
	watchedShape // if there are views
)

// into returns items whose values are appended to a slice.
func into[T any](values *[]T) *items { return &items{values: reflect.ValueOf(values).Elem()} }

// valuesOf returns the values of items that are Ts.
func valuesOf[T any](s *items) []T { return *s.values.Addr().Interface().(*[]T) }

// of sets the view that reads the items, each of them whole, and returns them.
func (s *items) of(t *Table) *items {
	s.t, s.extent, s.decoder, s.watched = t, extent{}, nil, make([]item.Watched, 0, 3)
	s.watch(t.schema.TypeAttribute)
	s.watch(t.readExpiry())
	if len(t.views) > 0 {
		s.watch(t.schema.Shape)
	}
	for _, v := range t.views {
		if v.At != "" {
			s.watch(v.At)
			s.watch(v.Version)
		}
		if v.Check != nil {
			s.watch(t.schema.PK)
			s.watch(t.schema.SK)
		}
	}
	return s
}

// setExtent sets how much is read of each item. It refuses to read less than all of an
// entity into its own Go type, or one that holds it: a write of such a value would remove what
// was not read.
func (s *items) setExtent(e extent) error {
	for i := range s.t.views {
		//mutants:guard nothing less than an entity is read into its type | TestEntitiesAreNotReadInPart ./repo
		if v := &s.t.views[i]; e.less != "" && v.IsWhole(s.values.Type().Elem()) {
			const less = "gives less than all of a %q, and a write of that would remove the rest; "
			if s.searched {
				return fmt.Errorf("%w search: %s: "+less+"search by Repo.Search, or into another Go type", ErrInvalid, e.less, v.Type)
			}
			return invalid(e.less, less+"read it by package table into another Go type", v.Type)
		}
	}
	s.extent = e
	return nil
}

// in sets what is read: the table, or an index of it. Then items have positions.
func (s *items) in(index string) *items {
	s.index, s.key = index, s.t.layouts[index].keys
	s.watched = slices.Grow(s.watched, len(s.key))
	for _, a := range s.key {
		s.watch(a.Name)
	}
	return s
}

func (s *items) watch(name string) {
	if !slices.ContainsFunc(s.watched, func(w item.Watched) bool { return w.Name == name }) {
		s.watched = append(s.watched, item.Watched{Name: name})
	}
}

func (s *items) count() int { return s.values.Len() }

// one returns why there is not one value: the item is no value, or missing.
func (s *items) one() error {
	if s.err == nil && s.count() == 0 {
		return ErrNotFound
	}
	return s.err
}

// full reports whether no further item is read.
func (s *items) full() bool { return s.err != nil || s.limit > 0 && s.count() >= s.limit }

// begin makes ready for a response. It drops all values but the first n: the SDK sends
// a request again whose response broke off.
func (s *items) begin(n int) {
	s.values.SetLen(n)
	s.places = s.places[:min(n, len(s.places))]
	s.err, s.startKey, s.more, s.now = nil, nil, false, s.t.Now()
	for i := range s.noted {
		if i > n {
			s.noted[i] = nil
		}
	}
}

func (s *items) readItems(in *item.Parser) {
	for i := range in.Elements {
		s.readItem(in, i)
	}
}

func (s *items) readItem(in *item.Parser, i int) {
	if s.full() {
		s.more = true
		in.Check(in.IgnoreItem())
		return
	}
	if s.decoder == nil {
		s.decoder = item.NewDecoder(s.values.Type().Elem(), s.watched)
	}
	value, from := s.add(s.decoder.Left(in)), in.Pos()
	refusal, ok := s.decoder.Decode(in, value)
	if !in.Check(ok) {
		return
	}
	s.itemIndex, s.json, s.read = i, in.Since(from), nil
	s.admit(value, refusal)
}

func (s *items) takeItems(all []map[string]types.AttributeValue) {
	for i, item := range all {
		s.takeItem(item, i, len(all)-i-1)
	}
}

// takeItem takes an item that the client has read, before as many others as left. Nil
// is no item.
func (s *items) takeItem(item Item, i, left int) {
	if item == nil {
		return
	}
	if s.full() {
		s.more = true
		return
	}
	for j := range s.watched {
		s.watched[j] = watched(item, s.watched[j].Name)
	}
	s.itemIndex, s.json, s.read = i, nil, item
	value := s.add(left)
	s.admit(value, item.Decode(value.Addr().Interface()))
}

// mostLeft bounds the memory that is set aside for items not seen yet.
const mostLeft = 1000

// add adds a zero value, and returns it. If there is no room it makes some for as many
// values more as left.
func (s *items) add(left int) reflect.Value {
	n := s.count()
	if n == s.values.Cap() {
		s.values.Grow(1 + min(left, mostLeft))
	}
	s.values.SetLen(n + 1)
	value := s.values.Index(n)
	value.SetZero()
	return value
}

// admit decides about the item that was read last, whose value is the last one:
// whether it stays, and whether to read on. refusal is why the item does not fit.
func (s *items) admit(value reflect.Value, refusal error) {
	live, err := s.check(value, refusal)
	if !live || err != nil {
		value.SetZero() // not a partial one
	}
	n := s.count()
	switch {
	case live && s.placed:
		s.places = append(s.places, place{index: s.itemIndex, size: s.size(), at: s.keys(), err: err})
	case live && err == nil:
		if _, wanted := s.noted[n]; wanted {
			s.noted[n] = s.at()
		}
	case live:
		s.err = &itemError{s.keys(), err}
		s.values.SetLen(n - 1)
	default: // it has expired
		s.values.SetLen(n - 1)
	}
	if s.full() {
		s.startKey = s.at()
	}
}

// check reports whether the item that was read last has not expired, and why it is no
// value: it is of another type, its upgrade fails, or it does not fit, which refusal
// says.
func (s *items) check(value reflect.Value, refusal error) (live bool, err error) {
	//mutants:guard a search drops what has expired by then | TestSearchComparesWithWhatItReads ./repo
	if s.t.expired(s.watched[watchedTTL], s.now) {
		return false, nil
	}
	if err := s.wrongType(); err != nil {
		return !s.searched, err
	}
	//mutants:guard a search finds nothing of another tenant | TestSearchResponses
	if !s.isAsked() {
		return false, nil
	}
	if view := s.view(); view != nil {
		if err := s.differs(view); err != nil {
			return !s.searched, err
		}
		refusal = s.applyView(value, refusal, view)
	}
	return true, refusal
}

func (s *items) wrongType() error {
	if s.t.ofType == "" {
		return nil
	}
	have := s.typeText()
	switch {
	case string(have) == s.t.ofType:
		return nil
	case s.t.schema.KindOf(s.t.ofType) != nil:
		return fmt.Errorf("%w: want %q, have %q, by the Kinds of the schema", ErrWrongType, s.t.ofType, item.Shortened(string(have)))
	case s.watched[watchedType].Kind == 0 && s.index == "": // an index may not hold the attribute
		return fmt.Errorf("%w: want %q, and the item has no attribute %q; an update without IfExists may have created it: complete or delete it by its key",
			ErrWrongType, s.t.ofType, s.t.schema.TypeAttribute)
	}
	err := fmt.Errorf("%w: want %q, have %q in attribute %q", ErrWrongType, s.t.ofType, item.Shortened(string(have)), s.t.schema.TypeAttribute)
	if s.queried {
		err = fmt.Errorf("%w; give the query a Range of the sort keys of %q, or read all types with repo.Collect", err, s.t.ofType)
	}
	return err
}

// differs reports an item that has not what all items of the view have.
func (s *items) differs(view *item.View) error {
	if len(view.Equal) == 0 {
		return nil
	}
	has := s.read
	if has == nil { // which has types that are not watched
		has = item.RawJSON(s.json).Attributes(func(name []byte) bool { return view.Equal[string(name)] != "" })
	}
	for name, want := range view.Equal {
		if is := has[name]; is != nil && item.Text(is) != want {
			return fmt.Errorf("%w: %q wants %q in attribute %q", ErrWrongType, view.Type, want, name)
		}
	}
	return nil
}

// typeText returns the type of the item that was read last.
func (s *items) typeText() []byte {
	if kinds := s.t.schema.Kinds; len(kinds) > 0 {
		wanted := func(name []byte) bool { return s.t.tellsType(string(name)) }
		if s.read != nil {
			return []byte(s.t.schema.TypeOf(s.read))
		}
		return []byte(s.t.schema.TypeOf(item.RawJSON(s.json).Attributes(wanted)))
	}
	if w := s.watched[watchedType]; w.Kind == item.S {
		return w.Text
	}
	return nil
}

// isAsked reports whether the item that was read last has the values that were asked for.
func (s *items) isAsked() bool {
	for _, k := range s.required {
		if kind, text := s.text(k.Name); !kind.Holds(text, string(k.Type), k.text) {
			return false
		}
	}
	return true
}

// named gives an error the type of the item, unless the view is for one type.
func (s *items) named(err error) error {
	if s.t.ofType != "" {
		return err
	}
	return fmt.Errorf("item of type %q: %w", item.Shortened(string(s.watched[watchedType].Text)), err)
}

// attributes returns those of the item, in a map to change.
func (s *items) attributes() Item {
	if s.read != nil {
		return item.RawOf(s.read).Attributes(nil)
	}
	return item.RawJSON(s.json).Attributes(nil)
}

// size returns about how many bytes the item has.
func (s *items) size() int {
	if s.read != nil {
		return s.read.Size()
	}
	return s.decoder.Size()
}

// at returns the item's position: its key attributes.
func (s *items) at() Item {
	position := make(Item, len(s.key))
	for _, a := range s.key {
		if kind, text := s.text(a.Name); kind != 0 {
			position[a.Name] = keyValue(types.ScalarAttributeType(kind.String()), text)
		}
	}
	return position
}

// keys returns the item's keys, as far as it has a position.
func (s *items) keys() (at itemKeys) {
	at.key = s.keyUnder(s.t.schema.PK, s.t.schema.SK)
	if s.index != "" {
		at.indexKey = s.keyUnder(s.t.layouts[s.index].names())
	}
	return at
}

// keyUnder returns the key in the attributes of these names.
func (s *items) keyUnder(pk, sk string) keys.Key {
	_, partition := s.text(pk)
	_, sort := s.text(sk)
	return keys.Key{PK: keys.PK(partition), SK: keys.SK(sort)}
}

// text returns what an attribute of the item holds that is watched.
func (s *items) text(name string) (item.Kind, string) {
	for i := range s.watched {
		if w := &s.watched[i]; w.Name == name && name != "" {
			return w.Kind, string(w.Text)
		}
	}
	return 0, ""
}

// itemKeys are an item's keys in the table, and in the index that it was read from.
type itemKeys struct{ key, indexKey keys.Key }

// itemError says which item of a response an error is about.
type itemError struct {
	itemKeys
	err error
}

func (e *itemError) Error() string { return e.err.Error() }

func (e *itemError) Unwrap() error { return e.err }

// extent says how much a read gives of an item.
type extent struct {
	// less is the field of a query because of which it may be less than all of it, "" if
	// it is all. shapeless means that its shape is not known.
	less      string
	shapeless bool
	// keep are the attributes that are kept of an item that is read as a whole, to be
	// upgraded first; all if it is nil.
	keep []string
}
