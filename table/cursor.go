package table

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/paginate"
)

// seal makes the token of a position, which is given as a start key.
func (r *reader) seal(start Item) (string, error) {
	position := make(paginate.Position, len(r.position))
	for i, a := range r.position {
		kind, text := keyText(start[a.name])
		if kind != a.kind {
			return "", fmt.Errorf("the item at the end of the page lacks key attribute %q", a.name)
		}
		position[i] = paginate.Value{Kind: paginate.Kind(kind[0]), Data: text}
	}
	scope, err := r.cursorScope()
	if err != nil {
		return "", err
	}
	return r.t.options.Cursors.Seal(position, scope)
}

// open makes a start key of a token.
func (r *reader) open(token string) (Item, error) {
	scope, err := r.cursorScope()
	if err != nil {
		return nil, err
	}
	position, err := r.t.options.Cursors.Open(token, scope)
	if err != nil {
		return nil, err
	}
	if len(position) != len(r.position) {
		return nil, paginate.ErrInvalidCursor
	}
	start := make(Item, len(position)+1)
	for i, a := range r.position {
		if types.ScalarAttributeType(position[i].Kind) != a.kind {
			return nil, paginate.ErrInvalidCursor
		}
		start[a.name] = keyValue(a.kind, position[i].Data)
	}
	return start, nil
}

// cursorScope returns the hash of what a token is bound to: everything that
// decides which items a walk returns and in which order. Page size and
// projection may change on the way.
func (r *reader) cursorScope() ([]byte, error) {
	h := sha256.New()
	text := func(fields ...string) {
		for _, f := range fields {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
			h.Write([]byte(f))
		}
	}
	text("singletable cursor 1", r.t.schema.Name, r.index, r.scope)
	text(r.bound...)
	text(r.pk.name, string(r.pk.kind))
	for _, a := range r.position {
		text(a.name, string(a.kind))
	}
	if r.filter.IsSet() {
		filtering := reader{selection: selection{filter: r.filter}}
		names, values := map[string]string{}, map[string]types.AttributeValue{}
		filter, _, err := filtering.expressions(names, values)
		if err != nil {
			return nil, err
		}
		text("filter", *filter)
		for _, placeholder := range slices.Sorted(maps.Keys(names)) {
			text(placeholder, names[placeholder])
		}
		for _, placeholder := range slices.Sorted(maps.Keys(values)) {
			text(placeholder)
			h.Write(appendCanonical(nil, values[placeholder]))
		}
	}
	return h.Sum(nil), nil
}
