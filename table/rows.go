package table

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
)

// rows makes values of the items of a response. It is the one place where items
// become Go values: those of a *dynamodb.Client come as JSON and are decoded
// straight from it, those of other clients as attribute values.
type rows[T any] struct {
	t   *Table
	now time.Time
	// value is made of the latest item, and watched is what else is known of it:
	// its type, its expiry, and its key attributes, whose names are key.
	value   T
	watched []codec.Watched
	key     []string
	decoder *codec.Decoder
	// read is the latest item if the client has read it.
	read Item
	// items is how many items of the response were seen, and expected how many
	// it has, or about how many.
	items, expected int

	// begin is called before the first item of a response, which is for the
	// second time if the SDK tries again after an answer broke off.
	begin func()
	// take is called for the ith item if it is live, or if err tells what is
	// wrong with it. It returns false when no more are wanted.
	take func(i int, err error) bool
	full bool
}

// The attributes that are watched before those of the key.
const (
	watchedType = iota
	watchedTTL
)

func newRows[T any](t *Table, key ...attribute) *rows[T] {
	r := &rows[T]{t: t, watched: make([]codec.Watched, 0, 6), key: make([]string, 0, len(key))}
	r.watch(t.schema.Type)
	r.watch(t.schema.TTL)
	for _, a := range key {
		if a.name != "" && !slices.Contains(r.key, a.name) {
			r.key = append(r.key, a.name)
			r.watch(a.name)
		}
	}
	return r
}

func (r *rows[T]) watch(name string) {
	if !slices.ContainsFunc(r.watched, func(w codec.Watched) bool { return w.Name == name }) {
		r.watched = append(r.watched, codec.Watched{Name: name})
	}
}

// text returns what an attribute holds that is watched.
func (r *rows[T]) text(name string) (codec.Kind, string) {
	for i := range r.watched {
		if w := &r.watched[i]; w.Name == name {
			return w.Kind, string(w.Text)
		}
	}
	return 0, ""
}

// mostExpected bounds the memory that is set aside for items not seen yet.
const mostExpected = 1000

// restart makes ready for the items of a response.
func (r *rows[T]) restart(expected int) {
	r.now, r.full, r.items, r.expected = r.t.Now(), false, 0, expected
	if r.begin != nil {
		r.begin()
	}
}

// json takes an item that is read from a response. It returns false if that is
// none.
func (r *rows[T]) json(i int, in *codec.Reader) bool {
	r.items++
	if r.full {
		return in.IgnoreItem()
	}
	r.value, r.read = *new(T), nil
	if r.decoder == nil {
		r.decoder = codec.NewDecoder(reflect.TypeFor[T](), r.watched)
	}
	from := in.Pos()
	refusal, ok := r.decoder.Decode(in, reflect.ValueOf(&r.value).Elem())
	if !ok {
		return false
	}
	if i == 0 {
		// The others need not be as long as the first one.
		r.expected = min(1+in.Rest()/(in.Pos()-from), mostExpected)
	}
	live, err := r.admit()
	if live && err == nil {
		err = refusal
	}
	r.give(i, live, err)
	return true
}

// item takes an item that the client has read.
func (r *rows[T]) item(i int, item Item) {
	r.items++
	if r.full {
		return
	}
	for i := range r.watched {
		r.watched[i] = watched(item, r.watched[i].Name)
	}
	r.value, r.read = *new(T), item
	live, err := r.admit()
	if live && err == nil {
		err = item.Decode(&r.value)
	}
	r.give(i, live, err)
}

// give passes the ith item to take if it is live, or if err tells what is wrong
// with it.
func (r *rows[T]) give(i int, live bool, err error) {
	if err != nil {
		r.value = *new(T) // not a partial value
	}
	if live || err != nil {
		r.full = !r.take(i, err)
	}
}

// size returns the number of bytes of the latest item.
func (r *rows[T]) size() int {
	if r.read != nil {
		return r.read.Size()
	}
	return r.decoder.Size()
}

// admit reports whether the latest item is live. It refuses one of another type
// than the view is for.
func (r *rows[T]) admit() (live bool, err error) {
	if r.t.expired(r.watched[watchedTTL], r.now) {
		return false, nil
	}
	if r.t.ofType != "" {
		var have []byte
		if w := r.watched[watchedType]; w.Kind == codec.S {
			have = w.Text
		}
		if string(have) != r.t.ofType {
			return false, fmt.Errorf("%w: want %q, have %q in attribute %q", ErrWrongType, r.t.ofType, shortened(string(have)), r.t.schema.Type)
		}
	}
	return true, nil
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

// position returns the latest item's key attributes.
func (r *rows[T]) position() Item {
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
		return codec.Watched{Name: name, Kind: codec.S, Text: []byte(v.Value)}
	case *types.AttributeValueMemberN:
		return codec.Watched{Name: name, Kind: codec.N, Text: []byte(v.Value)}
	case *types.AttributeValueMemberB:
		return codec.Watched{Name: name, Kind: codec.B, Text: v.Value}
	}
	return codec.Watched{Name: name}
}
