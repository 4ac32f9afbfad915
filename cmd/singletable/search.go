package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/kinds"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/cmd/singletable/internal/similar"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

const searchHelp = `Usage: singletable search [flags] TABLE INDEX PK [SK]
       singletable search [flags] -vector FILE TABLE INDEX

Search prints the items of a vector index that are nearest to an item of the table, or to
a vector in a file: a line for each with its score, keys, type, and the beginning of its
attributes. COSINE and EUCLIDEAN give the nearest the least score, DOT_PRODUCT the
greatest. An item is nearest to itself.

The file is a JSON array of numbers; - is standard input. If the index is divided, the
search is in the partition of the item, or in that of -partition. A number is written as
text (12.5), a binary value as base64.

With -json it prints {"matches": [{"score": …, "item": …}], "scanned": …, "vectorBytes": …},
the items in DynamoDB's own JSON. They are without their vectors. Items that have expired
are printed, too, and marked.

Exit codes: 0 the matches were printed, with or without items, 2 no result.

Examples:

  AWS_PROFILE=prod singletable search Shop byText PRODUCT#p-1 METADATA
  singletable search -vector query.json -partition acme -filter category=tea -json Shop byText
`

// searchingVectors are the permissions of a command that searches.
const searchingVectors = "dynamodb:SearchVectors on the index, and dynamodb:GetItem on the table"

// searched is the output of search.
type searched struct {
	Matches []searchedItem `json:"matches"`
	// Scanned is how many items DynamoDB has found, and VectorBytes what it charges.
	Scanned     int     `json:"scanned"`
	VectorBytes float64 `json:"vectorBytes"`
}

// searchedItem is an item with its score.
type searchedItem struct {
	Score float64         `json:"score"`
	Item  dynamojson.Item `json:"item"`
}

// searchFlags are the flags of search.
type searchFlags struct {
	vector, partition, schema *string
	filters                   texts
	top                       *int
}

func newSearchFlags(fs *flag.FlagSet) *searchFlags {
	f := &searchFlags{
		vector:    fs.String("vector", "", "`file` with the vector, instead of an item"),
		partition: fs.String("partition", "", "`value` of the attribute that divides the index; by default that of the item"),
		top:       fs.Int("top", 10, "the `number` of items, at most 100"),
		schema:    fs.String("schema", "", schemaUsage),
	}
	fs.Var(&f.filters, "filter", "`name=value` that an attribute must have; can be repeated")
	return f
}

func (p *program) search(ctx context.Context, args []string) error {
	fs, asJSON := flags("search")
	f := newSearchFlags(fs)
	rest, err := p.parse(fs, searchHelp, args, takes{2, 4, "the names of a table and an index, and a key or -vector"})
	switch {
	case err != nil:
		return err
	case *f.vector == "" && len(rest) < 3:
		return usageError("it takes the names of a table and an index, and a key or -vector")
	case *f.vector != "" && len(rest) != 2:
		return usageError("with -vector it takes the names of a table and an index")
	case *f.top < 1 || *f.top > 100:
		return usageError("-top must be 1 to 100")
	}
	t, err := p.openStored(ctx, rest[0], *f.schema, nil)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(t.schema.Vectors, func(x schema.VectorIndex) bool { return x.Name == rest[1] })
	if i < 0 {
		return usageError("the table has no vector index of that name; it has " + vectorNames(t.schema))
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	s, err := p.searchOf(ctx, t, t.schema.Vectors[i], f, rest[2:])
	if err != nil {
		return err
	}
	matches, spent, err := table.SearchVectors[table.Item](ctx, t.table, s)
	if err != nil {
		return p.failed(ctx, err, searchingVectors)
	}
	if *asJSON {
		out := searched{Matches: []searchedItem{}, Scanned: spent.Scanned, VectorBytes: spent.VectorBytes}
		for _, m := range matches {
			out.Matches = append(out.Matches, searchedItem{m.Score, dynamojson.Item(m.Item)})
		}
		return p.printJSON(out)
	}
	if err := p.printMatches(t.schema, matches); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "%s, %.0f bytes of vectors\n", quantity.Of(len(matches), "item"), spent.VectorBytes)
	var kinds kinds.Finder
	for _, m := range matches {
		kinds.Add(t.schema, m.Item)
	}
	p.noteRows(t.schema, rest[1], kinds)
	return nil
}

// printMatches prints a line for each match: the score before what query prints.
func (p *program) printMatches(spec schema.Table, matches []table.Match[table.Item]) error {
	lines := printer{p, spec, "", false, false}
	names := lines.columnNames()
	if spec.SK != "" {
		names = slices.Insert(names, 0, spec.PK)
	}
	items := make([]table.Item, len(matches))
	for i, m := range matches {
		items[i] = m.Item
	}
	rows := lines.lines(names, items)
	for i := range rows {
		first := "score"
		if i > 0 {
			first = strconv.FormatFloat(matches[i-1].Score, 'f', 4, 64)
		}
		rows[i] = slices.Insert(rows[i], 0, first)
	}
	return p.print(columns(rows))
}

func vectorNames(spec schema.Table) string {
	var names []string
	for _, x := range spec.Vectors {
		names = append(names, x.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// searchOf returns the search of the flags, near the item under the key or the vector of the
// file.
func (p *program) searchOf(ctx context.Context, t storedTable, x schema.VectorIndex, f *searchFlags, key []string) (s table.Search, err error) {
	s = table.Search{Index: x.Name, Top: *f.top, Filter: map[string]string{}}
	if x.Partition.Name != "" {
		if s.Partition, err = keyText(x.Partition.Type, "-partition", *f.partition); err != nil {
			return s, err
		}
	} else if *f.partition != "" {
		return s, usageError("-partition is given, and the index is not divided")
	}
	for _, text := range f.filters {
		name, value, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(x.Filters, func(a schema.Attribute) bool { return a.Name == name })
		if !ok || i < 0 {
			return s, usageError("-filter is name=value, of an attribute that the index filters by")
		}
		if s.Filter[name], err = keyText(x.Filters[i].Type, "-filter", value); err != nil {
			return s, err
		}
	}
	if len(key) == 0 {
		s.Near, err = p.vectorFile(*f.vector)
		return s, err
	}
	k, err := keyOf(t.schema, key)
	if err != nil {
		return s, err
	}
	item, err := table.Get[table.Item](ctx, t.table, k)
	if errors.Is(err, table.ErrNotFound) {
		return s, usageError("there is no item under the key")
	}
	if err != nil {
		return s, p.failed(ctx, err, searchingVectors)
	}
	near, err := similar.To(x, item)
	if err != nil {
		return s, err
	}
	s.Near, s.Partition = near.Near, cmp.Or(s.Partition, near.Partition)
	return s, nil
}

// vectorFile reads a vector.
func (p *program) vectorFile(name string) (v []float32, err error) {
	text, name, err := p.readInput(name, maxInput)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%s: the vector is no JSON array of numbers: %w", name, err)
	}
	return v, nil
}
