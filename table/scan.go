package table

import (
	"context"
	"strconv"

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
