package view

import (
	"cmp"
	"math/big"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// partition is a page of the items of one partition.
type partition struct {
	Index, Title string
	Keys         []keyPart
	PKs          []string
	// Sorted says that there is a sort key, and Text that it is a string and so has
	// prefixes.
	Sorted, Text       bool
	Prefix             string
	Descending         bool
	Ascend, Descend    string
	Action             string
	SortName           string
	Columns            []string
	Rows               []row
	First, Prev, Next  string
	AsQuery, WholeHref string
	Whole              bool
	Export             string
}

// itemsOnPage is how many items of a partition a page has.
const itemsOnPage = 50

func (s *server) partition(v *visit) (*page, error) {
	l, err := s.openIndex(v)
	if err != nil {
		return nil, err
	}
	st := v.state
	pks, err := v.pks(l)
	if err != nil {
		return nil, err
	}
	q := l.query(pks)
	prefix := v.FormValue("prefix")
	q.Range.Prefix = keys.SK(prefix)
	q.Descending, q.Limit, q.After = v.FormValue("order") == "desc", itemsOnPage, v.FormValue("after")
	read, err := table.QueryPage[table.Item](v.Context(), st.table, q)
	if err != nil {
		return nil, err
	}
	if st.whole(l.Index) {
		st.learn(read.Items)
	}
	if p, ok := exported(v, st.whole(l.Index), read.Items); ok {
		return p, nil
	}
	to := func(order, prefix, after string) string {
		return st.partitionAddress(l, pks, "order", order, "prefix", prefix, "after", after)
	}
	order := v.FormValue("order")
	c := partition{
		Index: l.Index, Title: l.title(), Keys: parts(l.Partition, pks, v.now), PKs: v.Form["pk"],
		Sorted: len(l.Sort) > 0, Prefix: prefix, Descending: q.Descending,
		Ascend: to("", prefix, ""), Descend: to("desc", prefix, ""), Action: st.root.address(st.schema.Name, "partition"),
		WholeHref: to(order, "", ""),
		Whole:     st.whole(l.Index), Export: exportAddress(v, st.whole(l.Index), len(read.Items)), AsQuery: st.queryAddress(l, pks, prefix, order),
	}
	if c.Sorted {
		c.SortName, c.Text = l.Sort[0].Name, l.Sort[0].Type == types.ScalarAttributeTypeS && survives(v.Form["pk"])
	}
	if q.After != "" {
		c.First = to(order, prefix, "")
	}
	if read.Prev != "" {
		c.Prev = to(order, prefix, read.Prev)
	}
	if read.Next != "" {
		c.Next = to(order, prefix, read.Next)
	}
	c.Columns, c.Rows = attributeNames(l.rowKeys()), st.newRows(l, read.Items, l.rowKeys(), v.now)
	title := strings.Join(stored(c.Keys), " / ") + " · " + l.title() + " · " + st.schema.Name
	return &page{Template: "partition", Title: title, Content: c, At: "browse:" + l.Index}, nil
}

// stored returns the parts of a key as they are stored.
func stored(parts []keyPart) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.Stored)
	}
	return all
}

// query returns the query of a partition.
func (l layout) query(pks []string) table.Query {
	if l.composite {
		return table.Query{Index: l.Index, PKs: pks}
	}
	return table.Query{Index: l.Index, PK: keys.PK(pks[0])}
}

// queryAddress returns the address of the form with this query. order is "desc" or empty.
func (s *state) queryAddress(l layout, pks []string, prefix, order string) string {
	op := opAny
	if prefix != "" {
		op = opBegins
	}
	return s.keyAddress("query", l, pks, "op", op, "sk", prefix, "order", order)
}

// pks returns the values of the partition key in the address.
func (v *visit) pks(l layout) ([]string, error) {
	given := v.Form["pk"]
	if len(given) != len(l.Partition) {
		return nil, &pageError{http.StatusBadRequest, "No partition", "The address of a partition has a value for each attribute of the partition key."}
	}
	return fromText(l.Partition, given)
}

// survives reports whether the texts are the same after a form was sent: browsers change
// line ends and other control characters.
func survives(texts []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return escaped(s) != s })
}

// compare orders values of a key attribute as DynamoDB does.
func compare(kind types.ScalarAttributeType, a, b string) int {
	if kind != types.ScalarAttributeTypeN {
		return cmp.Compare(a, b)
	}
	// A DynamoDB number has 38 digits, which 256 bits hold.
	x, okX := new(big.Float).SetPrec(256).SetString(a)
	y, okY := new(big.Float).SetPrec(256).SetString(b)
	if !okX || !okY {
		return cmp.Compare(a, b)
	}
	return x.Cmp(y)
}
