package table

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
)

// Query asks for the items of one partition of the table or of an index, in the
// order of their sort keys. It is a plain value; only PK has no default.
type Query struct {
	// Index is the index to read; the table itself by default.
	Index string
	// PK is the partition key: of the index if there is one.
	PK keys.PK
	// Range narrows the sort keys; by default all of the partition.
	Range keys.Range
	// Reverse gives the greatest sort key first.
	Reverse bool
	// Limit is how many items the caller gets at most, whatever a filter drops.
	// Zero means all of them for [All], and for [QueryPage] what one request
	// returns: up to 1 MB of items before the filter.
	Limit int
	// After is the token of the page to go on from; from the start by default.
	After string
	// Scope is bound into the token: a token opens with the same scope only.
	// Put in whom the page is for, such as the user or tenant.
	Scope string
	// Filter drops items after they were read, and paid for.
	Filter expression.ConditionBuilder
	// Project names the attributes to return; all that the table or index holds
	// by default. Keys, type and expiry are always returned.
	Project []string
	// Consistent asks for a strongly consistent read, at twice the read units.
	// Global indexes have none.
	Consistent bool
}

// Page is one page of a query.
type Page[T any] struct {
	// Items are in the order of the query.
	Items []T
	// Next is the token for [Query].After that gives the next page. It is empty
	// exactly when DynamoDB says that there is nothing more. DynamoDB stops at
	// a limit without looking further, so the last page can be empty.
	Next string
	// Stats is what the page cost.
	Stats Stats
}

// QueryPage reads one page of a query. With a limit it goes on until the page
// is full or the data ends, in at most Options.MaxRounds requests: a page that
// is short for that reason has a Next.
//
// A query that cannot be right is [ErrInvalidQuery] or [keys.ErrInvalid], a
// token that is not one of this query's is [paginate.ErrInvalidCursor]; neither
// sends anything.
func QueryPage[T any](ctx context.Context, t *Table, q Query) (Page[T], error) {
	page, err := queryPage[T](ctx, t, q)
	if err != nil {
		return Page[T]{}, t.queryError("QueryPage", q, err)
	}
	return page, nil
}

func queryPage[T any](ctx context.Context, t *Table, q Query) (Page[T], error) {
	var page Page[T]
	r, err := newReader(t, q)
	if err != nil {
		return page, err
	}
	for !r.done && r.stats.Requests < t.options.MaxRounds {
		items, err := r.next(ctx, q.Limit-len(page.Items))
		if err != nil {
			return page, err
		}
		page.Items = slices.Grow(page.Items, len(items))
		now := t.Now()
		for i, item := range items {
			live, err := t.admit(item, now)
			if err != nil {
				return page, err
			}
			if !live {
				continue
			}
			// Decoding in place saves a copy of every item.
			page.Items = append(page.Items, *new(T))
			if err := Item(item).Decode(&page.Items[len(page.Items)-1]); err != nil {
				return page, err
			}
			r.stats.Items++
			if len(page.Items) == q.Limit {
				r.stopAt(item, i == len(items)-1)
				break
			}
		}
		if q.Limit == 0 || len(page.Items) == q.Limit {
			break
		}
	}
	page.Stats = r.stats
	page.Next, err = r.token()
	return page, err
}

func (t *Table) queryError(op string, q Query, err error) error {
	return &Error{Op: op, Table: t.schema.Name, Index: q.Index, Key: keys.Key{PK: q.PK}, Err: explain(err)}
}

// reader walks a query request by request.
type reader struct {
	t     *Table
	q     Query
	shape shape
	in    *dynamodb.QueryInput
	// stats are what was spent so far. Items is for those to count who get them
	// from next and drop the expired ones.
	stats Stats
	done  bool
}

func newReader(t *Table, q Query) (*reader, error) {
	shape, err := t.shape(q)
	if err != nil {
		return nil, err
	}
	in, err := t.queryInput(q, shape)
	if err != nil {
		return nil, err
	}
	r := &reader{t: t, q: q, shape: shape, in: in}
	if q.After != "" {
		in.ExclusiveStartKey, err = t.openCursor(q, shape)
	}
	return r, err
}

// growth bounds how much more a request asks for than the one before it.
const growth = 4

