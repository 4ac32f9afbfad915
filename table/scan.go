package table

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Scan asks for everything in the table or in an index, in no useful order. It
// is for migrations and operators: it reads, and costs, the whole table. A
// service that needs it for a request lacks an index.
//
// A large table is scanned in parallel by one goroutine or process for each
// segment, and each can continue from the cursor of its last page.
//
// AWS: "Scanning tables in DynamoDB", Amazon DynamoDB Developer Guide.
type Scan struct {
	// Index is the index to read; the table itself by default.
	Index string
	// Segment of Segments is the part to read, from 0; by default all of it.
	Segment, Segments int
	// Limit is the maximum number of items in the page, after the filter. Zero
	// means 100. A migration takes a larger number, such as 1,000: one response
	// holds up to 1 MB of items. AWS: Scan, Amazon DynamoDB API Reference.
	Limit int
	// After, Scope, Filter, Project and Consistent are as in [Query].
	After, Scope string
	Filter       expression.ConditionBuilder
	Project      []string
	Consistent   bool
}

// maxSegments is the most that DynamoDB takes. AWS: Scan, Amazon DynamoDB API
// Reference.
const maxSegments = 1_000_000

// ScanPage reads one page of a scan, in the manner of [QueryPage].
func ScanPage[T any](ctx context.Context, t *Table, s Scan) (Page[T], error) {
	var items []T
	p, err := t.scanPage(ctx, s, into(&items))
	if err != nil {
		return Page[T]{}, t.readError("ScanPage", s.Index, "", err)
	}
	return Page[T]{Items: items, Next: p.next, Stats: p.stats}, nil
}

func (t *Table) scanPage(ctx context.Context, s Scan, items *items) (page, error) {
	r, err := t.scan(s)
	if err != nil {
		return page{}, err
	}
	return r.page(ctx, items)
}

// scan returns a reader that stands where the scan begins.
func (t *Table) scan(s Scan) (*reader, error) {
	r := &reader{t: t, Query: Query{
		Index: s.Index, Limit: s.Limit, Scope: s.Scope, Filter: s.Filter, Project: s.Project, Consistent: s.Consistent,
	}}
	err := r.setLayout()
	if err != nil {
		return nil, err
	}
	if r.scan, err = r.scanInput(s); err != nil {
		return nil, err
	}
	r.bound = []string{"scan", strconv.Itoa(s.Segment), strconv.Itoa(s.Segments)}
	if s.After != "" {
		r.start, err = r.openNext(s.After)
	}
	return r, err
}

