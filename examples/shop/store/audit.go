package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Audit is one change of an order, a product or a user. It is stored once, as
// AUDIT#<type>#<id> / CHANGE#<time>#<sequence>, and is in GSI1 by its day. It is created
// and never written again, and expires after [auditLife].
type Audit struct {
	Type string      `dynamodbav:"auditedType"`
	ID   string      `dynamodbav:"auditedId"`
	Kind stream.Kind `dynamodbav:"kind"`
	// By made the change. It is empty for a deletion, since the item that could tell
	// is gone.
	By string    `dynamodbav:"by,omitempty"`
	At time.Time `dynamodbav:"at"` // in whole seconds
	// Changed are the attributes that differ. Old and New are their values, except
	// for those of [secrets]. A number is a float64 when it is read; the item has
	// it exactly.
	Changed []string       `dynamodbav:"changed"`
	Old     map[string]any `dynamodbav:"old,omitempty"`
	New     map[string]any `dynamodbav:"new,omitempty"`
	// Sequence and EventID are those of the record in the stream.
	Sequence  string    `dynamodbav:"sequence"`
	EventID   string    `dynamodbav:"eventId"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,unixtime"`
}

// auditLife is how long an audit is kept.
const auditLife = 400 * 24 * time.Hour

// secrets are the attributes whose values are in no audit.
var secrets = []string{"password"}

const changePrefix keys.Prefix = "CHANGE"

var auditEntity = repo.Entity[Audit]{
	Type: "AUDIT",
	// A change has the same key whenever it is delivered. So creating it once is
	// enough, without a record of its own.
	Key: func(a Audit) keys.Key {
		return keys.Key{PK: auditPrefix.PK(a.Type, a.ID), SK: changePrefix.SK(keys.Time(a.At), ordered(a.Sequence))}
	},
	Indexes: repo.Indexes[Audit]{gsi1: inDay},
}

// inDay is AUDIT_DAY#<day> / CHANGE#<time>#<sequence>#<type>#<id>. A partition of an index
// takes 1,000 writes a second. A busier shop would use package shard here. AWS: "Best
// practices for designing and using partition keys effectively in DynamoDB", Amazon
// DynamoDB Developer Guide.
func inDay(a Audit) keys.Key {
	return keys.Key{
		PK: dayPrefix.PK(a.At.UTC().Format(time.DateOnly)),
		SK: changePrefix.SK(keys.Time(a.At), ordered(a.Sequence), keys.Str(a.Type), keys.Str(a.ID)),
	}
}

// ordered returns the segment of a sequence number, which has up to 40 digits.
func ordered(sequence string) keys.Segment {
	return keys.Str(strings.Repeat("0", max(0, 40-len(sequence))) + sequence)
}

// errNoSequence is the error of a change that Kinesis Data Streams has delivered. Two changes of
// one second would have one key, and the second one would be taken for delivered before.
var errNoSequence = errors.New("the change has no sequence number, which is in the key of what is stored: take the table's stream, not that of Kinesis")

// sequenceOf returns the sequence number of a change.
func sequenceOf[T any](c stream.Change[T]) (string, error) {
	if c.Sequence == "" {
		return "", errNoSequence
	}
	return c.Sequence, nil
}

// audited is an entity whose changes are audited.
type audited interface {
	// audited returns its id and its last writer.
	audited() (id, by string)
}

// Auditor returns the consumer of the stream that writes the audit trail.
func (s *Shop) Auditor() (*stream.Router, error) {
	return stream.New(s.table, nil,
		audit(s, s.orders, orderEntity),
		audit(s, s.products, productEntity),
		audit(s, s.users, userEntity),
		stream.IgnoreOther())
}

// audit returns the handler that writes an audit for each change of an entity.
func audit[T audited](s *Shop, r *repo.Repo[T], entity repo.Entity[T]) stream.Handler {
	return stream.On(r, func(ctx context.Context, c stream.Change[T]) error {
		a, err := newAudit(entity, c)
		if err != nil || len(a.Changed) == 0 {
			return err
		}
		err = s.audits.Create(ctx, &a)
		if errors.Is(err, table.ErrExists) { // delivered before
			return nil
		}
		return err
	})
}

// newAudit returns the audit of a change.
func newAudit[T audited](entity repo.Entity[T], c stream.Change[T]) (Audit, error) {
	// Lambda gives whole seconds. The key must not depend on who delivers the change. AWS:
	// StreamRecord, Amazon DynamoDB Streams API Reference.
	at := c.At.UTC().Truncate(time.Second)
	sequence, err := sequenceOf(c)
	if err != nil {
		return Audit{}, err
	}
	a := Audit{Type: entity.Type, Kind: c.Kind, At: at, Sequence: sequence, EventID: c.EventID, ExpiresAt: at.Add(auditLife)}
	if c.New != nil {
		a.ID, a.By = (*c.New).audited()
	} else {
		a.ID, _ = (*c.Old).audited()
	}
	before, err := attributes(c.Old)
	if err != nil {
		return a, err
	}
	after, err := attributes(c.New)
	if err != nil {
		return a, err
	}
	changed := c.Changed
	if c.Kind != stream.Modify { // all of them
		changed = slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
		slices.Sort(changed)
	}
	for _, name := range changed {
		if name != entity.Version && name != "changedBy" {
			a.Changed = append(a.Changed, name)
		}
	}
	a.Old, a.New = told(before, a.Changed), told(after, a.Changed)
	return a, nil
}

// attributes returns the attributes of a value as they are stored; none of nil.
func attributes[T any](v *T) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	item, err := attributevalue.MarshalMap(*v)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	exact := func(o *attributevalue.DecoderOptions) { o.UseNumber = true }
	return all, attributevalue.UnmarshalMapWithOptions(item, &all, exact)
}

// told returns those of the attributes that an audit may have.
func told(all map[string]any, names []string) map[string]any {
	some := map[string]any{}
	for _, name := range names {
		if v, ok := all[name]; ok && !slices.Contains(secrets, name) {
			some[name] = v
		}
	}
	return some
}

// AuditsQuery is the query for the audits of an entity, in the order of the changes.
func AuditsQuery(entity, id string) table.Query {
	return table.Query{PK: auditPrefix.PK(entity, id), Range: changePrefix.All()}
}

// AuditsByEntity returns a page of the audits of an entity, in the order of the changes.
func (s *Shop) AuditsByEntity(ctx context.Context, entity, id string, limit int, after string) (table.Page[Audit], error) {
	q := AuditsQuery(entity, id)
	q.Limit, q.After = limit, after
	return s.audits.Query(ctx, q)
}

// DayQuery is the query for the audits of a day, in UTC.
func DayQuery(day time.Time) table.Query {
	return table.Query{Index: gsi1, PK: dayPrefix.PK(day.UTC().Format(time.DateOnly)), Range: changePrefix.All()}
}

// AuditsByDay returns a page of the audits of a day, in the order of the seconds.
// Changes of one second are in order if they are of one entity.
func (s *Shop) AuditsByDay(ctx context.Context, day time.Time, limit int, after string) (table.Page[Audit], error) {
	q := DayQuery(day)
	q.Limit, q.After = limit, after
	return s.audits.Query(ctx, q)
}