// next sends one request. want is how many items the caller still wants, 0 or
// less for no limit.
func (r *reader) next(ctx context.Context, want int) ([]map[string]types.AttributeValue, error) {
	r.in.Limit = r.engineLimit(want)
	out, err := send(ctx, r.t, request{operation: "Query", index: r.q.Index}, r.t.client.Query, r.in,
		func(out *dynamodb.QueryOutput) float64 { return capacity(out.ConsumedCapacity) })
	if err != nil {
		return nil, err
	}
	r.stats.Requests++
	r.stats.Scanned += int(out.ScannedCount)
	r.stats.Capacity += capacity(out.ConsumedCapacity)
	r.in.ExclusiveStartKey = out.LastEvaluatedKey
	r.done = len(out.LastEvaluatedKey) == 0
	return out.Items, nil
}

// engineLimit says how many items to have DynamoDB look at. After the first
// request that follows from how many the filter and expiry have dropped so far,
// so that a page of ten costs neither a megabyte nor many requests.
func (r *reader) engineLimit(want int) *int32 {
	const most = 1 << 30
	if want <= 0 {
		return nil
	}
	last := int(aws.ToInt32(r.in.Limit))
	switch {
	case last == 0:
	case r.stats.Items == 0:
		want = last * growth
	default:
		expected := float64(want) * float64(r.stats.Scanned) / float64(r.stats.Items)
		want = max(want, int(min(expected, float64(last*growth))))
	}
	return aws.Int32(int32(min(want, most)))
}

// stopAt makes item the last one that was read; last says that it is the last
// of its request. What DynamoDB filtered out behind it is read again by the
// next page, so that a token never holds the key of an item that its owner may
// not see.
func (r *reader) stopAt(item Item, last bool) {
	if last && r.done {
		return
	}
	r.done = false
	r.in.ExclusiveStartKey = r.shape.startKey(item)
}

func (r *reader) token() (string, error) {
	// Without a sort key there is one item at most, and no position behind it.
	if r.done || len(r.shape.position) == 0 {
		return "", nil
	}
	return r.t.sealCursor(r.q, r.shape, r.in.ExclusiveStartKey)
}

// attribute is a key attribute's name and type.
type attribute struct {
	name string
	kind types.ScalarAttributeType
}

// shape is what the keys of a query look like.
type shape struct {
	pk, sk attribute
	// position are the attributes that, beside pk, say where in the partition
	// an item stands: sort key first, then the table's own key.
	position []attribute
}

// startKey returns the attributes of an item that say where it stands.
func (s shape) startKey(item Item) Item {
	key := make(Item, len(s.position)+1)
	key[s.pk.name] = item[s.pk.name]
	for _, a := range s.position {
		key[a.name] = item[a.name]
	}
	return key
}

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrInvalidQuery, field, fmt.Sprintf(format, args...))
}

// shape checks the query's fields against the schema.
func (t *Table) shape(q Query) (shape, error) {
	s := shape{pk: attribute{t.schema.PK, t.schema.PKType}, sk: attribute{t.schema.SK, t.schema.SKType}}
	add := func(a attribute) {
		if a.name != "" && a.name != s.pk.name && !slices.Contains(s.position, a) {
			s.position = append(s.position, a)
		}
	}
	global := false
	if q.Index != "" {
		x, ok := t.schema.index(q.Index)
		if !ok {
			return s, invalid("Index", "the schema has no index %q", q.Index)
		}
		global = !x.Local
		s.pk, s.sk = attribute{x.PK, x.PKType}, attribute{x.SK, x.SKType}
		add(s.sk)
		add(attribute{t.schema.PK, t.schema.PKType})
	}
	add(attribute{t.schema.SK, t.schema.SKType})
	switch {
	case q.Limit < 0:
		return s, invalid("Limit", "%d is negative", q.Limit)
	case global && (q.Consistent || t.consistent):
		return s, invalid("Consistent", "the global index %q has no consistent reads", q.Index)
	case s.sk.name == "" && q.Range != (keys.Range{}):
		return s, invalid("Range", "there is no sort key")
	}
	if err := checkPK(s.pk.kind, q.PK); err != nil {
		return s, err
	}
	return s, s.checkRange(q.Range)
}

