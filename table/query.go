package table

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
)

// Query asks for the items of one partition of the table or of an index, in the
// order of their sort keys. It is a plain value; only PK has no default.
//
// # Cursors
//
// A cursor is bound to the table, the index, their key attributes, PK, PKs, SKs,
// Descending, Scope and the Prefix of the Range: a query that differs in one of them refuses
// it. All other fields may change from page to page: Limit, Project, Consistent,
// Filter, and the bounds From and To of the Range. So a window that moves with
// the clock can be paged, such as keys.Tx.Since(time.Now().Add(-24*time.Hour)) or
// a filter for what ends after now. The page has the items of the present range
// that follow the cursor's position, in the order of the query. If bounds have
// moved past the position, then
//
//   - the whole range follows it, and the query continues at the range's start: a
//     position below From in ascending order, or above To in descending order;
//   - nothing follows it, and the query has ended: a position below From in
//     descending order, as of a window that has moved on. The page is empty, has no
//     Next, and sends nothing;
//   - it is refused as [paginate.OutOfRange]: a position above To in ascending
//     order, where clocks do not move a window, or one without the segments that
//     From and To share, such as TX#. Such a cursor is of another range.
type Query struct {
	// Index is the index to read; the table itself by default.
	Index string
	// PK is the partition key: of the index if there is one.
	PK keys.PK
	// PKs and SKs are for an index whose keys have several attributes, see
	// [schema.Index].PKs. PKs has a value for each attribute of the partition. SKs has values
	// for the first sort key attributes, or none; the items have exactly these. The
	// Range is then about the next sort key attribute. A number is written as plain
	// decimal text (12.5), a binary value as its bytes.
	PKs, SKs []string
	// Range narrows the sort keys; by default all of the partition. An empty
	// range, such as one from noon to noon, gives an empty page and sends nothing.
	Range keys.Range
	// Descending gives the greatest sort key first.
	Descending bool
	// Limit is the maximum number of items, after the filter. Zero means 100 for a
	// page, and no limit for [All].
	Limit int
	// After is the cursor of the page to continue from; from the start by default.
	After string
	// Scope is bound into the cursor: a cursor opens with the same scope only.
	// Put in whom the page is for, such as the user or tenant.
	Scope string
	// Filter drops items after they were read, and paid for.
	Filter expression.ConditionBuilder
	// Project names the attributes to return; all that the table or index holds
	// by default. Keys, type and expiry are always returned. The values are parts of
	// items: see [Table.Project].
	Project []string
	// Consistent asks for a strongly consistent read, at twice the read units.
	// Global indexes have none.
	Consistent bool
}

// Page is one page of a query.
type Page[T any] struct {
	// Items are in the order of the query.
	Items []T
	// Next is the cursor for [Query].After that gives the next page. It is empty
	// exactly when DynamoDB says that there is nothing more. DynamoDB stops at
	// a limit without looking further, so the last page can be empty.
	Next string
	// Prev is the cursor for [Query].After that gives the page before: the Limit
	// items before the first one of this page, in the order of the query. Only
	// [QueryPage] takes it. It is empty for the first page and for scans.
	//
	// A walk back gives the same pages as the walk forward if no item was added or
	// removed. Otherwise it gives each item at most once, and all that have stayed.
	Prev string
	// Stats is what the page cost.
	Stats Stats
}

// QueryPage reads one page of a query. It continues until the page is full or the
// data ends, in at most Options.MaxRounds requests: a page that is short or empty
// for that reason has a Next. Each request has the budget of a call, see
// [Options].MaxAttempts.
//
// An invalid query is [ErrInvalid] or [keys.ErrInvalid], a cursor that is not
// one of this query's is [paginate.ErrInvalidCursor]; neither sends anything.
func QueryPage[T any](ctx context.Context, t *Table, q Query) (Page[T], error) {
	var items []T
	p, err := t.queryPage(ctx, q, into(&items))
	if err != nil {
		return Page[T]{}, t.readError("QueryPage", q.Index, q.PK, err)
	}
	if p.reversed {
		slices.Reverse(items)
	}
	return Page[T]{Items: items, Next: p.next, Prev: p.prev, Stats: p.stats}, nil
}

// page is a page of items, in reverse if reversed is set, without these.
type page struct {
	next, prev string
	stats      Stats
	reversed   bool
}

func (t *Table) queryPage(ctx context.Context, q Query, items *items) (page, error) {
	cursor := q.After
	q.After = ""
	r, err := t.query(q)
	if err != nil {
		return page{}, err
	}
	if cursor == "" {
		return r.page(ctx, items, q.Limit)
	}
	at, position, err := r.open(cursor)
	if err != nil {
		return page{}, err
	}
	if position.Before || position.FromEdge {
		return r.turnedPage(ctx, q, items, at, position)
	}
	if err := r.resumeQuery(q, at); err != nil {
		return page{}, err
	}
	return r.page(ctx, items, q.Limit)
}

// All reads a query from beginning to end, request by request as it is ranged
// over, Query.Limit items at most.
//
// An error is yielded once, last, with a zero item. A loop that ignores it cannot
// tell a failure from the end of the data: bind it, or use [Collect].
// Breaking off sends no further request. Ranging a second time reads again from
// the start. Each request has the budget of a call, see [Options].MaxAttempts.
func All[T any](ctx context.Context, t *Table, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var items []T
		err := t.all(ctx, q, into(&items), func(i int) bool { return yield(items[i], nil) })
		if err != nil {
			var zero T
			yield(zero, t.readError("All", q.Index, q.PK, err))
		}
	}
}

// Collect returns the items of a sequence such as that of [All] as a slice, or
// its error and no items.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var items []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

