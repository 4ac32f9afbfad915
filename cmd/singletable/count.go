package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

const countHelp = `Usage: singletable count [flags] TABLE PK…
       singletable count [flags] TABLE

Count with a partition key counts the items of one partition of a table or an index, as
services see them: without those that have expired, of which it says how many there are.
DynamoDB reads all of them for it, and charges as for a query. The flags for sort keys
are those of query.

Without a partition key it prints DynamoDB's own count of the table or an index, which is
up to about 6 hours old, has expired items that are not deleted yet, and costs nothing.
-scan counts exactly: it reads the whole table. It says what that costs, and does it
with -yes.

Exit codes: 0 counted, 1 -scan without -yes: nothing was read, 2 no result.

Examples:

  AWS_PROFILE=prod singletable count -prefix TX#2024-01 AppCore USER#u-123
  singletable count -json AppCore | jq .items
  singletable count -scan -yes -index GSI1 AppCore
`

// scanning are the permissions of a command that scans.
const scanning = "dynamodb:Scan on the table and its indexes, and dynamodb:DescribeTable on the table"

// itemCount is the output of count.
type itemCount struct {
	Items int64 `json:"items"`
	// Expired is how many of those that were read have expired, and are not among Items.
	Expired int64 `json:"expired,omitempty"`
	// Exact is false for DynamoDB's own count, which is the only one with Bytes.
	Exact     bool    `json:"exact"`
	Bytes     *int64  `json:"bytes,omitempty"`
	ReadUnits float64 `json:"readUnits"`
	// ScanUnits is what -scan without -yes would take, by DynamoDB's own count.
	ScanUnits *float64 `json:"scanReadUnits,omitempty"`
}

func (p *program) count(ctx context.Context, args []string) error {
	fs, asJSON := flags("count")
	f := partitionFlags(fs)
	scan := fs.Bool("scan", false, "read the whole table to count exactly; needs -yes")
	yes := fs.Bool("yes", false, "with -scan: read the whole table")
	rest, err := p.parse(fs, countHelp, args, takes{1, many, "the name of a table"})
	narrowed := *f.prefix != "" || *f.from != "" || *f.to != "" || len(f.sks) > 0
	switch {
	case err != nil:
		return err
	case len(rest) > 1 && *scan:
		return usageError("-scan counts the whole table: give no partition key")
	case len(rest) == 1 && narrowed:
		return usageError("sort keys are those of one partition: give a partition key")
	case *yes && !*scan:
		return usageError("-yes is for -scan")
	}
	live, err := p.connect(ctx)
	if err != nil {
		return err
	}
	var out itemCount
	switch {
	case len(rest) > 1:
		out, err = p.countPartition(ctx, live, f, rest)
	case *scan:
		out, err = p.countAll(ctx, live, f, rest[0], *yes)
	default:
		out, err = p.ownCount(ctx, live, *f.index, rest[0])
	}
	if err != nil {
		return err
	}
	return p.printResult(out, out.text(), *asJSON, out.ScanUnits == nil)
}

// add counts the items of a read, which gave so many of those that it read.
func (c *itemCount) add(spec schema.Table, index string, items int, s table.Stats) {
	c.Items += int64(items)
	c.ReadUnits += s.Capacity
	// Without a filter both are the same, but on an engine for tests. AWS: Query, Amazon DynamoDB
	// API Reference.
	if spec.TTLAttribute != "" && holds(spec, index, spec.TTLAttribute) {
		c.Expired += int64(s.Scanned - items)
	}
}

func (c itemCount) text() string {
	if c.Exact {
		expired := ""
		if c.Expired > 0 {
			expired = ", " + quantity.Of(c.Expired, "expired item") + " not counted"
		}
		return fmt.Sprintf("%s%s, %s\n", quantity.Of(c.Items, "item"), expired, quantity.Of(c.ReadUnits, "read unit"))
	}
	text := fmt.Sprintf("about %s, %s: DynamoDB's own count, up to about 6 hours old\n", quantity.Of(c.Items, "item"), quantity.Of(*c.Bytes, "byte"))
	if c.ScanUnits != nil {
		text += c.cost() + " Nothing was read: give -yes to scan.\n"
	}
	return text
}

// cost says what a scan takes.
func (c itemCount) cost() string {
	if *c.ScanUnits == 0 {
		return "What the scan takes is not known, since DynamoDB has not counted the bytes yet: half a read unit for each 4 KB."
	}
	return fmt.Sprintf("The scan takes about %s.", quantity.Of(*c.ScanUnits, "read unit"))
}

// countPartition counts the items of a partition. Nothing bounds the time.
func (p *program) countPartition(ctx context.Context, live live, f *partition, args []string) (itemCount, error) {
	tbl, err := p.open(ctx, live, args[0], *f.schema, &table.Options{Now: p.now})
	if err != nil {
		return itemCount{}, err
	}
	if err := p.checkOmitted(*f.index); err != nil {
		return itemCount{}, err
	}
	q, err := f.query(tbl.Schema(), args[1:])
	if err != nil {
		return itemCount{}, err
	}
	count := tbl.Count
	if slices.ContainsFunc(tbl.Schema().Indexes, func(x schema.Index) bool { return x.Name == q.Index && hasKey(x, tbl.Schema().TTLAttribute) }) {
		count = func(ctx context.Context, q table.Query) (table.Stats, error) { return countKeys(ctx, tbl, q) }
	}
	stats, err := count(ctx, q)
	if err != nil {
		if stats.Requests > 0 {
			p.soFar(int64(stats.Items), stats.Capacity)
		}
		return itemCount{}, p.failed(ctx, err, querying)
	}
	p.noteUnmarked(tbl.Schema(), q.Index, "counted as well")
	out := itemCount{Exact: true}
	out.add(tbl.Schema(), q.Index, stats.Items, stats)
	return out, nil
}