func (s shape) checkRange(r keys.Range) error {
	switch {
	case r == keys.Range{}:
		return nil
	case s.sk.kind == types.ScalarAttributeTypeS:
		return r.Validate()
	case s.sk.kind == types.ScalarAttributeTypeN && r.Prefix != "":
		return invalid("Range", "a number has no prefix")
	}
	for _, sk := range []keys.SK{r.Prefix, r.From, r.To} {
		if sk == "" {
			continue
		}
		if err := checkSK(s.sk.kind, sk); err != nil {
			return err
		}
	}
	switch {
	case r.Prefix != "" && (r.From != "" || r.To != ""):
		return invalid("Range", "a prefix together with bounds")
	case r.From != "" && r.To != "" && compareKeys(s.sk.kind, r.From, r.To) > 0:
		return invalid("Range", "empty, its end is not after its start")
	}
	return nil
}

// queryInput builds the request. Names and values of ours have words for
// placeholders, those of the expression package numbers, so they never meet.
func (t *Table) queryInput(q Query, s shape) (*dynamodb.QueryInput, error) {
	in := &dynamodb.QueryInput{
		TableName:                 t.name,
		ExpressionAttributeNames:  map[string]string{"#pk": s.pk.name},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": keyValue(s.pk.kind, string(q.PK))},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	condition := "#pk = :pk"
	if q.Range != (keys.Range{}) {
		in.ExpressionAttributeNames["#sk"] = s.sk.name
		bound := func(placeholder string, sk keys.SK) {
			in.ExpressionAttributeValues[placeholder] = keyValue(s.sk.kind, string(sk))
		}
		switch r := q.Range; {
		case r.Prefix != "":
			condition += " AND begins_with(#sk, :prefix)"
			bound(":prefix", r.Prefix)
		case r.From == r.To:
			condition += " AND #sk = :from"
			bound(":from", r.From)
		case r.To == "":
			condition += " AND #sk >= :from"
			bound(":from", r.From)
		case r.From == "":
			condition += " AND #sk <= :to"
			bound(":to", r.To)
		default:
			condition += " AND #sk BETWEEN :from AND :to"
			bound(":from", r.From)
			bound(":to", r.To)
		}
	}
	in.KeyConditionExpression = aws.String(condition)
	if q.Index != "" {
		in.IndexName = aws.String(q.Index)
	}
	if q.Reverse {
		in.ScanIndexForward = aws.Bool(false)
	}
	if q.Consistent || t.consistent {
		in.ConsistentRead = aws.Bool(true)
	}
	if err := t.filter(in, q, s); err != nil {
		return nil, err
	}
	return in, nil
}

// filter adds the filter and the projection to the request.
func (t *Table) filter(in *dynamodb.QueryInput, q Query, s shape) error {
	if q.Filter.IsSet() {
		built, err := expression.NewBuilder().WithFilter(q.Filter).Build()
		if err != nil {
			return invalid("Filter", "%v", err)
		}
		in.FilterExpression = built.Filter()
		for placeholder, name := range built.Names() {
			in.ExpressionAttributeNames[placeholder] = name
		}
		for placeholder, value := range built.Values() {
			in.ExpressionAttributeValues[placeholder] = value
		}
	}
	if len(q.Project) == 0 {
		return nil
	}
	names := []string{s.pk.name}
	for _, a := range s.position {
		names = append(names, a.name)
	}
	// A global index refuses to be asked for what it does not hold; local ones
	// fetch it from the table.
	x, indexed := t.schema.index(q.Index)
	partial := indexed && !x.Local && x.Projection != types.ProjectionTypeAll
	for _, name := range []string{t.schema.Type, t.schema.TTL} {
		if !partial || slices.Contains(x.Include, name) {
			names = append(names, name)
		}
	}
	for _, name := range q.Project {
		if partial && !slices.Contains(x.Include, name) && !slices.Contains(names, name) {
			return invalid("Project", "the index %q does not hold %q", q.Index, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	var project []string
	for i, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		placeholder := "#p" + strconv.Itoa(i)
		in.ExpressionAttributeNames[placeholder] = name
		project = append(project, placeholder)
	}
	in.ProjectionExpression = aws.String(strings.Join(project, ", "))
	return nil
}
