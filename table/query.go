package table

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
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
//     descending order, as of a window that has moved on, or in the table itself, whose
//     sort keys are unique, the last key of the range. The page is empty, has no Next, and
//     sends nothing, as that of an empty range is at any position;
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
	// Put in whom the page is for, such as the user or tenant, if PK does not name them.
	Scope string
	// Filter drops items after they were read, and paid for.
	Filter expression.ConditionBuilder
	// Project names the attributes to return; all that the table or index holds
	// by default. Keys, type and expiry are always returned. Read them into a type of
	// their own: see [Table.Project].
	Project []string
	// Consistent asks for a strongly consistent read, at twice the read units.
	// Global indexes have none. AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB
	// Developer Guide. Seen: paritysuite/dynamodb-conformance,
	// error-messages/indexReads.test.ts.
	Consistent bool
}

// newReader returns a reader that stands where the query begins.
func (t *Table) newReader(q Query) (*reader, error) {
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
	r.startAttributes = slices.DeleteFunc(slices.Clone(r.startAttributes), func(a schema.Attribute) bool {
		return slices.ContainsFunc(r.fixed, func(k fixedKey) bool { return k.Attribute == a })
	})
	r.bound = append(r.bound, strconv.FormatBool(q.Descending), string(q.Range.Prefix))
	r.done = r.order().Empty(q.Range)
	if r.input, err = r.queryInput(); err != nil {
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

// fix returns the key attributes that have one value in all items of a query, and the
// one that its range is about; without a name if all are given.
func (l layout) fix(q Query) (fixed []fixedKey, ranged schema.Attribute, err error) {
	if len(l.sort) > 0 {
		ranged = l.sort[0]
	}
	if !l.composite {
		if len(q.PKs)+len(q.SKs) > 0 {
			return nil, ranged, invalid("PKs", "are for an index whose keys have several attributes; use PK and Range")
		}
		return []fixedKey{{l.partition[0], string(q.PK)}}, ranged, checkPK(l.partition[0].Type, q.PK)
	}
	switch {
	case q.PK != "":
		return nil, ranged, invalid("PK", "is given, and the keys of index %q have several attributes; use PKs", q.Index)
	case len(q.PKs) != len(l.partition):
		return nil, ranged, invalid("PKs", "%d values are given, and the partition of index %q needs one for each of %s", len(q.PKs), q.Index, attributeNames(l.partition))
	case len(q.SKs) > len(l.sort):
		return nil, ranged, invalid("SKs", "%d values are given, and index %q sorts by %s", len(q.SKs), q.Index, attributeNames(l.sort))
	}
	add := func(field string, limit int, attributes []schema.Attribute, texts []string) error {
		for i, text := range texts {
			if err := checkPlain(attributes[i].Type, "value", text, limit); err != nil {
				return invalid(field, "%d, of attribute %q: %w", i, attributes[i].Name, err)
			}
			fixed = append(fixed, fixedKey{attributes[i], text})
		}
		return nil
	}
	if err := add("PKs", keys.MaxPK, l.partition, q.PKs); err != nil {
		return nil, ranged, err
	}
	if ranged = (schema.Attribute{}); len(q.SKs) < len(l.sort) {
		ranged = l.sort[len(q.SKs)]
	}
	return fixed, ranged, add("SKs", keys.MaxSK, l.sort, q.SKs)
}

// checkRange reports why a range cannot be one of an attribute's values.
func (l layout) checkRange(a schema.Attribute, r keys.Range) error {
	switch {
	case r == keys.Range{}:
		return nil
	case a.Name == "" && l.composite && len(l.sort) > 0:
		return invalid("Range", "all sort key attributes have a value in SKs")
	case a.Name == "":
		return invalid("Range", "there is no sort key")
	case a.Type == types.ScalarAttributeTypeS && !l.composite:
		return r.Validate()
	case a.Type == types.ScalarAttributeTypeN && r.Prefix != "":
		return invalid("Range", "a number has no prefix")
	}
	for _, sk := range []keys.SK{r.Prefix, r.From, r.To} {
		if sk == "" {
			continue
		}
		if err := checkPlain(a.Type, "sort key", string(sk), keys.MaxSK); err != nil {
			return invalid("Range", "%w", err)
		}
	}
	if r.Prefix != "" && (r.From != "" || r.To != "") {
		return invalid("Range", "a prefix together with bounds")
	}
	return nil
}

// inRange reports whether a value of the attribute lies in a valid range.
func inRange(a schema.Attribute, r keys.Range, sk keys.SK) bool {
	return strings.HasPrefix(string(sk), string(r.Prefix)) &&
		(r.From == "" || compareKeys(a.Type, r.From, sk) <= 0) &&
		(r.To == "" || compareKeys(a.Type, sk, r.To) <= 0)
}

func attributeNames(attributes []schema.Attribute) string {
	names := make([]string, len(attributes))
	for i, a := range attributes {
		names[i] = strconv.Quote(a.Name)
	}
	return strings.Join(names, ", ")
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

// all reads response by response, and gives yield the number of each of the items that
// are those of one. It returns nil when the data or the limit ended or yield wanted no
// more.
func (t *Table) all(ctx context.Context, q Query, items *items, yield func(i int) bool) error {
	r, err := t.newReader(q)
	if err != nil {
		return err
	}
	if err := r.setItems(items); err != nil {
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
