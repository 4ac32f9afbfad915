package stream

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Aside says which record a [Reader] has set aside, and why. The record itself stays in
// the stream for a day; the item is in the table.
type Aside struct {
	// Key is the key of the item, and Type its type.
	Key  keys.Key
	Type string
	// Sequence and EventID are those of the record.
	Sequence, EventID string
	// Reason is the error of the last attempt.
	Reason string
	At     time.Time
}

// aside is an Aside as it is stored.
type aside struct {
	PK       []byte `dynamodbav:"itemPK"` // keys can be binary
	SK       []byte `dynamodbav:"itemSK,omitempty"`
	Type     string `dynamodbav:"itemType,omitempty"`
	Sequence string `dynamodbav:"sequence"`
	EventID  string `dynamodbav:"eventID"`
	Reason   string `dynamodbav:"reason"`
	At       int64  `dynamodbav:"at"` // UTC milliseconds
}

// maxReason bounds the stored text of an error, in bytes.
const maxReason = 4096

func (s *shardReader) setAside(ctx context.Context, r *record, reason error) error {
	text := strings.ToValidUTF8(reason.Error(), "\uFFFD")
	text = strings.ToValidUTF8(text[:min(len(text), maxReason)], "") // it may be cut within a character
	a := aside{
		PK: []byte(r.key.PK), SK: []byte(r.key.SK), Type: item.Text(r.new[s.Router.schema.Type]), Sequence: r.sequence, EventID: r.id,
		Reason: text, At: s.Table.Now().UnixMilli(),
	}
	if a.Type == "" {
		a.Type = item.Text(r.old[s.Router.schema.Type])
	}
	item, err := attributevalue.MarshalMap(a)
	if err != nil {
		return err
	}
	item[s.Table.Schema().Type] = &types.AttributeValueMemberS{Value: itemType}
	key := keys.Key{PK: s.partition, SK: asidePrefix.SK(keys.Str(s.held.State.Shard), keys.Str(r.sequence))}
	return s.Table.Do(ctx, table.Put(key, item).WithName("set aside"))
}

// SetAside reads what the reader has set aside in its stream, by shard. The error is
// yielded once, last, and must be looked at.
func (r Reader) SetAside(ctx context.Context) iter.Seq2[Aside, error] {
	return func(yield func(Aside, error) bool) {
		fail := func(err error) { yield(Aside{}, r.fail("SetAside", err)) }
		r, err := r.opened(ctx)
		if err != nil {
			fail(err)
			return
		}
		q := table.Query{PK: partition(r.Name, r.StreamARN), Range: asidePrefix.All()}
		for a, err := range table.All[aside](ctx, r.Table.OfType(itemType), q) {
			if err != nil {
				fail(err)
				return
			}
			v := Aside{
				Key: keys.Key{PK: keys.PK(a.PK), SK: keys.SK(a.SK)}, Type: a.Type,
				Sequence: a.Sequence, EventID: a.EventID, Reason: a.Reason, At: time.UnixMilli(a.At).UTC(),
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Forget deletes the positions of the consumer in its stream and what it has set aside.
// No process may run it at the same time. Its next run begins with the oldest record.
func (r Reader) Forget(ctx context.Context) error {
	r, err := r.opened(ctx)
	if err != nil {
		return r.fail("Forget", err)
	}
	q := table.Query{PK: partition(r.Name, r.StreamARN)}
	items, err := table.Collect(table.All[table.Item](ctx, r.Table.OfType(itemType).Consistent(), q))
	if err != nil || len(items) == 0 {
		return r.fail("Forget", err)
	}
	ops := make([]table.Op, len(items))
	for i, item := range items {
		ops[i] = table.Delete(r.Table.KeyOf("", item))
	}
	return r.fail("Forget", r.Table.BatchWrite(ctx, ops...))
}

// fail returns an error with what it is about, nil for nil.
func (r Reader) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	name := ""
	if r.Router != nil {
		name = r.Router.schema.Name
	}
	return &table.Error{Op: "stream " + op, Name: r.Name, Table: name, Err: err}
}