// noteUnmarked says on standard error that expired items cannot be told from others in an index
// that does not hold their expiry.
func (p *program) noteUnmarked(spec schema.Table, index, done string) {
	if index != "" && spec.TTLAttribute != "" && !holds(spec, index, spec.TTLAttribute) {
		fmt.Fprintf(p.stderr, "The index does not hold %s: items that have expired are %s.\n", oneLine(spec.TTLAttribute), done)
	}
}

// holds reports whether the items of an index, which can be one of vectors, have an attribute
// that those of the table have.
func holds(spec schema.Table, index, name string) bool {
	if name == spec.PK || name == spec.SK {
		return true
	}
	all := func(p types.ProjectionType, include []string) bool {
		return p == "" || p == types.ProjectionTypeAll || slices.Contains(include, name)
	}
	for _, x := range spec.Indexes {
		if x.Name == index {
			return all(x.Projection, x.Include) || hasKey(x, name)
		}
	}
	for _, x := range spec.Vectors {
		if x.Name == index {
			isIt := func(a schema.Attribute) bool { return a.Name == name }
			return all(x.Projection, x.Include) || isIt(x.Partition) || slices.ContainsFunc(x.Filters, isIt)
		}
	}
	return true
}

// soFar says what was read of a table before the end.
func (p *program) soFar(items int64, units float64) {
	fmt.Fprintf(p.stderr, "so far: %s, %s\n", quantity.Of(items, "item"), quantity.Of(units, "read unit"))
}

// hasKey reports whether an attribute is a key of an index.
func hasKey(x schema.Index, name string) bool {
	partition, sort := x.Keys()
	return slices.ContainsFunc(slices.Concat(partition, sort), func(a schema.Attribute) bool { return a.Name == name })
}

// countKeys counts by reading keys. An index with the TTL attribute as a key needs it:
// DynamoDB takes no filter on keys, which would leave out expired items. Seen:
// architect/dynalite, test/query.js.
func countKeys(ctx context.Context, tbl *table.Table, q table.Query) (stats table.Stats, err error) {
	q.Limit, q.Project = maxScanPage, []string{tbl.Schema().PK}
	for more := true; more; more = q.After != "" {
		page, err := table.QueryPage[struct{}](ctx, tbl, q)
		if err != nil {
			return stats, err
		}
		stats, q.After = stats.Add(page.Stats), page.Next
	}
	return stats, nil
}

// ownCount returns DynamoDB's own count of a table, or of an index if its name is not
// empty.
func (p *program) ownCount(ctx context.Context, live live, index, name string) (itemCount, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	items, bytes, err := (schema.Table{Name: name}).EstimateItems(ctx, live.client, index)
	if api, _ := errors.AsType[smithy.APIError](err); api == nil && index != "" && errors.Is(err, schema.ErrMismatch) {
		if spec, failed := p.schemaOf(ctx, live, name, ""); failed == nil {
			return itemCount{}, noIndex(spec)
		}
	}
	if err != nil {
		return itemCount{}, p.failed(ctx, err, "dynamodb:DescribeTable on the table")
	}
	return itemCount{Items: items, Bytes: &bytes}, nil
}

// scanUnits returns about how many read units it takes to scan so many bytes.
func scanUnits(bytes int64, consistent bool) float64 {
	units := math.Ceil(float64(bytes)/4096) / 2
	if consistent {
		units *= 2
	}
	return units
}

// maxScanPage is how many items of a scan are read at once. A response holds 1 MB. AWS:
// Scan, Amazon DynamoDB API Reference.
const maxScanPage = 10_000

// countAll counts the items of a table or an index by a scan, once the user agrees.
func (p *program) countAll(ctx context.Context, live live, f *partition, name string, yes bool) (itemCount, error) {
	tbl, err := p.open(ctx, live, name, *f.schema, &table.Options{Now: p.now})
	if err != nil {
		return itemCount{}, err
	}
	if err := p.checkOmitted(*f.index); err != nil {
		return itemCount{}, err
	}
	about, err := p.ownCount(ctx, live, *f.index, tbl.Schema().Name)
	if err != nil {
		return itemCount{}, err
	}
	units := scanUnits(*about.Bytes, *f.consistent)
	about.ScanUnits = &units
	if !yes {
		return about, nil
	}
	fmt.Fprint(p.stderr, itemCount{Items: about.Items, Bytes: about.Bytes}.text()+about.cost()+"\n")
	out := itemCount{Exact: true}
	said := time.Now()
	for scan := (table.Scan{Index: *f.index, Limit: maxScanPage, Consistent: *f.consistent, Project: []string{tbl.Schema().PK}}); ; {
		page, err := table.ScanPage[struct{}](ctx, tbl, scan)
		if err != nil {
			p.soFar(out.Items, out.ReadUnits)
			return itemCount{}, p.failed(ctx, err, scanning)
		}
		out.add(tbl.Schema(), *f.index, len(page.Items), page.Stats)
		if scan.After = page.Next; scan.After == "" {
			p.noteUnmarked(tbl.Schema(), *f.index, "counted as well")
			return out, nil
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			p.soFar(out.Items, out.ReadUnits)
		}
	}
}
