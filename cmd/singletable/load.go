package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/cmd/singletable/internal/lines"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

const loadHelp = `Usage: singletable load [flags] TABLE [FILE]

Load writes the items of a file into a table that is there: lines {"Item":{…}} in
DynamoDB's JSON, of "singletable dump" or of DynamoDB's own full export to S3, compressed
by gzip or not. Without a FILE, or with "-", it reads standard input. A file of another
form, such as the output of "aws dynamodb scan", an incremental export or a manifest, is
named, with the command that makes such lines of it.

The table has to be empty, unless -replace is given: an item is then written over the
one that has its key. Nothing is deleted. If a key is in the file twice, the later line
is the item. A write unit is taken for each KB of an item, and for each index that it
is in; -rate bounds how many in a second. Indexes, TTL and streams see ordinary writes.

Each line is checked before it is written: it must be one item that DynamoDB takes in
this table, with nothing twice. A line that is not ends the load with its number; the
lines before it are written. -check checks all lines and writes nothing.

A load of a FILE can be continued: after Ctrl-C, a crash, a lost connection or a line
that had to be corrected, run the same command again. It continues by FILE.state, if
the lines that are loaded already are unchanged.

The attributes aws:rep:deleting, aws:rep:updatetime and aws:rep:updateregion are not loaded:
a global table of version 2017.11.29 replicates by them. Standard error says how many items
had them.

With a -schema file that has entities, an item whose keys are not what the patterns of its
entity make of its attributes is such a line, too. Standard error says which keys the file
does not describe, so that they were not checked. Without them it is loaded as it is.

Exit codes: 0 all lines are loaded or, with -check, valid, 1 -check has found a line that
is not, 2 the load is not complete. A signal ends it as any program; run it again to
continue.

Examples:

  singletable load AppCore appcore.jsonl.gz
  singletable dump Orders | AWS_PROFILE=staging singletable load -rate 500 Orders-copy
  aws s3 cp s3://exports/AWSDynamoDB/01234/data/abc.json.gz - | singletable load -check Orders
`

const (
	// A group is the lines that are written together. It bounds the memory.
	groupItems = 1000
	groupBytes = 8 << 20
	// loading are the permissions of load, in the words of an error.
	loading = "dynamodb:DescribeTable, dynamodb:Scan and dynamodb:BatchWriteItem on the table"
)

// loaded is the output of load. OK is false only with -check.
type loaded struct {
	Table      string  `json:"table"`
	OK         bool    `json:"ok"`
	Problem    string  `json:"problem,omitempty"`
	Items      int64   `json:"items"` // of this process
	WriteUnits float64 `json:"writeUnits"`
	Seconds    float64 `json:"seconds"`
	Continued  bool    `json:"continued"`
	// Unchecked are keys of items that the schema file does not describe.
	Unchecked []string `json:"unchecked,omitempty"`
}

func (p *program) load(ctx context.Context, args []string) error {
	set, asJSON := flags("load")
	replace := set.Bool("replace", false, "write into a table that is not empty, over items with the same keys")
	check := set.Bool("check", false, "check all lines and write nothing")
	file := set.String("schema", "", rawSchemaUsage)
	rate := set.Float64("rate", 0, "write `units` per second to take at most; no bound by default")
	rest, err := p.parse(set, loadHelp, args, takes{1, 2, "the name of a table, and one file"})
	switch {
	case err != nil:
		return err
	case !(*rate >= 0) || math.IsInf(*rate, 0):
		return usageError("-rate must be a number of write units")
	}
	name, in := "", p.stdin
	if len(rest) == 2 && rest[1] != "-" {
		f, err := os.Open(rest[1])
		if err != nil {
			return err
		}
		defer func() { _ = errors.Join(lines.Unlock(f), f.Close()) }() // Nothing was written.
		// Two loads would save their positions in one state.
		if err := lines.Lock(f); err != nil && !*check {
			return fmt.Errorf("%s: another process loads it: %w", rest[1], err)
		}
		name, in = rest[1], f
	}
	live, err := p.connect(ctx)
	if err != nil {
		return err
	}
	l := &load{name: name, progress: p.progress(), pace: pace{rate: *rate}}
	description, err := l.open(ctx, p, live, rest[0], *file)
	if err != nil {
		return err
	}
	if l.reader, err = lines.NewReader(in); err != nil {
		return err
	}
	out := loaded{Table: rest[0], OK: true}
	if *check {
		err = l.check()
		if err != nil {
			out.OK, out.Problem, err = false, err.Error(), nil
		}
	} else if out.Continued, err = l.begin(ctx, identity(live, rest[0], description), *replace); err == nil {
		if err = l.run(ctx); err != nil {
			err = l.failed(err)
		}
	}
	l.progress.end()
	if err != nil {
		return p.adviseRequest(ctx, err, loading)
	}
	l.say(p.stderr, out.OK)
	out.Items, out.WriteUnits, out.Seconds = l.items, l.units, time.Since(l.progress.begun).Seconds()
	out.Unchecked = l.uncheckedTexts()
	return p.printLoaded(out, *check, *asJSON)
}

