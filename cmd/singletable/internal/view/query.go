package view

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// queryForm is the page of a query: what was asked for, and the result.
type queryForm struct {
	Action     string
	Indexes    []tab
	Index      string
	PKs        []field
	SKName     string // "" without a sort key
	SKNote     string
	Ops        []option
	SK, SK2    string
	Descending bool
	Limit      int
	Consistent bool
	Global     bool // A global index has no consistent reads.
	Attribute  string
	Equals     string
	Kinds      []option
	// Problem is why the query was not sent.
	Problem string
	Result  *queryResult
}

// field is an input of the form.
type field struct{ Name, Value, Note string }

// option is one of several values of an input.
type option struct {
	Value, Name string
	Chosen      bool
}

// queryResult is the result of a query.
type queryResult struct {
	Columns        []string
	Rows           []row
	Units          float64
	Count, Scanned int
	Filtered       bool
	Prev, Next     string
	Request        *sent
	Whole          bool
}

// The conditions on a sort key.
const (
	opAny     = ""
	opEquals  = "eq"
	opBegins  = "begins"
	opBetween = "between"
	opFrom    = "from"
	opTo      = "to"
)

// The types of the value in a filter.
const (
	kindText    = ""
	kindNumber  = "number"
	kindBoolean = "bool"
)

// maxLimit bounds the items of a page of results.
const maxLimit = 200

func (s *server) query(v *visit) (*page, error) {
	l, err := s.openIndex(v)
	if err != nil {
		return nil, err
	}
	st := v.state
	f := st.newForm(v, l)
	p := &page{Template: "query", Title: "Query · " + st.schema.Name, At: "query"}
	given := v.Form["pk"]
	if len(given) == len(l.Partition) && strings.Join(given, "") != "" {
		f.Result, err = st.run(v, l, &f)
		switch {
		case errors.Is(err, paginate.ErrInvalidCursor):
			return nil, err
		case errors.Is(err, table.ErrInvalid):
			f.Problem, p.Status = escaped(err.Error()), 400
		case err != nil:
			return nil, err
		}
	}
	p.Content = f
	return p, nil
}

// newForm returns the form with the values of the address.
func (s *state) newForm(v *visit, l layout) queryForm {
	name := s.schema.Name
	f := queryForm{
		Action: s.root.address(name, "query"), Index: l.Index, SK: v.FormValue("sk"), SK2: v.FormValue("sk2"),
		Descending: v.FormValue("order") == "desc", Consistent: v.FormValue("consistent") != "",
		Global: l.Index != "" && !l.Local, Attribute: v.FormValue("attribute"), Equals: v.FormValue("equals"),
	}
	f.Limit, _ = strconv.Atoi(v.FormValue("limit"))
	if f.Limit < 1 || f.Limit > maxLimit {
		f.Limit = itemsOnPage
	}
	for _, other := range s.layouts {
		f.Indexes = append(f.Indexes, tab{other.title(), s.root.address(name, "query", "index", other.Index), other.Index == l.Index})
	}
	for i, a := range l.Partition {
		in := field{Name: a.Name, Note: inputNote(a)}
		if given := v.Form["pk"]; i < len(given) {
			in.Value = given[i]
		}
		f.PKs = append(f.PKs, in)
	}
	ops := []option{
		{opAny, "any", false},
		{opEquals, "=", false},
		{opBegins, "begins with", false},
		{opBetween, "between", false},
		{opFrom, "≥", false},
		{opTo, "≤", false},
	}
	if len(l.Sort) > 0 {
		f.SKName, f.SKNote = l.Sort[0].Name, inputNote(l.Sort[0])
		if l.Sort[0].Type == types.ScalarAttributeTypeN {
			ops = append(ops[:2], ops[3:]...)
		}
	}
	f.Ops = chosen(ops, v.FormValue("op"))
	f.Kinds = chosen([]option{{kindText, "text", false}, {kindNumber, "number", false}, {kindBoolean, "true or false", false}}, v.FormValue("kind"))
	return f
}

