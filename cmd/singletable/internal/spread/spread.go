// Package spread reads a sample of a large table from several places.
//
// A Scan of a local engine is in the order of keys, so that its first items can be of one
// type only. DynamoDB scans in the order of hashes, in which one large partition can be the
// whole beginning. A sample is read from several places instead: after the first page, each
// Scan starts behind all keys with the prefix that the last page ended in. In the order of
// hashes that is a place like any other.
package spread

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Sample is what was read. No item is in it twice.
type Sample struct {
	Items []table.Item
	Stats table.Stats
}

// A sample is from about one place for so many items, within the bounds.
const (
	perPlace   = 50
	fewPlaces  = 10
	mostPlaces = 40
)

// Read reads at most limit items of a table. They are the whole table if it has no more and
// is read in the order of keys. Expired items are read as well.
//
// Errors: those of [table.ScanPage].
func Read(ctx context.Context, client table.Client, spec schema.Table, limit int) (Sample, error) {
	t, err := table.NewWithClient(starting{client}, spec, &table.Options{MaxRounds: 1})
	if err != nil {
		return Sample{}, err
	}
	r := &reader{table: t.IncludingExpired(), left: limit, seen: map[keys.Key]bool{}}
	if err := r.jump(ctx, min(max(limit/perPlace, fewPlaces), mostPlaces)); err != nil {
		return r.sample, err
	}
	return r.sample, r.readOn(ctx)
}

// reader reads a sample.
type reader struct {
	table  *table.Table
	left   int // items that can be read
	sample Sample
	seen   map[keys.Key]bool
	twice  int // items that were read once more
	// open are the cursors of places that were not read to the next place.
	open []string
}

// jump reads the beginnings of so many places.
func (r *reader) jump(ctx context.Context, places int) error {
	each := max(r.left/places, 1)
	for range places {
		page, err := r.page(ctx, table.Scan{Limit: min(each, r.left)})
		small := r.twice > 0 // The places overlap.
		if err != nil || page.Next == "" || len(page.Items) == 0 || r.left == 0 || small {
			return err
		}
		next := r.behind(page.Items[len(page.Items)-1])
		if next == nil {
			return nil
		}
		ctx = context.WithValue(ctx, startKey{}, next)
	}
	return nil
}

// readOn continues the places evenly, until all of the limit is read. A place ends where the
// next one begins.
func (r *reader) readOn(ctx context.Context) error {
	for r.left > 0 && len(r.open) > 0 {
		open := r.open
		r.open = nil
		each := max(r.left/len(open), fewPlaces)
		for _, cursor := range open {
			if r.left == 0 {
				return nil
			}
			if _, err := r.page(ctx, table.Scan{Limit: min(each, r.left), After: cursor}); err != nil {
				return err
			}
		}
	}
	return nil
}

// page reads a page, and adds the items that are new.
func (r *reader) page(ctx context.Context, scan table.Scan) (table.Page[table.Item], error) {
	page, err := table.ScanPage[table.Item](ctx, r.table, scan)
	if err != nil {
		return page, err
	}
	r.left -= len(page.Items)
	r.sample.Stats = r.sample.Stats.Add(page.Stats)
	fresh := true
	for _, item := range page.Items {
		key := r.table.KeyOf("", item)
		if fresh = !r.seen[key]; !fresh {
			r.twice++
			continue
		}
		r.seen[key] = true
		r.sample.Items = append(r.sample.Items, item)
	}
	if page.Next != "" && fresh {
		r.open = append(r.open, page.Next)
	}
	return page, nil
}

// maxPK is the length of a partition key, in bytes.
const maxPK = 2048

// behind returns a key behind all keys with the prefix of an item's partition key, nil if the
// partition key is no text.
func (r *reader) behind(item table.Item) table.Item {
	spec := r.table.Schema()
	pk, ok := item[spec.PK].(*types.AttributeValueMemberS)
	if !ok {
		return nil
	}
	prefix, _, _ := strings.Cut(pk.Value, "#")
	if len(prefix) >= maxPK {
		return nil
	}
	key := table.Item{spec.PK: &types.AttributeValueMemberS{Value: prefix + "$"}} // '$' is the byte after '#'.
	switch item[spec.SK].(type) {
	case *types.AttributeValueMemberS:
		key[spec.SK] = &types.AttributeValueMemberS{Value: "0"}
	case *types.AttributeValueMemberN:
		key[spec.SK] = &types.AttributeValueMemberN{Value: "0"}
	case *types.AttributeValueMemberB:
		key[spec.SK] = &types.AttributeValueMemberB{Value: []byte{0}}
	}
	return key
}

// starting is a client whose Scans begin behind a key: one that is no item's has no cursor.
type starting struct{ table.Client }

type startKey struct{}

func (c starting) Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if key, ok := ctx.Value(startKey{}).(table.Item); ok && in.ExclusiveStartKey == nil {
		from := *in
		from.ExclusiveStartKey = key
		in = &from
	}
	return c.Client.Scan(ctx, in, opts...)
}
