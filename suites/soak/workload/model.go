package workload

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// doc is an item as the model's workers write it. No field is zero where it is
// set, so that an attribute is there exactly when the field is not zero.
type doc struct {
	PK      keys.PK `dynamodbav:"p.k"`
	SK      keys.SK `dynamodbav:"s.k[0]"`
	Type    string  `dynamodbav:"entityType,omitempty"`
	By      string  `dynamodbav:"by,omitempty"` // the operation that has written it
	N       int64   `dynamodbav:"n,omitempty"`
	Version int64   `dynamodbav:"version,omitempty"`
	Color   string  `dynamodbav:"color,omitempty"`
	Pad     string  `dynamodbav:"pad,omitempty"`
	Expires int64   `dynamodbav:"expires.at,omitempty"`
	ListPK  keys.PK `dynamodbav:"GSI1PK,omitempty"`
	ListSK  keys.SK `dynamodbav:"GSI1SK,omitempty"`
	ShardPK keys.PK `dynamodbav:"GSI2PK,omitempty"`
	ShardSK keys.SK `dynamodbav:"GSI2SK,omitempty"`
}

func (d doc) key() keys.Key { return keys.Key{PK: d.PK, SK: d.SK} }

// state is the truth about some items: how they are stored, nil if they are not.
type state map[keys.Key]table.Item

// encode makes an item of a value of the soak's own types, which cannot fail.
func encode(v any) table.Item {
	item, err := attributevalue.MarshalMap(v)
	if err != nil {
		panic(err)
	}
	return item
}

// decode is the reverse of encode.
func decode[T any](item table.Item) T {
	var v T
	if err := item.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// text writes an item down, so that two items are equal if their texts are.
func text(item table.Item) string {
	if item == nil {
		return "none"
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(item)) {
		value := ""
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			value = fmt.Sprintf("%q", v.Value)
		case *types.AttributeValueMemberN:
			value = v.Value
		default:
			value = fmt.Sprintf("%T", v)
		}
		if len(value) > 60 {
			value = fmt.Sprintf("%s… (%d)", value[:40], len(value))
		}
		fmt.Fprintf(&b, "%s=%s ", name, value)
	}
	return b.String()
}

// docs returns the items of the state for which want is true, in the order of
// less: those that are live by the clock, or all if it is nil.
func (s state) docs(c *clock, want func(doc) bool, less func(a, b doc) int) []doc {
	var out []doc
	for _, item := range s {
		if item == nil {
			continue
		}
		if d := decode[doc](item); (c == nil || !c.expired(d.Expires)) && want(d) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, less)
	return out
}

// bySK and its likes are the orders of queries.
func bySK(a, b doc) int   { return cmp.Compare(a.SK, b.SK) }
func byList(a, b doc) int { return cmp.Compare(a.ListSK, b.ListSK) }

// live returns the live item under a key.
func (s state) live(c *clock, key keys.Key) (doc, bool) {
	item := s[key]
	if item == nil {
		return doc{}, false
	}
	d := decode[doc](item)
	return d, !c.expired(d.Expires)
}

// read returns the items under keys as they are stored, by the SDK alone.
func (s *session) read(ctx context.Context, ks []keys.Key) (state, error) {
	got := make(state, len(ks))
	for chunk := range slices.Chunk(ks, 100) {
		want := types.KeysAndAttributes{ConsistentRead: new(true)}
		for _, k := range chunk {
			got[k] = nil
			want.Keys = append(want.Keys, itemKey(string(k.PK), string(k.SK)))
		}
		for len(want.Keys) > 0 {
			out, err := s.raw.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{s.schema.Name: want},
			})
			if err != nil {
				return nil, fmt.Errorf("read the truth: %w", err)
			}
			for _, item := range out.Responses[s.schema.Name] {
				d := decode[doc](item)
				got[d.key()] = item
			}
			want.Keys = out.UnprocessedKeys[s.schema.Name].Keys
		}
	}
	return got, nil
}

// differ says where two states differ, for the keys of want.
func differ(got, want state) error {
	for k, w := range want {
		if g := text(got[k]); g != text(w) {
			return fmt.Errorf("%s / %s: have %s, want %s", k.PK, k.SK, g, text(w))
		}
	}
	return nil
}
