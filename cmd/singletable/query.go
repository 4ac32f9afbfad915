package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/kinds"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/cmd/singletable/internal/shell"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

const queryHelp = `Usage: singletable query [flags] TABLE PK…

Query prints the items of one partition of a table or an index, in the order of their
sort keys: a line for each with keys, type, and the beginning of its attributes, those
first that tell the lines apart. What the keys say already is left out. "… 3 more" counts
what a line does not have. Items that have expired are printed, too, and marked. For an
index whose partition key has several attributes, give a value for each.

-prefix, -from and -to narrow the sort keys; they are key text as it is stored, such as
TX#2024-01. -from and -to are included. A number is written as text (12.5), a binary key
as base64. Put a key that begins with - after --.

A page has 25 items. If there are more, the command for the next page is on standard
error, ready to paste into bash or zsh; -all prints all pages. Cursors are sealed with
the keys in CURSOR_KEYS; without the variable they are not sealed, and the sort key of
the last item can be read in them.

With -json a page is one object, {"items": […], "next": "…", "readUnits": …}, the items
in DynamoDB's own JSON. With -all and -json each item is a line, {"Item": …}. Read units
are on standard error otherwise.

Exit codes: 0 the page was printed, with or without items, 2 no result.

Examples:

  AWS_PROFILE=prod singletable query -prefix TX#2024-01 -desc AppCore USER#u-123
  singletable query -index GSI1 -all -json AppCore EMAIL#ana@example.com | jq .Item.pk.S
`

// querying are the permissions of a command that queries.
const querying = "dynamodb:Query on the table and its indexes"

// The lines of a page for people.
const (
	maxSummary   = 100 // characters of an item's attributes
	maxAttribute = 40  // characters of one of them
	usualLimit   = 25  // items of a page
	pageOfAll    = 100 // the same with -all
)

// partition are the flags of the commands that look at one partition.
type partition struct {
	index, prefix, from, to, schema *string
	sks                             texts
	consistent                      *bool
}

// texts is a flag that can be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, " ") }

func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

// partitionFlags adds the flags.
func partitionFlags(fs *flag.FlagSet) *partition {
	f := &partition{
		index:      fs.String("index", "", "`name` of the index; the table itself by default"),
		prefix:     fs.String("prefix", "", "`text` with which sort keys begin"),
		from:       fs.String("from", "", "first sort `key`"),
		to:         fs.String("to", "", "last sort `key`"),
		schema:     fs.String("schema", "", schemaUsage),
		consistent: fs.Bool("consistent", false, "read consistently, at twice the read units; not from a global index"),
	}
	fs.Var(&f.sks, "sk", "`value` of the sort key; of an index that sorts by several attributes, repeat it for the first ones")
	return f
}

// query returns the query of the flags, for the values of the partition key.
func (f *partition) query(spec schema.Table, pks []string) (table.Query, error) {
	q := table.Query{Index: *f.index, Consistent: *f.consistent}
	x := schema.Index{PK: spec.PK, PKType: spec.PKType, SK: spec.SK, SKType: spec.SKType}
	if q.Index != "" {
		i := slices.IndexFunc(spec.Indexes, func(x schema.Index) bool { return x.Name == q.Index })
		if i < 0 {
			return q, noIndex(spec)
		}
		x = spec.Indexes[i]
	}
	partitionKeys, sortKeys := x.Keys()
	if len(pks) != len(partitionKeys) {
		return q, usageError(fmt.Sprintf("the partition key has %d attributes (%s), and %d values are given", len(partitionKeys), strings.Join(attributeNames(partitionKeys), ", "), len(pks)))
	}
	if len(f.sks) > len(sortKeys) {
		return q, usageError(fmt.Sprintf("-sk is given %d times, and the sort key has %d attributes", len(f.sks), len(sortKeys)))
	}
	pks, err := keyTexts("a partition key", partitionKeys, pks)
	if err != nil {
		return q, err
	}
	sks, err := keyTexts("-sk", sortKeys, f.sks)
	if err != nil {
		return q, err
	}
	if x.PKs == nil {
		q.PK = keys.PK(pks[0])
	} else {
		q.PKs, q.SKs = pks, sks
		sortKeys, sks = sortKeys[len(sks):], nil
	}
	q.Range, err = f.sortKeys(sortKeys, sks)
	return q, err
}

