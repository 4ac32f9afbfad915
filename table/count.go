package table

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
	r, err := t.query(q)
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
	in, s := r.query, &r.t.schema
	in.Select = types.SelectCount
	var conditions []string
	if in.FilterExpression != nil {
		conditions = append(conditions, "("+*in.FilterExpression+")")
	}
	if s.TTL != "" && r.has(s.TTL) {
		if r.isKey(s.TTL) {
			return invalid("Index", "expired items cannot be left out: %q is a key of the query", s.TTL)
		}
		now, err := r.t.unixNow()
		if err != nil {
			return err
		}
		conditions = append(conditions, "NOT #ttl BETWEEN :one AND :now")
		in.ExpressionAttributeNames["#ttl"] = s.TTL
		in.ExpressionAttributeValues[":one"] = keyValue(types.ScalarAttributeTypeN, "1")
		in.ExpressionAttributeValues[":now"] = keyValue(types.ScalarAttributeTypeN, now)
	}
	fixed := func(k fixedKey) bool { return k.Name == s.Type && k.text == r.t.ofType }
	if r.t.ofType != "" && r.has(s.Type) && !slices.ContainsFunc(r.fixed, fixed) {
		if r.isKey(s.Type) {
			return invalid("PKs, SKs", "%q is a key of the query, and must be %q", s.Type, r.t.ofType)
		}
		conditions = append(conditions, "#type = :type")
		in.ExpressionAttributeNames["#type"] = s.Type
		in.ExpressionAttributeValues[":type"] = keyValue(types.ScalarAttributeTypeS, r.t.ofType)
	}
	if len(conditions) > 0 {
		in.FilterExpression = aws.String(strings.Join(conditions, " AND "))
	}
	return nil
}

// count sends one request.
func (r *reader) count(ctx context.Context) error {
	r.asked = r.engineLimit(r.Limit - r.stats.Items)
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
