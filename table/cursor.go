package table

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
)

// seal makes the cursor of a position, which is given as a start key.
func (r *reader) seal(start Item) (string, error) {
	position := make(paginate.Position, len(r.position))
	for i, a := range r.position {
		kind, text := keyText(start[a.name])
		if kind != a.kind {
			return "", fmt.Errorf("the item at the end of the page lacks key attribute %q", a.name)
		}
		position[i] = paginate.Value{Kind: paginate.Kind(kind[0]), Data: text}
	}
	return r.t.options.Cursors.Seal(position, r.cursorScope())
}

// open makes a start key of a cursor. The position may have been forged if the
// codec does not seal, so all that DynamoDB would refuse in it is refused here.
func (r *reader) open(cursor string) (Item, error) {
	position, err := r.t.options.Cursors.Open(cursor, r.cursorScope())
	if err != nil {
		return nil, err
	}
	if len(position) != len(r.position) {
		return nil, &paginate.Error{Reason: paginate.Malformed}
	}
	start := make(Item, len(position)+1)
	for i, a := range r.position {
		v := position[i]
		if types.ScalarAttributeType(v.Kind) != a.kind || !r.holds(a, v.Data) {
			return nil, &paginate.Error{Reason: paginate.Malformed}
		}
		start[a.name] = keyValue(a.kind, v.Data)
	}
	return start, nil
}

// holds reports whether the key attribute of a stored item can have the value.
func (r *reader) holds(a attribute, text string) bool {
	if a.kind == types.ScalarAttributeTypeN {
		return codec.StorableNumber(text)
	}
	limit := keys.MaxSK
	if a != r.sk && (a == r.pk || a.name == r.t.schema.PK) {
		limit = keys.MaxPK
	}
	return text != "" && len(text) <= limit && (a.kind != types.ScalarAttributeTypeS || utf8.ValidString(text))
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
	text("singletable cursor 1", r.t.schema.Name, r.index, r.scope)
	text(r.bound...)
	text(r.pk.name, string(r.pk.kind))
	for _, a := range r.position {
		text(a.name, string(a.kind))
	}
	return h.Sum(nil)
}

// resumeQuery puts the reader at the position of the query's cursor. The partition
// comes from the query and never from the cursor, so no cursor leads into another
// partition; some engines would follow it there.
func (r *reader) resumeQuery(q Query) error {
	at, err := r.open(q.After)
	if err != nil || r.done {
		return err
	}
	_, text := keyText(at[r.sk.name])
	below := q.Range.From != "" && compareKeys(r.sk.kind, keys.SK(text), q.Range.From) < 0
	above := q.Range.To != "" && compareKeys(r.sk.kind, keys.SK(text), q.Range.To) > 0
	switch {
	case !strings.HasPrefix(text, string(r.shared(q.Range))), above && !q.Descending:
		return &paginate.Error{Reason: paginate.OutOfRange}
	case below && q.Descending:
		r.done = true
	case below || above:
		// All of the range is left. DynamoDB refuses a start key outside of it.
	default:
		at[r.pk.name] = keyValue(r.pk.kind, string(q.PK))
		r.start = at
	}
	return nil
}

// shared returns the beginning that all sort keys of a range have in common: its
// prefix, or the whole segments that both bounds begin with.
func (s shape) shared(r keys.Range) keys.SK {
	if r.Prefix != "" || s.sk.kind != types.ScalarAttributeTypeS {
		return r.Prefix
	}
	n := 0
	for n < min(len(r.From), len(r.To)) && r.From[n] == r.To[n] {
		n++
	}
	return r.From[:strings.LastIndexByte(string(r.From[:n]), '#')+1]
}
