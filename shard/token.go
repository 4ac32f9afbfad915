package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
)

// merge begins a read.
func (r *Reader[T]) merge(q Query) (*merge[T], error) {
	if q.Limit < 0 {
		return nil, r.invalid("Limit", "is negative")
	}
	if err := q.Range.Validate(); err != nil {
		return nil, err
	}
	m := &merge[T]{r: r, q: q, past: map[string]bool{}}
	for _, label := range r.labels {
		m.shards = append(m.shards, &source{label: label})
	}
	if q.After != "" {
		after, err := r.open(q)
		if err != nil {
			return nil, err
		}
		m.after = &after
	}
	m.bounds = bounds(q, m.after)
	return m, nil
}

// bounds returns the range of sort keys that are left after a position. It
// includes the position, since DynamoDB has no range that excludes one end and
// includes the other; items up to it are dropped when they arrive.
func bounds(q Query, after *position) keys.Range {
	r := q.Range
	if after == nil {
		return r
	}
	if r.Prefix != "" {
		// From the least sort key with the prefix TX# to TX$, which follows them
		// all and is none of them.
		r = keys.Range{From: r.Prefix, To: keys.SK(strings.TrimSuffix(string(r.Prefix), "#")) + "$"}
	}
	if at := keys.SK(after.sk); q.OldestFirst {
		r.From = at
	} else {
		r.To = at
	}
	return r
}

// scope returns what a token is bound to: everything that decides which items a
// walk returns and in which order, but not the number of shards.
func (r *Reader[T]) scope(q Query) []byte {
	order := "newest"
	if q.OldestFirst {
		order = "oldest"
	}
	h := sha256.New()
	for _, f := range []string{
		"singletable shard 1", r.table.Schema().Name, r.index.Index, string(r.index.Name), q.Scope, order,
		string(q.Range.Prefix), string(q.Range.From), string(q.Range.To),
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		h.Write([]byte(f))
	}
	return h.Sum(nil)
}

// token seals the position of the walk.
func (m *merge[T]) token() (string, error) {
	at := paginate.Position{{Kind: paginate.String, Data: m.after.sk}}
	if m.r.index.Ties {
		// Table keys of other types than strings order as their bytes do, which
		// is as good as any order here.
		at = append(at,
			paginate.Value{Kind: paginate.Binary, Data: m.after.tablePK},
			paginate.Value{Kind: paginate.Binary, Data: m.after.tableSK})
	}
	return m.r.table.Cursors().Watermarks().Seal(at, m.r.scope(m.q))
}

func (r *Reader[T]) open(q Query) (position, error) {
	at, err := r.table.Cursors().Watermarks().Open(q.After, r.scope(q))
	if err != nil {
		return position{}, err
	}
	want := 1
	if r.index.Ties {
		want = 3
	}
	if len(at) != want || at[0].Data == "" || !q.Range.Contains(keys.SK(at[0].Data)) {
		return position{}, paginate.ErrInvalidCursor
	}
	p := position{sk: at[0].Data}
	if r.index.Ties {
		p.tablePK, p.tableSK = at[1].Data, at[2].Data
	}
	return p, nil
}
