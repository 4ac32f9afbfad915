package table

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
)

// sealCursor makes the token of a position, which is given as a start key.
func (t *Table) sealCursor(q Query, s shape, start Item) (string, error) {
	position := make(paginate.Position, len(s.position))
	for i, a := range s.position {
		kind, text := keyText(start[a.name])
		if kind != a.kind {
			return "", fmt.Errorf("the item at the end of the page lacks key attribute %q", a.name)
		}
		position[i] = paginate.Value{Kind: paginate.Kind(kind[0]), Data: text}
	}
	scope, err := t.cursorScope(q, s)
	if err != nil {
		return "", err
	}
	return t.options.Cursors.Seal(position, scope)
}

// openCursor makes a start key of the query's token. The partition comes from
// the query and never from the token, so that no token leads into another
// partition; some engines would follow it there.
func (t *Table) openCursor(q Query, s shape) (Item, error) {
	scope, err := t.cursorScope(q, s)
	if err != nil {
		return nil, err
	}
	position, err := t.options.Cursors.Open(q.After, scope)
	if err != nil {
		return nil, err
	}
	if len(position) != len(s.position) {
		return nil, paginate.ErrInvalidCursor
	}
	start := Item{s.pk.name: keyValue(s.pk.kind, string(q.PK))}
	for i, a := range s.position {
		if types.ScalarAttributeType(position[i].Kind) != a.kind {
			return nil, paginate.ErrInvalidCursor
		}
		start[a.name] = keyValue(a.kind, position[i].Data)
	}
	// Sort keys that are no strings are not compared here: the scope has proved
	// already that the token was made for this very range.
	if s.sk.kind == types.ScalarAttributeTypeS && !q.Range.Contains(keys.SK(position[0].Data)) {
		return nil, paginate.ErrInvalidCursor
	}
	return start, nil
}

// cursorScope returns the hash of what a token is bound to: everything that
// decides which items a walk returns and in which order. Page size and
// projection may change on the way.
func (t *Table) cursorScope(q Query, s shape) ([]byte, error) {
	h := sha256.New()
	text := func(fields ...string) {
		for _, f := range fields {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
			h.Write([]byte(f))
		}
	}
	text("singletable cursor 1", t.schema.Name, q.Index, string(q.PK), q.Scope,
		string(q.Range.Prefix), string(q.Range.From), string(q.Range.To), fmt.Sprint(q.Reverse))
	text(s.pk.name, string(s.pk.kind))
	for _, a := range s.position {
		text(a.name, string(a.kind))
	}
	if q.Filter.IsSet() {
		q.Project = nil
		in := &dynamodb.QueryInput{
			ExpressionAttributeNames:  map[string]string{},
			ExpressionAttributeValues: map[string]types.AttributeValue{},
		}
		if err := t.filter(in, q, s); err != nil {
			return nil, err
		}
		text("filter", *in.FilterExpression)
		for _, placeholder := range slices.Sorted(maps.Keys(in.ExpressionAttributeNames)) {
			text(placeholder, in.ExpressionAttributeNames[placeholder])
		}
		for _, placeholder := range slices.Sorted(maps.Keys(in.ExpressionAttributeValues)) {
			text(placeholder)
			h.Write(appendCanonical(nil, in.ExpressionAttributeValues[placeholder]))
		}
	}
	return h.Sum(nil), nil
}
