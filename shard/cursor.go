package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"unicode/utf8"

	"github.com/singletable/singletable/internal/window"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
)

// start checks a query and opens its cursor. after is nil without one.
func (r *Reader[T]) start(q Query) (after *rank, at paginate.Position, err error) {
	if q.Limit < 0 {
		return nil, at, r.invalid("Limit", "is negative")
	}
	if err := q.Range.Validate(); err != nil || q.After == "" {
		return nil, at, err
	}
	if at, err = r.table.Cursors().Watermarks().Open(q.After, r.scope(q)); err != nil {
		return nil, at, err
	}
	first := at.Values[0]
	p := rank{sk: keys.SK(first.Data)}
	switch {
	case len(at.Values) != 1+int(r.ties):
		// NonUniqueSortKeys, or Dedupe together with it, was switched between the pages.
		return nil, at, &paginate.Error{Reason: paginate.Mismatch}
	case first.Kind != paginate.String || p.sk == "" || len(p.sk) > keys.MaxSK:
		return nil, at, &paginate.Error{Reason: paginate.Malformed} // forged; it was not sealed
	case !at.FromEdge && window.After(q.Range, p.sk, order(q.Descending != at.Before)) == window.Other:
		return nil, at, &paginate.Error{Reason: paginate.OutOfRange}
	case r.ties == byIdentity:
		p.id = at.Values[1].Data
	case r.ties == byTableKey:
		p.key = keys.Key{PK: keys.PK(at.Values[1].Data), SK: keys.SK(at.Values[2].Data)}
	}
	return &p, at, nil
}

// order is that of a read in one direction.
func order(descending bool) window.Order {
	return window.Order{Compare: cmp.Compare[keys.SK], Descending: descending, Segments: true}
}

// following returns the least sort key that is greater than all that begin with
// prefix, or a greater one if that would be too long. It is empty if no key is
// greater. The order of UTF-8 is that of its code points.
func following(prefix keys.SK) keys.SK {
	const surrogates, afterSurrogates = 0xD800, 0xE000 // not in UTF-8
	for head := string(prefix); head != ""; {
		last, size := utf8.DecodeLastRuneInString(head)
		head = head[:len(head)-size]
		if last++; last == surrogates {
			last = afterSurrogates
		}
		if last <= utf8.MaxRune && len(head)+utf8.RuneLen(last) <= keys.MaxSK {
			return keys.SK(head + string(last))
		}
	}
	return ""
}

// scope returns what a cursor is bound to: what decides which walk it belongs
// to. The bounds of the range, the page size and the number of shards may change between
// pages.
func (r *Reader[T]) scope(q Query) []byte {
	order := "newest"
	if !q.Descending {
		order = "oldest"
	}
	prefix := string(r.index.Prefix)
	if prefix == "" {
		prefix = string(r.shards[0])
	}
	h := sha256.New()
	for _, f := range []string{
		"singletable shard 2", r.table.Schema().Name, r.index.Index, r.sk, prefix, q.Scope, order, string(q.Range.Prefix),
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		h.Write([]byte(f))
	}
	return h.Sum(nil)
}

// seal makes the cursor of a position.
func (r *Reader[T]) seal(q Query, p rank, at paginate.Position) (string, error) {
	at.Values = []paginate.Value{{Kind: paginate.String, Data: string(p.sk)}}
	switch r.ties {
	case byIdentity:
		at.Values = append(at.Values, paginate.Value{Kind: paginate.Binary, Data: p.id})
	case byTableKey:
		// Table keys of other types than strings order as their text does, which
		// is as good as any order here.
		at.Values = append(at.Values,
			paginate.Value{Kind: paginate.Binary, Data: string(p.key.PK)},
			paginate.Value{Kind: paginate.Binary, Data: string(p.key.SK)})
	}
	return r.table.Cursors().Watermarks().Seal(at, r.scope(q))
}

// sealBack makes the cursor that leads from a page to where the query came from: from its first
// row or, if it has none, from the position of the query, with nothing on this side of it.
func (r *Reader[T]) sealBack(q Query, rows []row[T], at rank, before bool) (string, error) {
	if len(rows) > 0 {
		return r.seal(q, rows[0].rank, paginate.Position{Before: before})
	}
	return r.seal(q, at, paginate.Position{Before: before, FromEdge: true})
}