// noIndex is the error of -index, which lists those that there are.
func noIndex(spec schema.Table) error {
	names := make([]string, len(spec.Indexes))
	for i, x := range spec.Indexes {
		names[i] = oneLine(x.Name)
	}
	if len(names) == 0 {
		return usageError("the table has no index of the name of -index, and no other")
	}
	return usageError("the table has no index of the name of -index; it has " + strings.Join(names, ", "))
}

// checkOmitted returns an error if the index of -index is one that the schema of the live table
// cannot say.
func (p *program) checkOmitted(index string) error {
	for _, line := range p.omitted {
		if strings.HasPrefix(line, "index "+index+",") {
			return errors.New("the index of -index is left out: it is " + oneLine(line))
		}
	}
	return nil
}

// sortKeys returns the range of the flags. sks has at most one value.
func (f *partition) sortKeys(sortKeys []schema.Attribute, sks []string) (keys.Range, error) {
	var all [3]string
	for i, flag := range []struct{ name, text string }{{"-prefix", *f.prefix}, {"-from", *f.from}, {"-to", *f.to}} {
		switch {
		case flag.text == "":
			continue
		case len(sortKeys) == 0:
			return keys.Range{}, usageError(flag.name + " is given, and there is no sort key that it could be about")
		case len(sks) > 0:
			return keys.Range{}, usageError("-sk and " + flag.name + " exclude each other")
		}
		var err error
		if all[i], err = keyText(sortKeys[0].Type, flag.name, flag.text); err != nil {
			return keys.Range{}, err
		}
	}
	if len(sks) > 0 {
		return keys.Exactly(keys.SK(sks[0])), nil
	}
	return keys.Range{Prefix: keys.SK(all[0]), From: keys.SK(all[1]), To: keys.SK(all[2])}, nil
}