// printLoaded prints the result. Its error is the exit code.
func (p *program) printLoaded(out loaded, check, asJSON bool) error {
	text := spentText(out.Items, out.WriteUnits, "write unit", out.Seconds)
	if check {
		text = quantity.Of(out.Items, "item") + ", all valid\n"
	}
	if !out.OK {
		text = ""
		for line := range strings.SplitSeq(out.Problem, "\n") {
			text += oneLine(line) + "\n"
		}
	}
	if !asJSON {
		p.noteUnchecked(out.Unchecked)
	}
	return p.printResult(out, text, asJSON, out.OK)
}

// load is one run of the command.
type load struct {
	name     string // of the file; "" of standard input
	table    *table.Table
	model    tablemodel.Model // the schema file, if there is one
	reader   *lines.Reader
	pace     pace
	progress *progress

	state loadState
	saved time.Time
	items int64
	units float64 // guarded by the mutex of pace
	// unchecked is of how many items a key was not checked.
	unchecked map[edit.Unchecked]int64

	replicated replicated
}

// say says what is remarkable about the input, of which all lines can be valid.
func (l *load) say(w io.Writer, valid bool) {
	l.replicated.say(w)
	if valid && l.reader.Lines() == 0 {
		fmt.Fprintln(w, "The input is empty.")
	}
}

// open opens the table, and returns what DynamoDB says of it, nil with a schema file.
func (l *load) open(ctx context.Context, p *program, live live, name, file string) (description *types.TableDescription, err error) {
	if file == "" {
		l.table, description, err = p.openRaw(ctx, live, name, "", loading, l.observe)
		return description, err
	}
	if l.model, err = p.readModel(file, name); err != nil {
		return nil, err
	}
	l.table, err = rawTable(live.client, l.model.Table, l.observe)
	return nil, err
}

// loadState is what a load continues from.
type loadState struct {
	Table string `json:"loadedTable"`
	Lines int64  `json:"lines"`
	Sum   string `json:"sha256"` // of these lines
}

// observe adds up what requests consume.
func (l *load) observe(_ context.Context, e table.Event) {
	if e.Operation != "BatchWriteItem" {
		return
	}
	l.pace.spend(e.Capacity)
	l.pace.mu.Lock()
	defer l.pace.mu.Unlock()
	l.units += e.Capacity
}

// check reads all lines.
func (l *load) check() error {
	for {
		item, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case item != nil:
			l.items++
		}
	}
}

// next returns the next item, which DynamoDB takes.
func (l *load) next() (table.Item, error) {
	item, err := l.reader.Next()
	if err == nil {
		l.replicated.drop(item)
		if err = l.table.CheckItem(item); err != nil {
			// Before its first colon, the library names an operation of a program.
			_, reason, _ := strings.Cut(err.Error(), ": ")
			err = fmt.Errorf("line %d: DynamoDB would refuse the item: %s", l.reader.Lines(), reason)
		} else if err = l.checkPatterns(item); err != nil {
			err = fmt.Errorf("line %d: %w\nWithout the entity in the schema file, the item is loaded as it is", l.reader.Lines(), err)
		}
	}
	return item, err
}

// checkPatterns refuses an item whose keys are not as the schema file says, and counts the keys
// that the file does not describe.
func (l *load) checkPatterns(item table.Item) error {
	unchecked, err := edit.CheckPatterns(l.table, l.model, item)
	for _, u := range unchecked {
		if l.unchecked == nil {
			l.unchecked = map[edit.Unchecked]int64{}
		}
		l.unchecked[u]++
	}
	return err
}

// uncheckedTexts says which keys were not checked, and of how many items.
func (l *load) uncheckedTexts() (all []string) {
	for u, items := range l.unchecked {
		all = append(all, fmt.Sprintf("%s (%s)", u, quantity.Of(items, "item")))
	}
	slices.Sort(all)
	return all
}

