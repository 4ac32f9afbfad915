package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/described"
	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/lines"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

const dumpHelp = `Usage: singletable dump [flags] TABLE

Dump writes all items of a table, one line {"Item":{…}} in DynamoDB's JSON for each.
That is the form of DynamoDB's own exports to S3: "singletable load", an import from S3
and the library's backfill.Transfer read it. Attributes are in order of their names.
Expired items that DynamoDB has not deleted yet are in it, as in an export.

It reads the whole table, and says first what that costs: a read unit for each 8 KB,
eventually consistent. Above 100,000 read units it needs -yes. DynamoDB's own count and
size, of which the estimate is made, are up to 6 hours old. Of a table that DynamoDB has
not counted yet it ends without -yes when it has taken so many. Reads are parallel, in
-segments; with many of them the lines are better mixed, which a later load into a large
table is faster by. Of a table that is written during the dump, the dump is no
snapshot: an item that is there all the time is in it once, as it was at some time.

With -o FILE the dump can be continued: after Ctrl-C, a crash or a lost connection run
the same command again. It continues about a second before its end, by FILE.state, and
each item is in FILE once. Without FILE.state, FILE is complete. A FILE that ends
with .gz is compressed. Only its owner can read it (mode 0600). While it works it says
on standard error how far it is.

Exit codes: 0 the dump is complete, 2 it is not. A signal ends it as any program; run it
again to continue.

Examples:

  singletable dump AppCore | jq -c 'select(.Item.entityType.S == "USER")'
  AWS_PROFILE=prod singletable dump -o appcore.jsonl.gz -segments 16 -rate 2000 AppCore
`

const (
	// freeEstimate is how many read units a dump may take by the estimate without -yes.
	freeEstimate = 100_000
	// maxSegments bounds the memory, of about 10 MB for each.
	maxSegments = 100
	// saveEvery is how often a job with a file makes its work survive a crash.
	saveEvery = time.Second
	// dumping are the permissions of dump, in the words of an error.
	dumping = "dynamodb:DescribeTable and dynamodb:Scan on the table"
)

// dumped is the output of dump.
type dumped struct {
	Table     string  `json:"table"`
	File      string  `json:"file"`
	Items     int64   `json:"items"`
	ReadUnits float64 `json:"readUnits"`
	Seconds   float64 `json:"seconds"` // of this process
	Continued bool    `json:"continued"`
}

// dumpFlags are the flags of dump.
type dumpFlags struct {
	file     *string
	schema   *string
	segments *int
	rate     *float64
	yes      *bool
}

func newDumpFlags(fs *flag.FlagSet) dumpFlags {
	return dumpFlags{
		file:     fs.String("o", "", "`file` to write and to continue; standard output by default"),
		schema:   fs.String("schema", "", rawSchemaUsage),
		segments: fs.Int("segments", 4, "how many parts of the table to read in parallel"),
		rate:     fs.Float64("rate", 0, "read `units` per second to take at most; no bound by default"),
		yes:      fs.Bool("yes", false, "read a large table, too"),
	}
}

// check refuses values that the flags cannot have.
func (f dumpFlags) check(asJSON bool) error {
	switch {
	case *f.segments < 1 || *f.segments > maxSegments:
		return usageError(fmt.Sprintf("-segments must be 1 to %d", maxSegments))
	case !(*f.rate >= 0) || math.IsInf(*f.rate, 0):
		return usageError("-rate must be a number of read units")
	case asJSON && *f.file == "":
		return usageError("-json needs -o: the items are on standard output")
	}
	return nil
}

func (p *program) dump(ctx context.Context, args []string) error {
	fs, asJSON := flags("dump")
	f := newDumpFlags(fs)
	rest, err := p.parse(fs, dumpHelp, args, takes{1, 1, "the name of one table"})
	if err != nil {
		return err
	}
	if err := f.check(*asJSON); err != nil {
		return err
	}
	d, err := p.newDump(ctx, rest[0], f)
	if err != nil {
		return err
	}
	out := dumped{Table: rest[0], File: *f.file}
	if out.File != "" {
		if out.Continued, err = d.open(out.File, *f.segments); err != nil {
			return err
		}
	}
	err = d.run(ctx)
	d.progress.end()
	if err == nil {
		err = d.finish()
	} else if d.file != nil {
		err = fmt.Errorf("%w\nRun the same command again to continue", errors.Join(err, d.file.Close()))
	}
	if err != nil {
		return p.adviseRequest(ctx, err, dumping)
	}
	out.Items, out.ReadUnits, out.Seconds = d.state.Items, d.state.Units, time.Since(d.progress.begun).Seconds()
	if *asJSON {
		return p.printJSON(out)
	}
	_, err = fmt.Fprint(p.stderr, spentText(out.Items, out.ReadUnits, "read unit", out.Seconds))
	return err
}

