package table

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/window"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
)

// seal makes the cursor of a position, whose values are given as a start key.
func (r *reader) seal(start Item, position paginate.Position) (string, error) {
	position.Values = make([]paginate.Value, len(r.position))
	for i, a := range r.position {
		kind, text := keyText(start[a.Name])
		if kind != a.Type {
			return "", fmt.Errorf("the item at the end of the page lacks key attribute %q", a.Name)
		}
		position.Values[i] = paginate.Value{Kind: kind[0], Data: text}
	}
	return r.t.options.Cursors.Seal(position, r.cursorScope())
}

// open returns the position of a cursor, with its values as a start key. They may have
// been forged if the codec does not seal, so all that DynamoDB would refuse in them is
// refused here.
func (r *reader) open(cursor string) (start Item, position paginate.Position, err error) {
	position, err = r.t.options.Cursors.Open(cursor, r.cursorScope())
	if err != nil {
		return nil, position, err
	}
	if len(position.Values) != len(r.position) {
		return nil, position, &paginate.Error{Reason: paginate.Malformed}
	}
	start = make(Item, len(r.position)+len(r.fixed))
	for i, a := range r.position {
		v := position.Values[i]
		if types.ScalarAttributeType(v.Kind) != a.Type || !r.holds(a, v.Data) {
			return nil, position, &paginate.Error{Reason: paginate.Malformed}
		}
		start[a.Name] = keyValue(a.Type, v.Data)
	}
	return start, position, nil
}

// openNext is open for a cursor that must lead to what comes after its position.
func (r *reader) openNext(cursor string) (Item, error) {
	start, position, err := r.open(cursor)
	if err == nil && (position.Before || position.FromEdge) {
		err = &paginate.Error{Reason: paginate.Mismatch}
	}
	return start, err
}

// holds reports whether the key attribute of a stored item can have the value.
func (r *reader) holds(a schema.Attribute, text string) bool {
	if a.Type == types.ScalarAttributeTypeN {
		return item.StorableNumber(text)
	}
	limit := keys.MaxSK
	if !slices.Contains(r.sort, a) && (slices.Contains(r.partition, a) || a.Name == r.t.schema.PK) {
		limit = keys.MaxPK
	}
	return text != "" && len(text) <= limit && (a.Type != types.ScalarAttributeTypeS || utf8.ValidString(text))
}

// cursorScope returns the hash of everything that a cursor is bound to. The rest
// of a query may change from page to page; see [Query].
func (r *reader) cursorScope() []byte {
	h := sha256.New()
	text := func(fields ...string) {
		for _, f := range fields {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
			h.Write([]byte(f))
		}
	}
	text("singletable cursor 1", r.t.schema.Name, r.Index, r.Scope)
	text(r.bound...)
	if r.scan != nil {
		text(r.partition[0].Name, string(r.partition[0].Type))
	}
	for _, k := range r.fixed {
		text(k.Name, string(k.Type))
	}
	for _, a := range r.position {
		text(a.Name, string(a.Type))
	}
	return h.Sum(nil)
}

// resumeQuery puts the reader at the position of the query's cursor. The partition
// comes from the query and never from the cursor, so no cursor leads into another
// partition; some engines would follow it there.
func (r *reader) resumeQuery(at Item) error {
	r.after = at
	_, text := keyText(at[r.ranged.Name])
	switch window.After(r.Range, keys.SK(text), r.order()) {
	case window.Other:
		return &paginate.Error{Reason: paginate.OutOfRange}
	case window.Nothing:
		r.done = true
	case window.Whole:
		// DynamoDB refuses a start key outside of the range. Seen:
		// architect/dynalite, test/query.js.
	case window.Part:
		for _, k := range r.fixed {
			at[k.Name] = k.value()
		}
		r.start = at
	}
	return nil
}