// defaultLimit is the Limit of a page that gives none.
const defaultLimit = 100

// page reads a page of at most limit items.
func (r *reader) page(ctx context.Context, items *items, limit int) (p page, err error) {
	walking := r.query != nil && r.after != nil
	if walking {
		items.noted = map[int]Item{1: nil}
	}
	if err := r.read(ctx, items, limit); err != nil {
		return p, err
	}
	p.stats = r.stats
	if p.next, err = r.nextCursor(); err != nil || !walking {
		return p, err
	}
	switch {
	case items.noted[1] != nil:
		p.prev, err = r.seal(items.noted[1], paginate.Position{Before: true})
	case r.done:
		p.prev, err = r.seal(r.after, paginate.Position{Before: true, FromEdge: true})
	default:
		p.prev, err = r.seal(r.start, paginate.Position{Before: true})
	}
	return p, err
}

// read reads a page of at most limit items.
func (r *reader) read(ctx context.Context, items *items, limit int) error {
	items.of(r.t, r.share).in(r.index)
	limit = cmp.Or(limit, defaultLimit)
	for !r.done && items.count() < limit && r.stats.Requests < r.t.options.MaxRounds {
		if err := r.next(ctx, items, limit); err != nil {
			return err
		}
	}
	if items.count() == 0 {
		items.values.SetZero() // there may be room for some that have expired
	}
	return nil
}

// all reads response by response, and gives yield the number of each of the items that
// are those of one. It returns nil when the data or the limit ended or yield wanted no
// more.
func (t *Table) all(ctx context.Context, q Query, items *items, yield func(i int) bool) error {
	r, err := t.query(q)
	if err != nil {
		return err
	}
	items.of(r.t, r.share).in(r.index)
	for left := q.Limit; !r.done; {
		items.begin(0)
		failed := r.next(ctx, items, left)
		for i := range items.count() {
			if err := ended(ctx); err != nil {
				return err
			}
			if !yield(i) {
				return nil
			}
		}
		if failed != nil {
			return failed
		}
		if q.Limit > 0 {
			if left -= items.count(); left == 0 {
				return nil
			}
		}
	}
	return nil
}

// query returns a reader that stands where the query begins.
func (t *Table) query(q Query) (*reader, error) {
	r := &reader{t: t, selection: selection{
		index: q.Index, limit: q.Limit, scope: q.Scope,
		filter: q.Filter, project: t.projectOr(q.Project), consistent: q.Consistent || t.consistent,
	}}
	err := r.setLayout()
	if err == nil {
		r.fixed, r.ranged, err = r.fix(q)
	}
	if err == nil {
		err = r.checkRange(r.ranged, q.Range)
	}
	if err != nil {
		return nil, err
	}
	r.bound = []string{"query"}
	for _, k := range r.fixed {
		r.bound = append(r.bound, k.text)
	}
	// What the query gives is never part of a position.
	r.position = slices.DeleteFunc(slices.Clone(r.position), func(a schema.Attribute) bool {
		return slices.ContainsFunc(r.fixed, func(k fixedKey) bool { return k.Attribute == a })
	})
	r.bound = append(r.bound, strconv.FormatBool(q.Descending), string(q.Range.Prefix))
	r.done = isEmpty(r.ranged, q.Range)
	if r.query, err = r.queryInput(q); err != nil {
		return nil, err
	}
	if q.After == "" {
		return r, nil
	}
	at, err := r.openNext(q.After)
	if err == nil {
		err = r.resumeQuery(q, at)
	}
	return r, err
}

// queryInput builds the request. Names and values of ours have words for
// placeholders, those of the expression package numbers, so they never meet.
func (r *reader) queryInput(q Query) (*dynamodb.QueryInput, error) {
	in := &dynamodb.QueryInput{
		TableName:                 r.t.name,
		ExpressionAttributeNames:  map[string]string{},
		ExpressionAttributeValues: map[string]types.AttributeValue{},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	condition := ""
	for i, k := range r.fixed {
		name, and := "pk", ""
		if i > 0 {
			name, and = "k"+strconv.Itoa(i), " AND "
		}
		condition += and + "#" + name + " = :" + name
		in.ExpressionAttributeNames["#"+name], in.ExpressionAttributeValues[":"+name] = k.Name, k.value()
	}
	if q.Range != (keys.Range{}) {
		in.ExpressionAttributeNames["#sk"] = r.ranged.Name
		condition += " AND " + rangeCondition(q.Range, func(placeholder string, sk keys.SK) {
			in.ExpressionAttributeValues[placeholder] = keyValue(r.ranged.Type, string(sk))
		})
	}
	in.KeyConditionExpression = aws.String(condition)
	if q.Index != "" {
		in.IndexName = aws.String(q.Index)
	}
	if q.Descending {
		in.ScanIndexForward = aws.Bool(false)
	}
	if r.consistent {
		in.ConsistentRead = aws.Bool(true)
	}
	var err error
	in.FilterExpression, in.ProjectionExpression, err = r.expressions(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	return in, err
}

// rangeCondition writes a range as a condition on #sk and gives its bounds to
// bind.
func rangeCondition(r keys.Range, bind func(placeholder string, sk keys.SK)) string {
	switch {
	case r.Prefix != "":
		bind(":prefix", r.Prefix)
		return "begins_with(#sk, :prefix)"
	case r.From == r.To:
		bind(":from", r.From)
		return "#sk = :from"
	case r.To == "":
		bind(":from", r.From)
		return "#sk >= :from"
	case r.From == "":
		bind(":to", r.To)
		return "#sk <= :to"
	}
	bind(":from", r.From)
	bind(":to", r.To)
	return "#sk BETWEEN :from AND :to"
}
