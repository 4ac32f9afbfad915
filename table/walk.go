package table

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
)

// query returns a reader that stands where the query begins.
func (t *Table) query(q Query) (*reader, error) {
	r := &reader{t: t, Query: q}
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
	r.done = r.order().Empty(q.Range)
	if r.query, err = r.queryInput(); err != nil {
		return nil, err
	}
	if q.After == "" {
		return r, nil
	}
	at, err := r.openNext(q.After)
	if err == nil {
		err = r.resumeQuery(at)
	}
	return r, err
}

func (r *reader) queryInput() (*dynamodb.QueryInput, error) {
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
	if r.Range != (keys.Range{}) {
		in.ExpressionAttributeNames["#sk"] = r.ranged.Name
		condition += " AND " + rangeCondition(r.Range, func(placeholder string, sk keys.SK) {
			in.ExpressionAttributeValues[placeholder] = keyValue(r.ranged.Type, string(sk))
		})
	}
	in.KeyConditionExpression = aws.String(condition)
	if r.Index != "" {
		in.IndexName = aws.String(r.Index)
	}
	if r.Descending {
		in.ScanIndexForward = aws.Bool(false)
	}
	if r.Consistent {
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

// page is a page of items, in reverse if reversed is set, without these.
type page struct {
	next, prev string
	stats      Stats
	reversed   bool
}

// defaultLimit is the Limit of a page that gives none.
const defaultLimit = 100

func (r *reader) page(ctx context.Context, items *items) (p page, err error) {
	walking := r.query != nil && r.after != nil
	if walking {
		items.noted = map[int]Item{1: nil}
	}
	if err := r.read(ctx, items, r.Limit); err != nil {
		return p, err
	}
	p.stats = r.stats
	if !r.done && len(r.position) > 0 { // without a sort key there is one item at most
		p.next, err = r.seal(r.start, paginate.Position{})
	}
	if err != nil || !walking {
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

// reads sets what items reads. It refuses an index in which items are of no type, where they
// are to be of one.
func (r *reader) reads(items *items) error {
	// A local index fetches from the table what it is asked for.
	if t := r.t.schema.Type; r.t.ofType != "" && !r.has(t) && (r.global() || len(r.Project) == 0) {
		return invalid("Index", "%q does not hold the type attribute %q, by which a read of %q tells what it finds; include it in the index, or read by another one",
			r.Index, t, r.t.ofType)
	}
	items.of(r.t).in(r.Index)
	items.queried = r.scan == nil
	return items.setShare(r.share)
}

// read reads a page of at most limit items.
func (r *reader) read(ctx context.Context, items *items, limit int) error {
	if err := r.reads(items); err != nil {
		return err
	}
	limit = cmp.Or(limit, defaultLimit)
	//mutants:guard a page continues until it is full | TestDefaultEngine/^(Page|Filter)$ ./suites/conformance | for => if
	for !r.done && items.count() < limit && r.stats.Requests < r.t.options.MaxRounds {
		if err := r.next(ctx, items, limit); err != nil {
			return err
		}
	}
	if items.count() == 0 {
		items.values.Set(reflect.MakeSlice(items.values.Type(), 0, 0)) // there may be room for some that have expired
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
	if err := r.reads(items); err != nil {
		return err
	}
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
		//mutants:guard a walk continues after a response without items | TestDefaultEngine/^Sparse$ ./suites/conformance | failed != nil => failed != nil || items.count() == 0
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