// begin continues an earlier load, or makes sure that the table is empty.
func (l *load) begin(ctx context.Context, identity string, replace bool) (continued bool, err error) {
	if l.name != "" {
		if continued, err = lines.ReadState(l.name, &l.state); err != nil {
			return false, err
		}
	}
	if continued {
		return true, l.resume(identity)
	}
	if !replace {
		page, err := table.ScanRows[table.Item](ctx, l.table.Consistent(), table.Scan{Limit: 1}, nil)
		if err != nil {
			return false, err
		}
		if len(page.Rows) > 0 {
			return false, errors.New("the table is not empty; -replace writes over items that have the same keys")
		}
	}
	// It is saved before the first write, after which the table is not empty.
	l.state = loadState{Table: identity, Sum: l.reader.Sum()}
	return false, l.save()
}

// resume goes to where the earlier load has ended.
func (l *load) resume(identity string) error {
	state := lines.StateFile(l.name)
	switch {
	case l.state.Table == "":
		return fmt.Errorf("%s is not of a load: is a dump into the file not complete?", state)
	case l.state.Table != identity:
		return fmt.Errorf("%s is of a load into another table: delete it to load the file from its beginning", state)
	}
	err := l.reader.Skip(l.state.Lines)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if l.reader.Sum() != l.state.Sum {
		return fmt.Errorf("the lines that are loaded already were changed: delete %s and load with -replace from the beginning", state)
	}
	return nil
}

// group are lines that are written together.
type group struct {
	ops   []table.Op
	items int64
	to    loadState // after the group
	err   error     // why there are no more lines; io.EOF at the end
}

// run writes all lines that are left. While it writes some, it reads the next ones.
func (l *load) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	groups := make(chan group)
	go func() {
		defer close(groups)
		for more := true; more; {
			g := l.group()
			more = g.err == nil
			select {
			case groups <- g:
			case <-ctx.Done():
				return
			}
		}
	}()
	for g := range groups {
		err := l.write(ctx, g)
		if err == nil && g.err == nil {
			continue
		}
		if err == nil && errors.Is(g.err, io.EOF) {
			return l.finish()
		}
		if err == nil {
			err = g.err
		}
		return err
	}
	return ctx.Err()
}

// group reads lines. The last one of a key is its item.
func (l *load) group() (g group) {
	at := map[keys.Key]int{}
	size, units := 0, 0
	full := func() bool {
		return len(g.ops) == groupItems || size >= groupBytes ||
			l.pace.rate > 0 && float64(units) >= l.pace.rate // about a second
	}
	for !full() {
		item, err := l.next()
		if err != nil {
			g.err = err
			return g
		}
		g.items++
		size += item.Size()
		units += 1 + item.Size()/1024
		key := l.table.KeyOf("", item)
		if i, twice := at[key]; twice {
			g.ops[i] = table.Put(key, item)
		} else {
			at[key] = len(g.ops)
			g.ops = append(g.ops, table.Put(key, item))
		}
		g.to = loadState{Table: l.state.Table, Lines: l.reader.Lines(), Sum: l.reader.Sum()}
	}
	return g
}

// write writes a group. It can be written again, whatever became of it.
func (l *load) write(ctx context.Context, g group) error {
	if len(g.ops) == 0 {
		return ctx.Err()
	}
	if err := l.pace.wait(ctx); err != nil {
		return err
	}
	if err := l.table.BatchWrite(ctx, g.ops...); err != nil {
		return err
	}
	l.state = g.to
	l.items += g.items
	l.progress.show(fmt.Sprintf("%s, line %s, %s", quantity.Of(l.items, "item"), quantity.Grouped(l.state.Lines), quantity.Of(l.spent(), "write unit")), 0, 0)
	if time.Since(l.saved) < saveEvery { // The first group is saved at once.
		return nil
	}
	l.saved = time.Now()
	return l.save()
}

func (l *load) spent() float64 {
	l.pace.mu.Lock()
	defer l.pace.mu.Unlock()
	return l.units
}

// save makes the position survive a crash. Standard input cannot be continued.
func (l *load) save() error {
	if l.name == "" {
		return nil
	}
	return lines.WriteState(l.name, l.state)
}

// finish removes the state of a load that is complete.
func (l *load) finish() error {
	if l.name == "" {
		return nil
	}
	err := lines.RemoveState(l.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// failed says how to go on after an error.
func (l *load) failed(err error) error {
	done := fmt.Sprintf("Loaded: %s, up to line %s.", quantity.Of(l.items, "item"), quantity.Grouped(l.state.Lines))
	if l.name == "" {
		return fmt.Errorf("%w\n%s", err, done)
	}
	if saved := l.save(); saved != nil {
		return errors.Join(err, saved)
	}
	return fmt.Errorf("%w\n%s Run the same command again to continue", err, done)
}