// inputNote says how the value of a key attribute is written, unless it is text.
func inputNote(a schema.Attribute) string {
	switch a.Type {
	case types.ScalarAttributeTypeN:
		return "number"
	case types.ScalarAttributeTypeB:
		return "base64"
	}
	return ""
}

func chosen(all []option, value string) []option {
	for i := range all {
		all[i].Chosen = all[i].Value == value
	}
	return all
}

// run sends the query of the form.
func (s *state) run(v *visit, l layout, f *queryForm) (*queryResult, error) {
	pks, err := v.pks(l)
	if err != nil {
		return nil, err
	}
	q := l.query(pks)
	q.Descending, q.Limit, q.Consistent, q.After = f.Descending, f.Limit, f.Consistent && !f.Global, v.FormValue("after")
	if err := f.narrow(&q, l, v.FormValue("op")); err != nil {
		return nil, err
	}
	if err := f.filter(&q, v.FormValue("kind")); err != nil {
		return nil, err
	}
	read, err := table.QueryPage[table.Item](v.Context(), s.table, q)
	if err != nil {
		return nil, err
	}
	if s.whole(l.Index) {
		s.learn(read.Items)
	}
	r := &queryResult{
		Units: read.Stats.Capacity, Count: read.Stats.Items, Scanned: read.Stats.Scanned, Filtered: f.Attribute != "",
		Whole: s.whole(l.Index), Columns: attributeNames(l.rowKeys()), Rows: s.newRows(l, read.Items, l.rowKeys(), v.now),
	}
	if rec, ok := v.Context().Value(recordKey{}).(*record); ok {
		for _, q := range rec.requests() {
			if q.Operation == "Query" {
				r.Request = &q
			}
		}
	}
	to := func(after string) string {
		if after == "" {
			return ""
		}
		to := *v.URL
		in := to.Query()
		in.Set("after", after)
		to.RawQuery = in.Encode()
		return to.RequestURI()
	}
	r.Prev, r.Next = to(read.Prev), to(read.Next)
	return r, nil
}

// narrow gives the query the condition on the sort key.
func (f *queryForm) narrow(q *table.Query, l layout, op string) error {
	if f.SKName == "" || op == opAny {
		return nil
	}
	bounds, err := fromText([]schema.Attribute{l.Sort[0], l.Sort[0]}, []string{f.SK, f.SK2})
	if err != nil {
		return err
	}
	sk, sk2 := keys.SK(bounds[0]), keys.SK(bounds[1])
	if sk == "" || op == opBetween && sk2 == "" {
		return fmt.Errorf("%w: the condition on %s needs a value", table.ErrInvalid, f.SKName)
	}
	switch op {
	case opEquals:
		q.Range = keys.Exactly(sk)
	case opBegins:
		q.Range.Prefix = sk
	case opBetween:
		q.Range = keys.Range{From: sk, To: sk2}
	case opFrom:
		q.Range.From = sk
	case opTo:
		q.Range.To = sk
	default:
		return fmt.Errorf("%w: there is no such condition on a sort key", table.ErrInvalid)
	}
	return nil
}

// filter gives the query the filter of the form.
func (f *queryForm) filter(q *table.Query, kind string) error {
	if f.Attribute == "" {
		return nil
	}
	var value types.AttributeValue = &types.AttributeValueMemberS{Value: f.Equals}
	switch kind {
	case kindNumber:
		value = &types.AttributeValueMemberN{Value: cmp.Or(strings.TrimSpace(f.Equals), "0")}
	case kindBoolean:
		b, err := strconv.ParseBool(f.Equals)
		if err != nil {
			return fmt.Errorf("%w: the filter needs true or false", table.ErrInvalid)
		}
		value = &types.AttributeValueMemberBOOL{Value: b}
	}
	// [expression.Key] takes the whole name. [expression.NameNoDotSplit] reads a[0] as an
	// element of a list.
	q.Filter = expression.Equal(expression.Key(f.Attribute), expression.Value(value))
	return nil
}
