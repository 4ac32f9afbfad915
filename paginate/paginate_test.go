package paginate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// The positions of the AppCore example.
var (
	txPosition = paginate.Position{Values: []paginate.Value{ // of a user's transactions
		{Kind: paginate.String, Data: "TX#2024-01-15T10:05:00.000Z#tx-abc"},
	}}
	indexPosition = paginate.Position{Values: []paginate.Value{ // of the same item on GSI1
		{Kind: paginate.String, Data: "2024-01-15T10:05:00.000Z"},
		{Kind: paginate.String, Data: "USER#u-123"},
		{Kind: paginate.String, Data: "TX#2024-01-15T10:05:00.000Z#tx-abc"},
	}}
	metadataPosition = paginate.Position{Values: []paginate.Value{ // of the transaction under its own id, on GSI1
		{Kind: paginate.String, Data: "2024-01-15T10:05:00.000Z#tx-abc"},
		{Kind: paginate.String, Data: "TX#tx-abc"},
		{Kind: paginate.String, Data: "METADATA"},
	}}
	watermark = paginate.Position{Values: []paginate.Value{
		{Kind: paginate.String, Data: "2024-01-15T10:05:00.000Z#tx-abc"},
	}}
)

var (
	scope = []byte("alice's transactions")
	epoch = time.Date(2024, 1, 15, 10, 6, 0, 0, time.UTC)
)

func newCodec(tb testing.TB, opts *paginate.Options, keys ...paginate.Key) *paginate.Codec {
	tb.Helper()
	if len(keys) == 0 {
		keys = []paginate.Key{paginate.NewKey()}
	}
	return expect.Value(paginate.New(keys, opts))(tb)
}

func seal(tb testing.TB, c *paginate.Codec, p paginate.Position, scope []byte) string {
	tb.Helper()
	return expect.Value(c.Seal(p, scope))(tb)
}

func checkOpens(tb testing.TB, c *paginate.Codec, cursor string, scope []byte, want paginate.Position) {
	tb.Helper()
	got, err := c.Open(cursor, scope)
	if err != nil {
		tb.Fatalf("Open: %v, reason %q", err, reasonOf(err))
	}
	expect.Equal(tb, "reopened position", got, want)
}

func checkRefused(tb testing.TB, c *paginate.Codec, cursor string, scope []byte, want paginate.Reason) {
	tb.Helper()
	p, err := c.Open(cursor, scope)
	if p.Values != nil || !errors.Is(err, paginate.ErrInvalidCursor) || reasonOf(err) != want {
		tb.Errorf("Open = %v, %v with reason %q; want ErrInvalidCursor with reason %q", p, err, reasonOf(err), want)
	}
}

func reasonOf(err error) paginate.Reason {
	if e, ok := errors.AsType[*paginate.Error](err); ok {
		return e.Reason
	}
	return ""
}

// codecs are one codec of each format.
func codecs(tb testing.TB) map[string]*paginate.Codec {
	return map[string]*paginate.Codec{"sealed": newCodec(tb, nil), "of the process": nil, "unsealed": paginate.Insecure()}
}
