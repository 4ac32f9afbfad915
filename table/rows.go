package table

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
)

// rows reads the items of responses. It is the one place where items become Go
// values: those of a *dynamodb.Client come as JSON and are decoded straight from it,
// those of other clients as attribute values.
type rows struct {
	// list takes the live items, in the order of the responses, and count is how many
	// it has.
	list  list
	count int
	// kept is how many of them are those of earlier responses, and come before.
	kept int
	// limit is how many values a response is to give at most; 0 means all.
	limit int
	// items is how many items the response has.
	items int
	// err is why the item at last is no value. The ones after it were not read.
	err error
	// full is set once there are limit values, or an err. last is then the number
	// of the last item that was read, and position its key attributes.
	full     bool
	last     int
	position Item

	// first is the position of the first value of all, and mark that of the one with
	// the number marked, from 1, unless that is 0.
	first, mark Item
	marked      int

	latest row
	// met is told of each live item, and why it is no T, before its value is added.
	// An error ends the reading. Nil returns what it is given.
	met func(r *row, err error) error
	now time.Time
	// share is how much of an item its value is made of.
	share share
	// expected is about how many items the response has.
	expected int
}

// row is the latest item of a response.
type row struct {
	t *Table
	// number is its place in the response.
	number int
	// value is the variable that it is read into.
	value reflect.Value
	// watched is what else is known of it: its type, its expiry, and its key
	// attributes, whose names are key.
	watched []codec.Watched
	key     []string
	decoder *codec.Decoder
	// read is the item itself if the client has read it.
	read Item
	// at and err are the keys and the Err of a [Row].
	at  itemKeys
	err error
}

// The attributes that are watched before those of the key.
const (
	watchedType = iota
	watchedTTL
	watchedShape // if there are views
)

// of sets the table that the responses are of, how much they give of an item, and the
// key attributes.
func (r *rows) of(t *Table, share share, key ...Attribute) {
	l := &r.latest
	r.share = share
	l.t, l.watched, l.key = t, make([]codec.Watched, 0, 6), make([]string, 0, len(key))
	l.watch(t.schema.Type)
	l.watch(t.schema.TTL)
	if len(t.views) > 0 {
		l.watch(t.schema.Shape)
	}
	for _, a := range key {
		l.key = append(l.key, a.Name)
		l.watch(a.Name)
	}
}

// receive makes one call that reads. items returns the items in the output: none
// if they were decoded from the response.
func receive[In, Out any](
	ctx context.Context, t *Table, r *request, into *rows,
	call func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
	units func(*Out) float64, items func(*Out) []map[string]types.AttributeValue,
) (*Out, error) {
	r.items = into
	out, err := send(ctx, t, r, call, in, units)
	if err == nil && !r.decoded {
		into.convert(items(out))
	}
	return out, err
}

// mostExpected bounds the memory that is set aside for items not seen yet.
const mostExpected = 1000

// cut drops all values but the first n.
func (r *rows) cut(n int) {
	r.list.cut(n)
	r.count = n
}

// reset makes ready for a response, which is another one for the same request if
// the SDK tries again after a response broke off.
func (r *rows) reset() {
	r.cut(r.kept)
	r.items, r.full, r.err = 0, false, nil
	r.now = r.latest.t.Now()
	if r.kept == 0 {
		r.first = nil
	}
}

// decode makes the values of a response. It returns false if an item could not be
// read.
func (r *rows) decode(response *split) bool {
	r.reset()
	in := response.in
	l := &r.latest
	if l.decoder == nil {
		l.decoder = codec.NewDecoder(l.value.Type(), l.watched)
	}
	for i := range response.items {
		r.items++
		if r.full {
			if !in.IgnoreItem() {
				return false
			}
			continue
		}
		l.number, l.read = i, nil
		l.value.SetZero()
		from := in.Pos()
		refusal, ok := l.decoder.Decode(in, l.value)
		if !ok {
			return false
		}
		if i == 0 {
			// The others need not be as long as the first one.
			r.expected = min(1+in.Rest()/(in.Pos()-from), mostExpected)
		}
		r.add(refusal, in.Since(from))
	}
	return true
}

// convert makes the values of items that the client has read.
func (r *rows) convert(items []map[string]types.AttributeValue) {
	r.reset()
	r.expected = len(items)
	l := &r.latest
	for i, attributes := range items {
		r.items++
		if r.full || attributes == nil {
			continue
		}
		item := Item(attributes)
		for i := range l.watched {
			l.watched[i] = watched(item, l.watched[i].Name)
		}
		l.number, l.read = i, item
		l.value.SetZero()
		r.add(item.Decode(l.value.Addr().Interface()), nil)
	}
}

// add adds the value of the latest item, unless it has expired. refusal is why
// the item is no T, if it is not. json is the item, unless the client has read it.
func (r *rows) add(refusal error, json []byte) {
	l := &r.latest
	if l.t.expired(l.watched[watchedTTL], r.now) {
		return
	}
	err := l.wrongType()
	if err == nil {
		err = l.finish(refusal, r.share, json)
	}
	if err != nil {
		l.value.SetZero() // not a partial value
	}
	if r.count == r.kept {
		r.list.grow(r.expected)
	}
	if r.met != nil {
		err = r.met(l, err)
	}
	if err == nil {
		r.list.add()
		r.count++
		if r.marked > 0 && r.count == 1 {
			r.first = l.position()
		}
		if r.count == r.marked {
			r.mark = l.position()
		}
	}
	if r.err = err; err != nil || r.count-r.kept == r.limit {
		r.full, r.last, r.position = true, l.number, l.position()
	}
}