// newDump returns a dump of a table to standard output, which has not begun. It says
// first what the dump takes.
func (p *program) newDump(ctx context.Context, name string, f dumpFlags) (*dump, error) {
	live, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	tbl, description, err := p.openRaw(ctx, live, name, *f.schema, dumping, nil)
	if err != nil {
		return nil, err
	}
	items, units, err := p.estimate(name, description, *f.yes)
	if err != nil {
		return nil, err
	}
	d := &dump{
		table: tbl, pace: pace{rate: *f.rate}, out: p.stdout, progress: p.progress(), expected: items,
		state: dumpState{Table: identity(live, name, description), Segments: make([]dumpSegment, *f.segments)},
	}
	if units == 0 && !*f.yes {
		d.most = freeEstimate
	}
	return d, nil
}

// rawSchemaUsage describes the flag -schema of the commands that copy items.
const rawSchemaUsage = "schema `file`, instead of asking DynamoDB for the keys, the size, and which table it is"

// openRaw returns a table whose items are copied, and what DynamoDB says of it, nil with a
// schema file. Without the TTL, expired items are items, too. A request is sent for as long
// as five minutes while it fails. permissions are for the error.
func (p *program) openRaw(
	ctx context.Context, live live, name, schemaFile, permissions string, observe func(context.Context, table.Event),
) (*table.Table, *types.TableDescription, error) {
	if schemaFile != "" {
		spec, err := p.readSchema(schemaFile, name)
		if err != nil {
			return nil, nil, err
		}
		tbl, err := rawTable(live.client, spec, observe)
		return tbl, nil, err
	}
	description, err := p.describe(ctx, live, name, permissions)
	if err != nil {
		return nil, nil, err
	}
	spec, err := described.Keys(name, description)
	if err != nil {
		return nil, nil, err
	}
	tbl, err := rawTable(live.client, spec, observe)
	return tbl, description, err
}

// describe asks DynamoDB what a table is. permissions are for its error.
func (p *program) describe(ctx context.Context, live live, name, permissions string) (*types.TableDescription, error) {
	if err := (schema.Table{Name: name}).Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	description, err := described.Live(ctx, live.client, name)
	if err != nil {
		return nil, p.advise(ctx, ofTable(name, err), permissions)
	}
	return description, nil
}

// estimate says what a dump takes, and returns DynamoDB's own count of the items and
// about how many read units they are, 0 if that is unknown.
func (p *program) estimate(name string, d *types.TableDescription, yes bool) (items int64, units float64, err error) {
	if d == nil {
		fmt.Fprintf(p.stderr, "%s: with -schema the read units are not known\n", oneLine(name))
		return 0, 0, nil
	}
	items, size := aws.ToInt64(d.ItemCount), aws.ToInt64(d.TableSizeBytes)
	if items == 0 || size == 0 {
		fmt.Fprintf(p.stderr, "%s: DynamoDB has not counted the table yet, so the read units are not known\n", oneLine(name))
		return items, 0, nil
	}
	units = scanUnits(size, false)
	fmt.Fprintf(p.stderr, "%s: about %s and %s MB by DynamoDB's count: %s\n",
		oneLine(name), quantity.Of(items, "item"), quantity.Grouped(math.Ceil(float64(size)/1e6)), quantity.Of(math.Ceil(units), "read unit"))
	if units > freeEstimate && !yes {
		return 0, 0, usageError("it needs -yes for that many read units")
	}
	return items, units, nil
}

// identity tells a table from another one of its name, in another account or region,
// or created later. With a schema file it is the name and where requests go.
func identity(live live, name string, d *types.TableDescription) string {
	if d == nil {
		_, at := endpoint()
		return "-schema " + live.region + " " + at + " " + name
	}
	return aws.ToString(d.TableArn) + " " + aws.ToString(d.TableId)
}

// rawTable is openRaw for a schema.
func rawTable(client *dynamodb.Client, spec schema.Table, observe func(context.Context, table.Event)) (*table.Table, error) {
	spec.TTLAttribute = ""
	// DynamoDB takes a vector without the partition of its index, and items are written as they
	// were. Seen: nubo-db/dynamodb-conformance, vectorSearch/writeValidation.test.ts.
	spec.Vectors = slices.Clone(spec.Vectors)
	for i := range spec.Vectors {
		spec.Vectors[i].Partition = schema.Attribute{}
	}
	return table.New(client, layout(spec), &table.Options{
		Observe: observe, MaxRounds: 1, MaxAttempts: 300, MaxElapsed: 5 * time.Minute,
	})
}

