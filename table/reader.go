package table

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	fetch func(ctx context.Context, start Item, limit *int32) (batch, error)

	// start is where the next request begins, nil at the beginning.
	start Item
	// asked is the limit of the last request.
	asked *int32
	// stats are what was spent so far. Items is for those to count who get them
	// from next and drop the expired ones.
	stats Stats
	done  bool
}

// batch is the answer to one request.
type batch struct {
	items    []map[string]types.AttributeValue
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
		case name == "":
			return nil, invalid("Project", "an attribute's name is empty")
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

// next sends one request. want is how many items the caller still wants, 0 or
// less for no limit.
func (r *reader) next(ctx context.Context, want int) ([]map[string]types.AttributeValue, error) {
	r.asked = r.engineLimit(want)
	b, err := r.fetch(ctx, r.start, r.asked)
	if err != nil {
		return nil, err
	}
	r.stats.Requests++
	r.stats.Scanned += int(b.scanned)
	r.stats.Capacity += b.capacity
	r.start = b.last
	r.done = len(b.last) == 0
	return b.items, nil
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

// stopAt makes item the last one that was read; last says that it is the last
// of its request. What DynamoDB filtered out behind it is read again by the
// next page, so that a token never holds the key of an item that its owner may
// not see.
func (r *reader) stopAt(item Item, last bool) {
	if last && r.done {
		return
	}
	r.done = false
	r.start = Item{r.pk.name: item[r.pk.name]}
	for _, a := range r.position {
		r.start[a.name] = item[a.name]
	}
}

// token returns the token of the place where the reader stands, "" at the end.
func (r *reader) token() (string, error) {
	// Without a sort key there is one item at most, and no position behind it.
	if r.done || len(r.position) == 0 {
		return "", nil
	}
	return r.seal(r.start)
}
