package view

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/similar"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// similarForm is the page of a search near an item: what was asked for, and the result.
type similarForm struct {
	Action string
	Index  string
	Facts  vectorFacts
	Scores string
	Keys   []field // of the item
	Item   *link
	// Partition is nil if the index is not divided.
	Partition *field
	Filters   []field
	Top       int
	// Problem is why nothing was searched.
	Problem string
	Result  *similarResult
	Last    []past
}

// similarResult is the result of a search.
type similarResult struct {
	Columns     []string
	Rows        []row
	Scanned     int
	VectorBytes float64
	Whole       bool
}

// The number of matches of a search.
const (
	defaultTop = 10
	maxTop     = 100
)

// similar is the page of a vector index: the items that are nearest to one.
func (s *server) similar(v *visit) (*page, error) {
	if err := s.openTable(v, false); err != nil {
		return nil, err
	}
	st, name := v.state, v.FormValue("index")
	i := slices.IndexFunc(st.schema.Vectors, func(x schema.VectorIndex) bool { return x.Name == name })
	if i < 0 {
		return nil, &pageError{http.StatusNotFound, "No such index", "The table has no vector index of this name."}
	}
	x := st.schema.Vectors[i]
	f := st.newSimilar(v, x)
	f.Facts = st.vectors()[i]
	p := &page{Template: "similar", Title: x.Name + " · " + st.schema.Name, At: "similar:" + x.Name}
	if v.FormValue("pk") != "" {
		err := st.search(v, x, &f)
		switch {
		case errors.Is(err, table.ErrInvalid):
			f.Problem, p.Status = escaped(err.Error()), http.StatusBadRequest
		case err != nil:
			return nil, err
		}
	}
	f.Last = st.recent.of("similar", name, v.URL.RequestURI())
	p.Content = f
	return p, nil
}

// newSimilar returns the form with the values of the address.
func (s *state) newSimilar(v *visit, x schema.VectorIndex) similarForm {
	f := similarForm{Action: s.root.address(s.schema.Name, "similar"), Index: x.Name, Scores: distances[x.Distance].scores}
	for i, a := range s.layouts[0].keys() {
		f.Keys = append(f.Keys, field{Name: a.Name, Note: inputNote(a), Value: v.FormValue([]string{"pk", "sk"}[i])})
	}
	if x.Partition.Name != "" {
		f.Partition = &field{x.Partition.Name, v.FormValue("partition"), inputNote(x.Partition)}
	}
	given := v.Form["filter"]
	for i, a := range x.Filters {
		in := field{Name: a.Name, Note: inputNote(a)}
		if i < len(given) {
			in.Value = given[i]
		}
		f.Filters = append(f.Filters, in)
	}
	f.Top, _ = strconv.Atoi(v.FormValue("top"))
	if f.Top < 1 || f.Top > maxTop {
		f.Top = defaultTop
	}
	return f
}

// search searches near the item of the form, and sets the result.
func (s *state) search(v *visit, x schema.VectorIndex, f *similarForm) error {
	key, err := v.key()
	if err != nil {
		return err
	}
	item, err := s.stored(v, key)
	if err != nil {
		return err
	}
	at := s.link(key, v.now)
	f.Item = &at
	search, err := similar.To(x, item)
	if err != nil {
		return err
	}
	if f.Partition != nil && f.Partition.Value == "" {
		f.Partition.Value = toText(x.Partition, search.Partition)
	}
	if err := f.narrow(x, &search); err != nil {
		return err
	}
	matches, spent, err := table.SearchVectors[table.Item](v.Context(), s.table, search)
	if err != nil {
		return err
	}
	main := s.layouts[0]
	r := &similarResult{Columns: attributeNames(main.keys()), Scanned: spent.Scanned, VectorBytes: spent.VectorBytes, Whole: s.whole(x.Name)}
	var items []table.Item
	for _, m := range matches {
		items = append(items, m.Item)
	}
	r.Rows = s.newRows(main, items, main.keys(), v.now)
	for i, m := range matches {
		found := &r.Rows[i]
		found.Score = strconv.FormatFloat(m.Score, 'f', 4, 64)
		found.Here = m.Key == key
	}
	f.Result = r
	s.recent.add(past{Page: "similar", Index: x.Name, Href: v.URL.RequestURI(), Text: newText(f.describe(), longText)})
	return nil
}

// describe returns the search of the form for people.
func (f *similarForm) describe() string {
	text := "near " + strings.Join(stored(f.Item.Keys), " / ")
	given := slices.Clone(f.Filters)
	if f.Partition != nil {
		given = slices.Insert(given, 0, *f.Partition)
	}
	for _, in := range given {
		if in.Value != "" {
			text += ", " + in.Name + " = " + in.Value
		}
	}
	return text
}

// narrow gives the search the partition, the filters and the number of the form.
func (f *similarForm) narrow(x schema.VectorIndex, s *table.Search) error {
	s.Top = f.Top
	if f.Partition != nil {
		values, err := fromText([]schema.Attribute{x.Partition}, []string{f.Partition.Value})
		if err != nil {
			return err
		}
		s.Partition = values[0]
	}
	for i, in := range f.Filters {
		if in.Value == "" {
			continue
		}
		values, err := fromText(x.Filters[i:i+1], []string{in.Value})
		if err != nil {
			return err
		}
		if s.Filter == nil {
			s.Filter = map[string]string{}
		}
		s.Filter[in.Name] = values[0]
	}
	return nil
}
