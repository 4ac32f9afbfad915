package backfill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Aside says which item a job could not bring over, and why. The item stays as it
// is.
type Aside struct {
	// Key is the item's key in the job's Source, and Type its type.
	Key  keys.Key
	Type string
	// Reason is the error. It quotes no values.
	Reason string
	At     time.Time
}

// aside is an Aside as it is stored.
type aside struct {
	PK     []byte `dynamodbav:"itemPK"` // keys can be binary
	SK     []byte `dynamodbav:"itemSK,omitempty"`
	Type   string `dynamodbav:"itemType,omitempty"`
	Reason string `dynamodbav:"reason"`
	At     int64  `dynamodbav:"at"` // UTC milliseconds
}

const asidePrefix keys.Prefix = "ASIDE"

// SetAside reads what a job has set aside, in no useful order. When the cause is
// gone, [Forget] the job and run it again. The error is yielded once, last, and must
// be looked at.
func SetAside(ctx context.Context, t *table.Table, job string) iter.Seq2[Aside, error] {
	return func(yield func(Aside, error) bool) {
		if t == nil {
			yield(Aside{}, fmt.Errorf("%w backfill: the table is nil", table.ErrInvalid))
			return
		}
		q := table.Query{PK: prefix.PK(job), Range: asidePrefix.All()}
		for a, err := range table.All[aside](ctx, t.OfType(itemType), q) {
			v := Aside{Key: keys.Key{PK: keys.PK(a.PK), SK: keys.SK(a.SK)}, Type: a.Type, Reason: a.Reason, At: time.UnixMilli(a.At).UTC()}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

func (w *walk) setAside(ctx context.Context, attributes table.Item, reason error) error {
	key := w.Source.KeyOf("", attributes)
	digest := sha256.New()
	digest.Write([]byte(key.PK))
	digest.Write([]byte{0})
	digest.Write([]byte(key.SK))
	at := keys.Key{PK: prefix.PK(w.Name), SK: asidePrefix.SK(keys.Str(hex.EncodeToString(digest.Sum(nil))))}
	a := aside{
		PK: []byte(key.PK), Type: item.Text(attributes[w.Source.Schema().Type]),
		Reason: reason.Error(), At: w.Table.Now().UnixMilli(),
	}
	if key.SK != "" { // not every engine stores an empty value
		a.SK = []byte(key.SK)
	}
	made, err := attributevalue.MarshalMap(a)
	if err != nil {
		return err
	}
	made[w.Table.Schema().Type] = &types.AttributeValueMemberS{Value: itemType}
	return w.Table.Do(ctx, table.Put(at, made).WithName("set aside"))
}