// dump is one run of the command.
type dump struct {
	table    *table.Table
	pace     pace
	progress *progress
	expected int64   // items
	most     float64 // read units that it may take, 0 for no bound

	mu        sync.Mutex // guards what follows
	out       io.Writer
	file      *lines.File // nil for standard output
	saved     time.Time
	continued int64 // items that were in the file at the beginning
	state     dumpState
	broken    bool // out may have a part of a page
}

// errBroken ends the other segments when one could not be written.
var errBroken = errors.New("the output cannot be written")

// dumpState is what a dump continues from.
type dumpState struct {
	Table    string        `json:"table"`
	Segments []dumpSegment `json:"segments"`
	Items    int64         `json:"items"`
	Units    float64       `json:"units"`
}

// dumpSegment is how far a part of the table was read.
type dumpSegment struct {
	Start dynamojson.Item `json:"start,omitempty"` // the key after which it continues
	Done  bool            `json:"done,omitempty"`
}

// open opens the file, and goes to where its dump has ended.
func (d *dump) open(name string, segments int) (continued bool, err error) {
	begun := d.state
	d.file, continued, err = lines.Open(name, &d.state)
	if err != nil {
		return false, err
	}
	d.out, d.continued = d.file, d.state.Items
	switch {
	case d.state.Table != begun.Table:
		err = fmt.Errorf("%s is of another table: name another file, or delete both", lines.StateFile(name))
	case len(d.state.Segments) != segments:
		err = fmt.Errorf("the dump was begun with -segments %d", len(d.state.Segments))
	}
	if err != nil {
		return false, errors.Join(err, d.file.Close())
	}
	return continued, nil
}

// finish completes the file.
func (d *dump) finish() error {
	if d.file == nil {
		return nil
	}
	if err := d.file.Save(d.state); err != nil {
		return errors.Join(err, d.file.Close())
	}
	return d.file.Finish()
}

// run reads all segments.
func (d *dump) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	for n := range d.state.Segments {
		group.Go(func() {
			if err := d.segment(ctx, n); err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (d *dump) segment(ctx context.Context, n int) error {
	at := d.state.Segments[n] // Only this goroutine writes it.
	scan := table.Scan{Segment: n, Segments: len(d.state.Segments), Limit: 100}
	var text []byte
	for !at.Done {
		if err := d.pace.wait(ctx); err != nil {
			return err
		}
		page, err := table.ScanRows[table.Item](ctx, d.table, scan, table.Item(at.Start))
		if err != nil {
			return err
		}
		d.pace.spend(page.Stats.Capacity)
		text = text[:0]
		for _, row := range page.Rows {
			if row.Err != nil {
				return row.Err
			}
			if text, err = lines.Append(text, row.Value); err != nil {
				return err
			}
		}
		at = dumpSegment{Start: dynamojson.Item(page.Next), Done: page.Next == nil}
		if err := d.add(n, at, page.Stats, text); err != nil {
			return err
		}
		scan.Limit = d.limit(page.Stats)
	}
	return nil
}

// limit returns how many items to read next: as many as a response holds, and with a
// rate so that the segments take about the units of a second together. AWS: Scan, Amazon
// DynamoDB API Reference.
func (d *dump) limit(s table.Stats) int {
	const most = 10_000
	units := 140.0 // A response has 1 MB at most, which is 128.
	if d.pace.rate > 0 {
		units = min(units, d.pace.rate/float64(len(d.state.Segments)))
	}
	each := s.Capacity / float64(max(s.Scanned, 1))
	return max(1, int(min(most, units/max(each, 0.01))))
}

// add writes a page and moves the segment behind it.
func (d *dump) add(n int, at dumpSegment, s table.Stats, text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return errBroken
	}
	if d.most > 0 && d.state.Units > d.most {
		return fmt.Errorf("it has taken %s read units: give -yes to take more", quantity.Grouped(math.Ceil(d.state.Units)))
	}
	// A page that was written in part must not be saved by the next one.
	if _, err := d.out.Write(text); err != nil {
		d.broken = true
		return err
	}
	d.state.Segments[n] = at
	d.state.Items += int64(s.Items)
	d.state.Units += s.Capacity
	// The first page is saved at once, so that a job that is always killed ends some day.
	if d.file != nil && time.Since(d.saved) >= saveEvery {
		if err := d.file.Save(d.state); err != nil {
			return err
		}
		d.saved = time.Now()
	}
	var was, done float64
	if d.expected > 0 {
		was, done = float64(d.continued)/float64(d.expected), float64(d.state.Items)/float64(d.expected)
	}
	d.progress.show(quantity.Of(d.state.Items, "item")+", "+quantity.Of(d.state.Units, "read unit"), was, done)
	return nil
}