// keyTexts is keyText for the first attributes of a key.
func keyTexts(part string, attributes []schema.Attribute, texts []string) ([]string, error) {
	all := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = keyText(attributes[i].Type, part, text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func attributeNames(attributes []schema.Attribute) []string {
	names := make([]string, len(attributes))
	for i, a := range attributes {
		names[i] = a.Name
	}
	return names
}

// queried is the output of query.
type queried struct {
	Items     []dynamojson.Item `json:"items"`
	Next      string            `json:"next,omitempty"`
	ReadUnits float64           `json:"readUnits"`
}

// jsonLine is a line of the output of query with -all and -json.
type jsonLine struct {
	Item dynamojson.Item `json:"Item"`
}

// queryFlags are the flags of query.
type queryFlags struct {
	*partition
	descending, all *bool
	limit           *int
	after           *string
}

func newQueryFlags(fs *flag.FlagSet) queryFlags {
	return queryFlags{
		partition:  partitionFlags(fs),
		descending: fs.Bool("desc", false, "the greatest sort key first"),
		limit:      fs.Int("limit", usualLimit, "the `number` of items of a page, at most 1000"),
		after:      fs.String("after", "", "`cursor` of the page to continue from"),
		all:        fs.Bool("all", false, "print all pages"),
	}
}

// check refuses values that the flags cannot have.
func (f queryFlags) check() error {
	switch {
	case *f.limit < 1 || *f.limit > 1000:
		return usageError("-limit must be 1 to 1000")
	case *f.all && *f.limit != usualLimit:
		return usageError("-all and -limit exclude each other")
	}
	return nil
}

// query returns the query of the flags.
func (f queryFlags) query(spec schema.Table, pks []string) (table.Query, error) {
	q, err := f.partition.query(spec, pks)
	q.Descending, q.Limit, q.After = *f.descending, *f.limit, *f.after
	if *f.all {
		q.Limit = pageOfAll
	}
	return q, err
}

func (p *program) query(ctx context.Context, args []string) error {
	fs, asJSON := flags("query")
	f := newQueryFlags(fs)
	rest, err := p.parse(fs, queryHelp, args, takes{2, many, "the name of a table and a partition key"})
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	codec, err := p.codec()
	if err != nil {
		return err
	}
	t, err := p.openStored(ctx, rest[0], *f.schema, &table.Options{Cursors: codec, Now: p.now})
	if err != nil {
		return err
	}
	q, err := f.query(t.schema, rest[1:])
	if err = cmp.Or(p.checkOmitted(*f.index), err); err != nil {
		return err
	}
	out := printer{p, t.schema, q.Index, *asJSON, *f.all}
	spent, kinds := table.Stats{}, kinds.Finder{}
	for {
		page, err := p.queryPage(ctx, t.table, q)
		if err != nil {
			if *f.all && q.After != *f.after {
				fmt.Fprintln(p.stderr, "To continue: "+again(fs, rest, q.After))
			}
			return err
		}
		spent = spent.Add(page.Stats)
		q.After = page.Next
		kinds.Add(t.schema, page.Items...)
		if err := out.print(page); err != nil {
			return err
		}
		if !*f.all || q.After == "" {
			break
		}
	}
	if *asJSON && !*f.all {
		return nil // The output has it.
	}
	fmt.Fprintf(p.stderr, "%s, %s\n", quantity.Of(spent.Items, "item"), quantity.Of(spent.Capacity, "read unit"))
	if spent.Items == 0 {
		p.noteEscapes(rest[1:])
	}
	if !*asJSON {
		p.noteRows(t.schema, q.Index, kinds)
	}
	if q.After != "" {
		fmt.Fprintln(p.stderr, "The next page: "+again(fs, rest, q.After))
	}
	return nil
}

// noteRows says on standard error what the lines of items do not show.
func (p *program) noteRows(spec schema.Table, index string, kinds kinds.Finder) {
	p.noteUnmarked(spec, index, "printed without a mark")
	p.noteUntyped(spec, index, kinds)
}

// noteUntyped says on standard error that no item has a type, unless the index does not hold
// types.
func (p *program) noteUntyped(spec schema.Table, index string, kinds kinds.Finder) {
	if hint := kinds.Hint(spec); hint != "" && holds(spec, index, spec.TypeAttribute) {
		fmt.Fprintln(p.stderr, hint)
	}
}

// queryPage reads one page within the program's patience.
func (p *program) queryPage(ctx context.Context, tbl *table.Table, q table.Query) (table.Page[table.Item], error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	page, err := table.QueryPage[table.Item](ctx, tbl, q)
	if refused, ok := errors.AsType[*paginate.Error](err); ok {
		return page, fmt.Errorf("the cursor of -after is refused (%s): it is for another query, too old, or sealed with other keys than those in %s", refused.Reason, keysVariable)
	}
	if err != nil {
		err = p.failed(ctx, err, querying)
	}
	return page, err
}

// codec returns the codec of cursors, which the next process must be able to open.
func (p *program) codec() (*paginate.Codec, error) {
	ring, err := p.cursorKeys("")
	if err != nil {
		return nil, err
	}
	if ring == nil {
		return paginate.Insecure(), nil
	}
	return paginate.New(ring, &paginate.Options{Now: p.now})
}

// again returns the command line with another cursor.
func again(fs *flag.FlagSet, args []string, after string) string {
	return shell.Quote(slices.Concat(given(fs, "after"), []string{"-after=" + after, "--"}, args)...)
}

// given returns the words of a command line up to its arguments: the command, and the
// flags that were given except for some.
func given(fs *flag.FlagSet, but ...string) []string {
	words := []string{"singletable", fs.Name()}
	fs.Visit(func(f *flag.Flag) {
		if slices.Contains(but, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(*texts); ok {
			values = *many
		}
		for _, text := range values {
			if is, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && is.IsBoolFlag() && text == "true" {
				words = append(words, "-"+f.Name)
			} else {
				words = append(words, "-"+f.Name+"="+text)
			}
		}
	})
	return words
}
