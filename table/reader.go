package table

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// selection is what a [Query] and a [Scan] have in common.
type selection struct {
	index      string
	limit      int
	scope      string
	filter     expression.ConditionBuilder
	project    []string
	consistent bool
}

// reader walks a query or scan request by request.
type reader struct {
	t *Table
	selection
	shape
	// bound is what tokens are bound to beside the selection and the shape.
	bound []string
	// fetch sends one request.
	fetch func(ctx context.Context, start Item, limit *int32, into intake) (batch, error)

	// start is where the next request begins, nil at the beginning.
	start Item
	// asked is the limit of the last request.
	asked *int32
	// stats are what was spent so far. Items is for those to count who get them
	// from next and drop the expired ones.
	stats Stats
	done  bool
}

// batch is the answer to one request, without its items.
type batch struct {
	last     Item // to go on from, empty at the end
	scanned  int32
	capacity float64
}

// setShape sets the shape of the selection, and checks the two.
func (r *reader) setShape() (err error) {
	if r.shape, err = r.t.shape(r.index); err != nil {
		return err
	}
	if r.limit < 0 {
		return invalid("Limit", "%d is negative", r.limit)
	}
	if x, indexed := r.t.schema.index(r.index); indexed && !x.Local && r.consistent {
		return invalid("Consistent", "the global index %q has no consistent reads", r.index)
	}
	return nil
}

// expressions returns the filter and the projection, and adds what they stand
// for to names and values. Names and values of ours have words for
// placeholders, those of the expression package numbers, so they never meet.
func (r *reader) expressions(names map[string]string, values map[string]types.AttributeValue) (filter, project *string, err error) {
	if r.filter.IsSet() {
		built, err := expression.NewBuilder().WithFilter(r.filter).Build()
		if err == nil {
			err = sendable(built.Names(), built.Values())
		}
		if err != nil {
			return nil, nil, invalid("Filter", "%v", err)
		}
		filter = built.Filter()
		maps.Copy(names, built.Names())
		maps.Copy(values, built.Values())
	}
	if len(r.project) == 0 {
		return filter, nil, nil
	}
	attributes, err := r.projection()
	if err != nil {
		return nil, nil, err
	}
	for i, name := range attributes {
		placeholder := "#p" + strconv.Itoa(i)
		names[placeholder] = name
		attributes[i] = placeholder
	}
	return filter, aws.String(strings.Join(attributes, ", ")), nil
}

// projection returns the attributes to ask for: those wanted, and those that
// the library needs itself.
func (r *reader) projection() ([]string, error) {
	names := []string{r.pk.name}
	for _, a := range r.position {
		names = append(names, a.name)
	}
	// A global index refuses to be asked for what it does not hold; local ones
	// fetch it from the table.
	x, indexed := r.t.schema.index(r.index)
	partial := indexed && !x.Local && x.Projection != types.ProjectionTypeAll
	for _, name := range []string{r.t.schema.Type, r.t.schema.TTL} {
		if name != "" && (!partial || slices.Contains(x.Include, name)) {
			names = append(names, name)
		}
	}
	for _, name := range r.project {
		switch {
		case name == "" || !utf8.ValidString(name):
			return nil, invalid("Project", "an attribute's name is empty or no UTF-8")
		case partial && !slices.Contains(x.Include, name) && !slices.Contains(names, name):
			return nil, invalid("Project", "the index %q does not hold %q", r.index, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// growth bounds how much more a request asks for than the one before it.
const growth = 4

// next sends one request and appends the items of its answer to values, limit of
// them at most unless that is 0. An item that cannot be read is the error that
// is returned with those before it.
func next[T any](ctx context.Context, r *reader, limit int, values []T) ([]T, error) {
	from := len(values)
	var cut Item // where the limit was reached
	var last int // the item's number
	var refused error
	rows := newRows[T](r.t, append([]attribute{r.pk}, r.position...)...)
	rows.begin = func() { values, cut, refused = values[:from], nil, nil }
	rows.take = func(i int, err error) bool {
		if err != nil {
			refused = err
			return false
		}
		if len(values) == from {
			values = slices.Grow(values, rows.expected)
		}
		values = append(values, rows.value)
		if len(values)-from == limit {
			cut, last = rows.position(), i
			return false
		}
		return true
	}
	r.asked = r.engineLimit(limit)
	b, err := r.fetch(ctx, r.start, r.asked, rows)
	if err != nil {
		return values[:from], err
	}
	r.stats.Requests++
	r.stats.Items += len(values) - from
	r.stats.Scanned += int(b.scanned)
	r.stats.Capacity += b.capacity
	r.start, r.done = b.last, len(b.last) == 0
	// Behind the limit, the next page reads again what DynamoDB has filtered out,
	// so that a token never holds the key of an item that its owner may not see.
	if cut != nil && (last < rows.items-1 || !r.done) {
		r.start, r.done = cut, false
	}
	return values, refused
}

// engineLimit says how many items to have DynamoDB look at. After the first
// request that follows from how many the filter and expiry have dropped so far,
// so that a page of ten costs neither a megabyte nor many requests.
func (r *reader) engineLimit(want int) *int32 {
	const most = 1 << 30
	if want <= 0 {
		return nil
	}
	last := int(aws.ToInt32(r.asked))
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

// token returns the token of the place where the reader stands, "" at the end.
func (r *reader) token() (string, error) {
	// Without a sort key there is one item at most, and no position behind it.
	if r.done || len(r.position) == 0 {
		return "", nil
	}
	return r.seal(r.start)
}