// wrongType returns why an item is not of the type that the view is for.
func (r *row) wrongType() error {
	if r.t.ofType == "" {
		return nil
	}
	var have []byte
	if w := r.watched[watchedType]; w.Kind == codec.S {
		have = w.Text
	}
	if string(have) == r.t.ofType {
		return nil
	}
	return fmt.Errorf("%w: want %q, have %q in attribute %q", ErrWrongType, r.t.ofType, shortened(string(have)), r.t.schema.Type)
}

// finish makes the value what the view of its type says: one of the present shape, and
// marked if it is a part. refusal is why the item is no T, if it is not.
func (r *row) finish(refusal error, share share, json []byte) error {
	view := r.view()
	if view == nil {
		return refusal
	}
	shape, err := view.Shape, error(nil)
	if !share.shapeless {
		shape, err = r.shape()
	}
	switch {
	case err != nil:
		return r.named(err)
	case shape != view.Shape || share.keep != nil:
		refusal = r.remake(view, shape, share.keep, json)
	}
	if refusal == nil && share.part && view.Part != nil {
		refusal = view.Part(r.value.Addr().Interface())
	}
	return refusal
}

// view returns the view of the item's type, nil without one.
func (r *row) view() *codec.View {
	w := r.watched[watchedType]
	for i := range r.t.views {
		if v := &r.t.views[i]; w.Kind == codec.S && v.Type == string(w.Text) {
			return v
		}
	}
	return nil
}

// shape returns the shape of the item.
func (r *row) shape() (int, error) {
	w := r.watched[watchedShape]
	if w.Kind == 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(string(w.Text))
	if w.Kind != codec.N || err != nil || n < 0 {
		return 0, fmt.Errorf("attribute %q is not the number of a shape", r.t.schema.Shape)
	}
	return n, nil
}

// remake makes the value of the whole item: upgraded if it has another shape than the
// view, and then cut to what is to be kept.
func (r *row) remake(view *codec.View, shape int, keep []string, json []byte) error {
	raw := codec.RawOf(r.read)
	if r.read == nil {
		raw = codec.RawJSON(json)
	}
	item := Item(raw.Attributes(nil))
	if shape != view.Shape {
		if err := view.Change(item, shape); err != nil {
			return r.named(err)
		}
	}
	if keep != nil {
		maps.DeleteFunc(item, func(name string, _ types.AttributeValue) bool { return !slices.Contains(keep, name) })
	}
	r.value.SetZero()
	return item.Decode(r.value.Addr().Interface())
}

// named gives an error the type of the item, unless the view is for one type.
func (r *row) named(err error) error {
	if r.t.ofType != "" {
		return err
	}
	return fmt.Errorf("item of type %q: %w", shortened(string(r.watched[watchedType].Text)), err)
}

func (r *row) watch(name string) {
	for i := range r.watched {
		if r.watched[i].Name == name {
			return
		}
	}
	r.watched = append(r.watched, codec.Watched{Name: name})
}

// text returns what an attribute holds that is watched.
func (r *row) text(name string) (codec.Kind, string) {
	for i := range r.watched {
		if w := &r.watched[i]; w.Name == name {
			return w.Kind, string(w.Text)
		}
	}
	return 0, ""
}

// size returns the number of bytes of the item.
func (r *row) size() int {
	if r.read != nil {
		return r.read.Size()
	}
	return r.decoder.Size()
}

// position returns the item's key attributes.
func (r *row) position() Item {
	position := make(Item, len(r.key))
	for _, name := range r.key {
		switch kind, text := r.text(name); kind {
		case codec.S:
			position[name] = keyValue(types.ScalarAttributeTypeS, text)
		case codec.N:
			position[name] = keyValue(types.ScalarAttributeTypeN, text)
		case codec.B:
			position[name] = keyValue(types.ScalarAttributeTypeB, text)
		}
	}
	return position
}

// watched returns what is watched of an item's attribute.
func watched(item Item, name string) codec.Watched {
	switch v := item[name].(type) {
	case *types.AttributeValueMemberS:
		if v != nil {
			return codec.Watched{Name: name, Kind: codec.S, Text: []byte(v.Value)}
		}
	case *types.AttributeValueMemberN:
		if v != nil {
			return codec.Watched{Name: name, Kind: codec.N, Text: []byte(v.Value)}
		}
	case *types.AttributeValueMemberB:
		if v != nil {
			return codec.Watched{Name: name, Kind: codec.B, Text: v.Value}
		}
	}
	return codec.Watched{Name: name}
}

// expired reports whether an item's time has come, given its expiry. Like
// DynamoDB it takes only numbers for one. Less than 1 means that the item does
// not expire: DynamoDB does not delete items whose time is more than five years
// ago, so that a field left at its zero value keeps an item.
//
// AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
func (t *Table) expired(expiry codec.Watched, now time.Time) bool {
	if t.schema.TTL == "" || expiry.Kind != codec.N {
		return false
	}
	seconds, err := strconv.ParseFloat(string(expiry.Text), 64)
	return err == nil && seconds >= 1 && seconds <= float64(now.Unix())
}

// Expired reports whether an item had expired at a time, as reads see it.
func (t *Table) Expired(item Item, at time.Time) bool {
	return t.expired(watched(item, t.schema.TTL), at)
}