func (r *reader) scanInput(s Scan) (*dynamodb.ScanInput, error) {
	in := &dynamodb.ScanInput{TableName: r.t.name, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	switch {
	case s.Segments < 0 || s.Segments > maxSegments:
		return nil, invalid("Segments", "%d is not 0 to %d", s.Segments, maxSegments)
	case s.Segment < 0 || s.Segment >= max(s.Segments, 1):
		return nil, invalid("Segment", "%d is not one of %d", s.Segment, max(s.Segments, 1))
	case s.Segments > 0:
		in.Segment, in.TotalSegments = aws.Int32(int32(s.Segment)), aws.Int32(int32(s.Segments))
	}
	if s.Index != "" {
		in.IndexName = aws.String(s.Index)
	}
	if r.Consistent {
		in.ConsistentRead = aws.Bool(true)
	}
	names, values := map[string]string{}, map[string]types.AttributeValue{}
	var err error
	in.FilterExpression, in.ProjectionExpression, err = r.expressions(names, values)
	// DynamoDB refuses empty ones.
	if len(names) > 0 {
		in.ExpressionAttributeNames = names
	}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	return in, err
}

// Count returns how many items a query gives, as Stats.Items, and what it took to
// count them. DynamoDB reads all of these items and charges for them as a query does;
// it only sends none of them. Count walks to the end, request by request. With a
// Limit it stops at that number, which costs no more than to read as many: a Limit of
// 101 tells whether there are more than a hundred. [schema.Table.EstimateItems] costs
// nothing.
//
// Items that have expired do not count, nor do those of another type than the view's
// ([Table.OfType]). The query's After, Filter, Descending and Consistent are as in
// [QueryPage]; Project has no meaning. An index that does not hold the TTL attribute
// or the type attribute counts without.
//
// If a request fails, the Stats are those of the requests before. The errors are those
// of [QueryPage].
//
// AWS: Query, Amazon DynamoDB API Reference.
func (t *Table) Count(ctx context.Context, q Query) (Stats, error) {
	q.Project, t = nil, t.Project()
	r, err := t.newReader(q)
	if err != nil {
		return Stats{}, t.readError("Count", q.Index, q.PK, err)
	}
	if err := r.countOnly(); err != nil {
		return Stats{}, t.readError("Count", q.Index, q.PK, err)
	}
	for !r.done && (r.Limit == 0 || r.stats.Items < r.Limit) {
		if err := r.count(ctx); err != nil {
			return r.stats, t.readError("Count", q.Index, q.PK, err)
		}
	}
	return r.stats, nil
}

// countOnly makes the request one for a number, and has DynamoDB leave out what reads
// of items leave out.
func (r *reader) countOnly() error {
	in, s := r.input, &r.t.schema
	in.Select = types.SelectCount
	var conditions []string
	if in.FilterExpression != nil {
		conditions = append(conditions, "("+*in.FilterExpression+")")
	}
	if expiry := r.t.readExpiry(); expiry != "" && r.has(expiry) {
		if r.isKey(expiry) {
			return invalid("Index", "expired items cannot be left out: %q is a key of the query", expiry)
		}
		now, err := r.t.unixNow()
		if err != nil {
			return err
		}
		conditions = append(conditions, "NOT #ttl BETWEEN :one AND :now")
		in.ExpressionAttributeNames["#ttl"] = expiry
		in.ExpressionAttributeValues[":one"] = keyValue(types.ScalarAttributeTypeN, "1")
		in.ExpressionAttributeValues[":now"] = keyValue(types.ScalarAttributeTypeN, now)
	}
	conditions = append(conditions, r.equalClauses()...)
	if k := s.KindOf(r.t.ofType); k != nil {
		if err := r.checkKindKeys(k); err != nil {
			return err
		}
		var b bindings
		conditions = append(conditions, kindClauses(k, &b, s, r.isKey)...)
		maps.Copy(in.ExpressionAttributeNames, b.names)
		maps.Copy(in.ExpressionAttributeValues, b.values)
		return r.filtered(conditions)
	}
	fixed := func(k fixedKey) bool { return k.Name == s.TypeAttribute && k.text == r.t.ofType }
	if r.t.ofType != "" && r.has(s.TypeAttribute) && !slices.ContainsFunc(r.fixed, fixed) {
		if r.isKey(s.TypeAttribute) {
			return invalid("PKs, SKs", "%q is a key of the query, and must be %q", s.TypeAttribute, r.t.ofType)
		}
		conditions = append(conditions, "#type = :type")
		in.ExpressionAttributeNames["#type"] = s.TypeAttribute
		in.ExpressionAttributeValues[":type"] = keyValue(types.ScalarAttributeTypeS, r.t.ofType)
	}
	return r.filtered(conditions)
}

func (r *reader) filtered(conditions []string) error {
	if len(conditions) > 0 {
		r.input.FilterExpression = aws.String(strings.Join(conditions, " AND "))
	}
	return nil
}

// count sends one request.
func (r *reader) count(ctx context.Context) error {
	r.sentLimit = r.engineLimit(r.Limit - r.stats.Items)
	cost, last, err := r.fetch(ctx, into(new([]Item)).of(r.t)) // which stays empty
	if err != nil {
		return err
	}
	r.stats, r.start, r.done = r.stats.Add(cost), last, len(last) == 0
	if r.Limit > 0 {
		r.stats.Items = min(r.stats.Items, r.Limit) // it may have asked for more, to get past a filter
	}
	return nil
}
