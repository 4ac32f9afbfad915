package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/response"
	"github.com/singletable/singletable/internal/window"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
)

// reader walks a query or scan request by request.
type reader struct {
	t *Table
	// Query is what is read. A scan has what it shares with a query.
	Query
	layout
	extent
	// startAttributes are the key attributes in a cursor, whose values tell where to go on.
	startAttributes []schema.Attribute
	// fixed are the key attributes that have one value in all items of a query, and
	// ranged is the sort key attribute that its range is about.
	fixed  []fixedKey
	ranged schema.Attribute
	// bound is what cursors are bound to in addition to index, scope and shape.
	bound []string
	// input is the request of a query, and scan that of a scan.
	input *dynamodb.QueryInput
	scan  *dynamodb.ScanInput

	// start is where the next request begins, nil at the beginning.
	start Item
	// after is the position of the cursor, nil without.
	after Item
	// sentLimit is the limit of the last request.
	sentLimit *int32
	// stats are what was spent so far. Items is for those to count who get them
	// from next and drop the expired ones.
	stats Stats
	done  bool
}

// setLayout sets the layout of what is read, and checks it.
func (r *reader) setLayout() error {
	if len(r.Project) == 0 {
		r.Project = r.t.project
	}
	r.Consistent = r.Consistent || r.t.consistent
	var ok bool
	if r.layout, ok = r.t.layouts[r.Index]; !ok {
		return invalid("Index", "the schema has no index %q", r.Index)
	}
	r.startAttributes = r.keys
	if r.Limit < 0 {
		return invalid("Limit", "%d is negative", r.Limit)
	}
	if r.global() && r.Consistent {
		return invalid("Consistent", "the global index %q has no consistent reads", r.Index)
	}
	if r.partial() && r.t.upgrades() {
		return invalid("Index", "%q does not project all attributes, and upgrades need them", r.Index)
	}
	switch {
	case r.partial():
		r.less = "Index"
	case len(r.Project) > 0:
		r.less = "Project"
	}
	r.shapeless = r.partial() && !r.includes(r.t.schema.Shape)
	return nil
}

// order is that of the sort keys. The keys of the table are unique, those of an index can
// be of several items.
func (r *reader) order() window.Order {
	return window.Order{
		Compare:    func(a, b keys.SK) int { return compareKeys(r.ranged.Type, a, b) },
		Descending: r.Descending,
		Segments:   !r.composite && r.ranged.Type == types.ScalarAttributeTypeS,
		Unique:     r.secondary == nil,
	}
}

// expressions returns the filter and the projection, and adds what they stand
// for to names and values.
func (r *reader) expressions(names map[string]string, values map[string]types.AttributeValue) (filter, project *string, err error) {
	if r.Filter.IsSet() {
		built, err := build(expression.NewBuilder().WithFilter(r.Filter))
		if err == nil {
			err = r.checkFilter(*built.Filter(), built.Names(), built.Values())
		}
		if err != nil {
			return nil, nil, invalid("Filter", "%w", err)
		}
		filter = built.Filter()
		maps.Copy(names, built.Names())
		maps.Copy(values, built.Values())
	}
	if len(r.Project) == 0 {
		return filter, nil, nil
	}
	if project, err = r.t.projected(r.Index, r.Project, r.own(), r.offers, names, &r.extent); err != nil {
		return nil, nil, invalid("Project", "%w", err)
	}
	return filter, project, nil
}

// checkFilter reports a filter that is invalid, on an attribute that an upgrade touches, or in a query
// on one of its keys, which DynamoDB refuses. Seen: architect/dynalite,
// test/query.js.
func (r *reader) checkFilter(text string, names map[string]string, values Item) error {
	f, err := r.t.checkFormula("filter", text, names, values)
	if err == nil {
		err = checkSubstitutes(names, values)
	}
	if err != nil {
		return err
	}
	for _, token := range f.tokens {
		switch name, _ := f.attribute(token); {
		case name == "":
		case slices.ContainsFunc(r.t.views, func(v item.View) bool { return slices.Contains(v.Attributes, name) }):
			return fmt.Errorf("attribute %q is of an upgrade, which stored items may not have yet", name)
		case r.fixed != nil && r.isKey(name):
			return fmt.Errorf("attribute %q is a key of the query, which DynamoDB takes in the Range only", name)
		}
	}
	return nil
}

// own returns the attributes that the library itself asks for where there are any.
func (r *reader) own() []string {
	own := append(r.t.typeAttributes(), r.t.schema.TTLAttribute)
	for _, a := range r.keys {
		own = append(own, a.Name)
	}
	if len(r.t.views) > 0 {
		own = append(own, r.t.schema.Shape, r.t.schema.ShapeFrom())
	}
	for _, v := range r.t.views {
		own = slices.AppendSeq(own, maps.Keys(v.Equal))
	}
	return own
}

// offers reports whether an attribute can be asked for. A global index refuses to be asked
// for what it does not hold; local ones fetch it from the table.
func (r *reader) offers(attribute string) bool {
	return !r.global() || !r.partial() || r.includes(attribute) ||
		slices.ContainsFunc(r.keys, func(a schema.Attribute) bool { return a.Name == attribute })
}

