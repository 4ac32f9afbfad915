package lease

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Aside is an item that a process has set aside, as it is stored.
type Aside struct {
	PK       []byte `dynamodbav:"itemPK"` // keys can be binary
	SK       []byte `dynamodbav:"itemSK,omitempty"`
	Type     string `dynamodbav:"itemType,omitempty"`
	Sequence string `dynamodbav:"sequence,omitempty"`
	EventID  string `dynamodbav:"eventID,omitempty"`
	Reason   string `dynamodbav:"reason"`
	Millis   int64  `dynamodbav:"at"` // UTC
}

// Key returns the item's key.
func (a Aside) Key() keys.Key { return keys.Key{PK: keys.PK(a.PK), SK: keys.SK(a.SK)} }

// At returns when it was set aside.
func (a Aside) At() time.Time { return time.UnixMilli(a.Millis).UTC() }

const (
	asidePrefix keys.Prefix = "ASIDE"
	// asideKey is an attribute that every Aside has.
	asideKey = "itemPK"
)

// SetAside stores in a partition that an item was set aside now. name tells it from others.
func SetAside(ctx context.Context, t *table.Table, itemType string, pk keys.PK, item keys.Key, a Aside, name ...keys.Segment) error {
	a.PK, a.Millis = []byte(item.PK), t.Now().UnixMilli()
	if item.SK != "" { // not every engine stores an empty value
		a.SK = []byte(item.SK)
	}
	stored, err := attributevalue.MarshalMap(a)
	if err != nil {
		return err
	}
	stored[t.Schema().TypeAttribute] = &types.AttributeValueMemberS{Value: itemType}
	return t.Do(ctx, table.Put(keys.Key{PK: pk, SK: asidePrefix.SK(name...)}, stored).WithName("set aside"))
}

// Asides reads what was set aside in a partition.
func Asides(ctx context.Context, t *table.Table, itemType string, pk keys.PK) iter.Seq2[Aside, error] {
	return table.All[Aside](ctx, t.Reading(item.Reading{Type: itemType, Whole: true}), table.Query{PK: pk, Range: asidePrefix.All()})
}

// Forget deletes all leases of a type in a partition, and all that was set aside there.
func Forget(ctx context.Context, t *table.Table, itemType string, pk keys.PK) error {
	spec := t.Schema()
	var ops []table.Op
	for item, err := range table.All[table.Item](ctx, t.Reading(item.Reading{Whole: true}).Consistent(), table.Query{PK: pk}) {
		if err != nil {
			return err
		}
		if Owned(&spec, item, itemType) {
			ops = append(ops, table.Delete(t.KeyOf("", item)))
		}
	}
	if len(ops) == 0 {
		return nil
	}
	return t.BatchWrite(ctx, ops...)
}
