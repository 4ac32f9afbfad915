package view

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

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
	// A global index has no consistent reads. Seen: paritysuite/dynamodb-conformance,
	// error-messages/indexReads.test.ts.
	Global  bool
	Filters []filter
	// Problem is why the query was not sent.
	Problem string
	Result  *queryResult
	// Text is the query for people.
	Text text
	// Access is the pattern that was chosen, nil if none was, and Accesses are all.
	Access   *accessForm
	Accesses []access
	Last     []past
	Overview string // the address of the page that reads items
}

// Unusual reports whether the limit or the consistency is not the one that a form begins with.
func (f queryForm) Unusual() bool { return f.Limit != itemsOnPage || f.Consistent }

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
	Requests       int
	Filtered       bool
	// Spent means that the budget of the page ended before the page was full.
	Spent      bool
	Prev, Next string
	Request    *sent
	Whole      bool
	Export     string
	items      []table.Item
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

// maxLimit bounds the items of a page of results.
const maxLimit = 200

// What a page of a query with filters reads at most. It reads more with each request, as
// long as the filters drop what it reads.
const (
	maxDropped = 100 // items that it does not show
	maxUnits   = 50  // read units
)

func (s *server) query(v *visit) (*page, error) {
	l, err := s.openIndex(v)
	if err != nil {
		return nil, err
	}
	st := v.state
	f := st.newForm(v, l)
	p := &page{Template: "query", Title: "Query · " + st.schema.Name, At: "query"}
	if f.Access, err = st.newAccess(v); err != nil {
		return nil, err
	}
	if f.Access != nil && len(v.Form["with"]) > 0 {
		to, err := f.Access.address(st)
		if err == nil {
			return &page{Redirect: to}, nil
		}
		f.Problem, p.Status = escaped(err.Error()), http.StatusBadRequest
	}
	given := v.Form["pk"]
	if len(given) == len(l.Partition) && strings.Join(given, "") != "" {
		f.Result, err = st.run(v, l, &f)
		switch {
		case errors.Is(err, paginate.ErrInvalidCursor):
			return nil, err
		case errors.Is(err, table.ErrInvalid):
			f.Problem, p.Status = escaped(err.Error()), http.StatusBadRequest
		case err != nil:
			return nil, err
		default:
			if p, ok := exported(v, f.Result.Whole, f.Result.items); ok {
				return p, nil
			}
			f.Result.Export = exportAddress(v, f.Result.Whole, f.Result.Count)
		}
	}
	f.Accesses, f.Last, f.Overview = st.accesses(), st.recent.of("query", "", v.URL.RequestURI()), st.root.address(st.schema.Name, "")
	p.Content = f
	return p, nil
}

// newForm returns the form with the values of the address.
func (s *state) newForm(v *visit, l layout) queryForm {
	name := s.schema.Name
	f := queryForm{
		Action: s.root.address(name, "query"), Index: l.Index, SK: v.FormValue("sk"), SK2: v.FormValue("sk2"),
		Descending: v.FormValue("order") == "desc", Consistent: v.FormValue("consistent") != "",
		Global: l.Index != "" && !l.Local, Filters: newFilters(v),
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
	var filtered bool
	if q.Filter, filtered, err = conditions(f.Filters); err != nil {
		return nil, err
	}
	r := &queryResult{Filtered: filtered, Whole: s.whole(l.Index), Columns: attributeNames(l.rowKeys())}
	items, err := s.readOn(v, q, r)
	if err != nil {
		return nil, err
	}
	if r.Whole {
		s.learn(items)
	}
	r.items, r.Rows = items, s.newRows(l, items, l.rowKeys(), v.now)
	f.Text = newText(f.describe(pks), longText)
	if v.FormValue("after") == "" {
		s.recent.add(past{Page: "query", Index: l.Index, Href: v.URL.RequestURI(), Text: f.Text})
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
	r.Prev, r.Next = to(r.Prev), to(r.Next)
	return r, nil
}

// readOn reads a page, and sets its cost and its cursors. While filters leave the page short,
// it reads on within the budget.
func (s *state) readOn(v *visit, q table.Query, r *queryResult) (items []table.Item, err error) {
	limit := q.Limit
	if r.Filtered {
		q.Limit = min(q.Limit, maxDropped)
	}
	for {
		read, err := table.QueryPage[table.Item](v.Context(), s.table, q)
		if err != nil {
			return nil, err
		}
		if r.Requests == 0 {
			r.Prev = read.Prev
		}
		items = append(items, read.Items...)
		r.Requests, r.Units = r.Requests+read.Stats.Requests, r.Units+read.Stats.Capacity
		r.Count, r.Scanned, r.Next = len(items), r.Scanned+read.Stats.Scanned, read.Next
		full := !r.Filtered || read.Next == "" || len(items) >= limit
		left := maxDropped - (r.Scanned - r.Count)
		r.Spent = !full && (left <= 0 || r.Units >= maxUnits)
		if full || r.Spent {
			return items, nil
		}
		q.After, q.Limit = read.Next, min(2*q.Limit, left)
	}
}

// describe returns the query of the form for people.
func (f *queryForm) describe(pks []string) string {
	text := strings.Join(pks, " / ")
	if f.Index != "" {
		text = f.Index + ": " + text
	}
	for _, o := range f.Ops {
		if !o.Chosen || o.Value == opAny || f.SKName == "" {
			continue
		}
		text += ", " + f.SKName + " " + o.Name + " " + f.SK
		if o.Value == opBetween {
			text += " and " + f.SK2
		}
	}
	for _, filter := range f.Filters {
		if filter.Attribute != "" {
			text += ", " + filter.String()
		}
	}
	if f.Descending {
		text += ", descending"
	}
	return text
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