// projected returns the projection to ask an index for: of attributes that are wanted, which
// it must offer, and of the library's own ones that it offers. Their names are added to names.
// Items that are upgraded are read as a whole; then e says what is kept of them.
func (t *Table) projected(
	index string, wanted, own []string, offers func(attribute string) bool, names map[string]string, e *extent,
) (*string, error) {
	var all []string
	for _, name := range own {
		if name != "" && offers(name) {
			all = append(all, name)
		}
	}
	for _, name := range wanted {
		switch {
		case nameFault(name) != nil:
			return nil, nameFault(name).in(name).err()
		case !offers(name):
			return nil, fmt.Errorf("the index %q does not hold %q", index, name)
		}
		all = append(all, name)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if t.upgrades() {
		e.keep = all
		return nil, nil
	}
	for i, name := range all {
		all[i] = "#p" + strconv.Itoa(i)
		names[all[i]] = name
	}
	projection := strings.Join(all, ", ")
	if len(projection) > maxExpression {
		return nil, fmt.Errorf("%d attributes are too many for an expression", len(all))
	}
	return &projection, nil
}

// readError returns the error of a read of the partition pk, if it has one.
func (t *Table) readError(op, index string, pk keys.PK, err error) error {
	e := &Error{Op: op, Name: t.ofType, Table: t.schema.Name, Index: index, Err: explain(err)}
	switch item, ok := errors.AsType[*itemError](err); {
	case ok:
		e.Key, e.IndexKey, e.Err = item.key, item.indexKey, item.err
	case index != "":
		e.IndexKey.PK = pk
		if refusedKeys(err, &t.schema, index) {
			e.Err = fmt.Errorf("%w (engines for tests cannot query an index with several attributes in a key; DynamoDB can)", e.Err)
		}
	default:
		e.Key.PK = pk
	}
	return e
}

// refusedKeys reports whether an engine has refused a query of an index with several
// attributes in a key, which has been checked before it was sent.
func refusedKeys(err error, s *schema.Table, index string) bool {
	api, _ := response.Of(err)
	if api == nil || api.ErrorCode() != "ValidationException" {
		return false
	}
	return slices.ContainsFunc(s.Indexes, func(x schema.Index) bool {
		partition, sort := x.Keys()
		return x.Name == index && max(len(partition), len(sort)) > 1
	})
}

// growth bounds how much more a request asks for than the one before it.
const growth = 4

// next sends one request, whose values are added to items, up to limit of them unless
// that is 0. An item that is no value is the error that is returned, after the values
// before it.
func (r *reader) next(ctx context.Context, items *items, limit int) error {
	before := items.count()
	items.limit, r.sentLimit = limit, r.engineLimit(limit-before)
	cost, last, err := r.fetch(ctx, items)
	if err != nil {
		items.begin(before)
		return err
	}
	cost.Items = items.count() - before
	r.stats, r.start, r.done = r.stats.Add(cost), last, len(last) == 0
	if items.err != nil {
		return items.err
	}
	// After the limit, the next page reads the filtered items again. So the cursor
	// of a full page holds the key of an item that was returned. That of a short
	// one may hold a filtered item's: sealing hides it.
	if items.full() && (items.more || !r.done) {
		r.start, r.done = items.startKey, false
	}
	return nil
}

// fetch sends one request. It returns what that cost, with the number that DynamoDB
// counts as its Items, and where to go on from, empty at the end.
func (r *reader) fetch(ctx context.Context, items *items) (cost Stats, last Item, err error) {
	if in := r.scan; in != nil {
		in.ExclusiveStartKey, in.Limit = r.start, r.sentLimit
		out, err := call(ctx, r.t, &request{operation: "Scan", index: r.Index, items: items}, r.t.api.scan, in)
		if err != nil {
			return cost, nil, err
		}
		cost = Stats{Items: int(out.Count), Scanned: int(out.ScannedCount), Requests: 1, Capacity: capacity(out.ConsumedCapacity)}
		return cost, out.LastEvaluatedKey, nil
	}
	in := r.input
	in.ExclusiveStartKey, in.Limit = r.start, r.sentLimit
	out, err := call(ctx, r.t, &request{operation: "Query", index: r.Index, items: items}, r.t.api.query, in)
	if err != nil {
		return cost, nil, err
	}
	cost = Stats{Items: int(out.Count), Scanned: int(out.ScannedCount), Requests: 1, Capacity: capacity(out.ConsumedCapacity)}
	return cost, out.LastEvaluatedKey, nil
}

// engineLimit says how many items to have DynamoDB look at. After the first
// request that follows from how many the filter and expiry have dropped so far,
// so that a page of ten costs neither a megabyte nor many requests.
func (r *reader) engineLimit(want int) *int32 {
	const most = 1 << 30
	if want <= 0 {
		return nil
	}
	last := int(aws.ToInt32(r.sentLimit))
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

// checkTelling refuses an index that does not hold what tells items of a type from others.
func (r *reader) checkTelling() error {
	for _, name := range r.t.typeAttributes() {
		if !r.has(name) {
			return invalid("Index", "%q does not hold the attribute %q, by which a read of %q tells the type of what it finds; include it in the index, or read by another one",
				r.Index, name, r.t.ofType)
		}
	}
	for _, v := range r.t.views {
		for _, name := range slices.Sorted(maps.Keys(v.Equal)) {
			if !r.has(name) {
				return invalid("Index", "%q does not hold the attribute %q, which all items of %q have; include it in the index, or read by another one", r.Index, name, v.Type)
			}
		}
	}
	return nil
}

// setItems sets what items setItems. It refuses an index in which items are of no type, where they
// are to be of one.
func (r *reader) setItems(items *items) error {
	// A local index fetches from the table what it is asked for.
	if r.t.ofType != "" && (r.global() || len(r.Project) == 0) {
		if err := r.checkTelling(); err != nil {
			return err
		}
	}
	items.of(r.t).in(r.Index)
	items.queried = r.scan == nil
	return items.setExtent(r.extent)
}

// read reads a page of at most limit items.
func (r *reader) read(ctx context.Context, items *items, limit int) error {
	if err := r.setItems(items); err != nil {
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
