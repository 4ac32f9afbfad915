package backfill

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/table"
)

// Transfer changes the items of a table on their way from an export to S3 to an
// import into a new table. So a table of any size is changed without reads and writes
// of single items. Programs must not write the former table after the time of the
// export: their writes are not in the new one.
//
//  1. Turn point-in-time recovery on, stop the writers until programs use the new table, and
//     make a full export in the format DYNAMODB_JSON.
//  2. Run each file through one Transfer; no request is sent. After an error that names a
//     line, discard out, and start over with a new Transfer.
//  3. Compare the sum of Lines with itemCount in manifest-files.json, and the sum of SetAside
//     and the last Unmatched with 0: what an unmatched copy holds is lost.
//  4. Import out, with the keys and indexes of the new table. Compare its count of items with
//     the sum of Written, and its errors with 0.
//  5. Call [schema.Table.Ensure], which sets TTL, the stream and the protections, and verify
//     with [Job.DryRun]. If Unchecked is not 0, compare its Scanned with the sum of Written.
//
// An import makes a table of another name, without local indexes, stream, backups and
// replicas.
//
// Files are those of a full export in DynamoDB's JSON: a line {"Item":{…}} for each
// item. Its methods may be called by several goroutines at once, for several files.
// A Transfer must not be copied after its first use.
//
// The attributes aws:rep:deleting, aws:rep:updatetime and aws:rep:updateregion are left
// out. A global table of version 2017.11.29 writes them into its items, and they are
// about its own replication.
//
// AWS: "DynamoDB table export output format", "Amazon S3 import formats for DynamoDB"
// and "DynamoDB global tables version 2017.11.29 (Legacy): How it works", Amazon
// DynamoDB Developer Guide.
type Transfer struct {
	// Table is the new table. No request is sent to it.
	Table *table.Table
	// Entities are brought to their present description: see
	// [repo.Repo.RefreshItems].
	Entities []Entity
	// Map, if it is set, returns what to store of an item whose type no entity has;
	// nothing to leave it out. The item is its own to change. An error sets the item
	// aside, with its text as the reason. Without Map such items stay as they are.
	//
	// So it gives entities another main key: Entities has none of the type. Map decodes the
	// item with a repository of the former description, and leaves it out if it is no main
	// item. Otherwise it sets the item's key (table.IndexKey("", key)), and returns what
	// [repo.Repo.RefreshItems] of the new description makes of it: the main item, with what
	// its type does not know, its copies and claims.
	Map func(item table.Item) ([]table.Item, error)

	mu   sync.Mutex
	seed maphash.Seed
	// seen are the hashes of the keys that were written, and unmatched those of copies
	// that were dropped and that no main item has given yet.
	seen, unmatched map[uint64]struct{}
}

// maxSeen bounds the memory of both to about 150 MB.
const maxSeen = 4_000_000

// TransferReport counts what became of the lines of a file. Each line is one of
// Entities, Others, Newer, Dropped and SetAside.
type TransferReport struct {
	// Lines is how many lines were read, without empty ones. It must equal the
	// file's itemCount in the export's manifest-files.json: a file that is not
	// compressed can end too early without a trace.
	Lines int64
	// Entities is how many were main items of entities; Others how many were items of
	// other types that were written; Newer how many a newer program has written, which
	// stay as they are: see [table.ErrNewerShape].
	Entities, Others, Newer int64
	// Dropped is how many were left out: stored copies, also those whose main item is
	// missing, since main items make new ones; former copies; those that Map leaves out;
	// and the progress of jobs, which is about the former table.
	Dropped int64
	// SetAside is how many could not be brought over.
	SetAside int64
	// Written is how many items were written, and Copies how many of them are copies
	// of entities.
	Written, Copies int64
	// Unchecked is how many of the items that were written, or were dropped copies, were
	// not remembered: see [Transfer.Run].
	Unchecked int64
	// Unmatched is how many keys of dropped copies, in all files of the Transfer so far,
	// have no item in the new table, exactly if nothing was Unchecked. After the last
	// file they are the former copies, and copies whose main item is missing, gives another
	// key or was set aside: what these hold is not in the new table.
	Unmatched int64
}

// String returns the report in one line.
func (r TransferReport) String() string {
	text := fmt.Sprintf("%d lines: %d entities, %d others, %d newer, %d dropped, %d set aside; %d items written, %d of them copies",
		r.Lines, r.Entities, r.Others, r.Newer, r.Dropped, r.SetAside, r.Written, r.Copies)
	if r.Unmatched > 0 {
		text += fmt.Sprintf("; %d copies have no item yet", r.Unmatched)
	}
	if r.Unchecked > 0 {
		text += fmt.Sprintf("; %d not compared with later ones", r.Unchecked)
	}
	return text
}

// Run reads the lines of a file from in, writes the lines of the new table to out and
// those that cannot be brought over to aside. It finds out whether in is compressed by
// gzip, also of several files one after the other; out and aside are not compressed.
// Of a file it holds one line at a time, and hashes of the keys that it remembers: 40
// bytes for each item, 150 MB at most.
//
// A line is set aside
//   - if its entity cannot be brought over: see [repo.Repo.RefreshItems];
//   - if DynamoDB would refuse an item: see [table.Table.CheckItem];
//   - if it has an attribute twice;
//   - if an item that was written before has the key of one of its items, in this file
//     or in another one of the Transfer. An import would keep either of them, at
//     random, and count no error. The first one is written.
//
// In aside it is a line with members Line, Reason and Item. Run can read such a line,
// when the cause is gone. Reason quotes no values, unless an error of Map does; Item is
// the whole item.
//
// Keys are compared by hashes of 64 bits. The first 4,000,000 items of a Transfer are
// remembered, and those after them are compared with these, not with each other.
//
// Errors, after which out is of no use, all in a [*table.Error] that names the line and
// quotes no values:
//   - [table.ErrInvalid], if the Transfer is not valid; or if a line is not JSON, is cut
//     off, is no item, is of an incremental export, or has more than 8 MB.
//   - Those of in, as of a damaged file, and of out and aside.
//
// AWS: "Import format quotas and validation", Amazon DynamoDB Developer Guide.
func (t *Transfer) Run(in io.Reader, out, aside io.Writer) (TransferReport, error) {
	var report TransferReport
	entities, err := t.validate()
	if err == nil {
		err = t.run(entities, in, out, aside, &report)
	}
	if err != nil {
		return report, fail("Transfer", "", t.Table, err)
	}
	return report, nil
}

// validate returns the entities by their types.
func (t *Transfer) validate() (map[string]Entity, error) {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if t.Table == nil {
		bad("Table: is nil")
	}
	entities := byType(t.Entities, nil, bad)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w transfer: %w", table.ErrInvalid, errors.Join(problems...))
	}
	return entities, nil
}

func (t *Transfer) run(entities map[string]Entity, in io.Reader, out, aside io.Writer, report *TransferReport) error {
	lines, err := newLineReader(in)
	if err != nil {
		return err
	}
	outBuffer, asideBuffer := bufio.NewWriter(out), bufio.NewWriter(aside)
	outLines, asideLines := newLineWriter(outBuffer), newLineWriter(asideBuffer)
	for {
		l, more, err := lines.next()
		switch {
		case err != nil:
			return err
		case !more:
			t.mu.Lock()
			report.Unmatched = int64(len(t.unmatched))
			t.mu.Unlock()
			return errors.Join(outBuffer.Flush(), asideBuffer.Flush())
		}
		report.Lines++
		stored, counts, err := t.convert(entities, l)
		if err == nil {
			err = t.claim(stored, l.item, &counts)
		}
		if err != nil {
			report.SetAside++
			err = asideLines.Encode(asideLine{l.line, err.Error(), l.json})
		} else {
			report.add(counts)
			err = write(outLines, stored, l)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", l.line, err)
		}
	}
}

// add adds what became of one line.
func (r *TransferReport) add(line TransferReport) {
	r.Entities += line.Entities
	r.Others += line.Others
	r.Newer += line.Newer
	r.Dropped += line.Dropped
	r.Written += line.Written
	r.Copies += line.Copies
	r.Unchecked += line.Unchecked
}

// converted are the items that a line becomes. If same is set they are the line's item,
// unchanged. If copied is set, there are none, and the line's item is a copy.
type converted struct {
	items        []table.Item
	same, copied bool
}

// convert returns what a line becomes, and how it counts.
func (t *Transfer) convert(entities map[string]Entity, l line) (c converted, counts TransferReport, err error) {
	if !l.unique {
		return c, counts, fmt.Errorf("%w: an attribute is there twice", errLine)
	}
	same := !dropReplication(l.item)
	spec := t.Table.Schema()
	if lease.Owned(&spec, l.item, itemType) {
		counts.Dropped = 1
		return c, counts, nil
	}
	name := spec.TypeOf(l.item)
	entity, known := entities[name]
	counted := &counts.Others
	switch {
	case known:
		c.items, err = entity.RefreshItems(l.item)
		counted, counts.Copies = &counts.Entities, int64(max(0, len(c.items)-1))
		if errors.Is(err, table.ErrNewerShape) {
			c, counted, err = converted{items: []table.Item{l.item}, same: same}, &counts.Newer, nil
		}
		c.copied = len(c.items) == 0
	case t.Map != nil:
		c.items, err = t.Map(l.item)
	default:
		c = converted{items: []table.Item{l.item}, same: same}
	}
	if len(c.items) == 0 {
		counted = &counts.Dropped
	}
	*counted = 1
	counts.Written = int64(len(c.items))
	for i := 0; i < len(c.items) && err == nil; i++ {
		err = t.Table.CheckItem(c.items[i])
	}
	return c, counts, err
}

// dropReplication removes what a global table of version 2017.11.29 has written into an
// item, and reports whether there was something.
func dropReplication(item table.Item) bool {
	had := len(item)
	for _, name := range []string{"aws:rep:deleting", "aws:rep:updatetime", "aws:rep:updateregion"} {
		delete(item, name)
	}
	return len(item) < had
}

var errTwice = fmt.Errorf("%w: an item that was written before has the same key", table.ErrExists)

// claim takes the keys of the items that a line becomes, all or none.
func (t *Transfer) claim(c converted, item table.Item, counts *TransferReport) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seed, t.seen, t.unmatched = maphash.MakeSeed(), map[uint64]struct{}{}, map[uint64]struct{}{}
	}
	remember := func(in map[uint64]struct{}, hash uint64) {
		if len(t.seen)+len(t.unmatched) >= maxSeen {
			counts.Unchecked++
			return
		}
		in[hash] = struct{}{}
	}
	if c.copied {
		hash := maphash.Comparable(t.seed, t.Table.KeyOf("", item))
		if _, written := t.seen[hash]; !written {
			remember(t.unmatched, hash)
		}
	}
	own := make(map[uint64]bool, len(c.items))
	for _, item := range c.items {
		hash := maphash.Comparable(t.seed, t.Table.KeyOf("", item))
		if _, twice := t.seen[hash]; twice || own[hash] {
			return errTwice
		}
		own[hash] = true
	}
	for hash := range own {
		delete(t.unmatched, hash)
		remember(t.seen, hash)
	}
	return nil
}

// write writes the items that a line becomes.
func write(out *json.Encoder, c converted, l line) error {
	if c.same {
		return out.Encode(storedLine{l.json})
	}
	for _, attributes := range c.items {
		if err := out.Encode(storedLine{item.JSON(attributes)}); err != nil {
			return err
		}
	}
	return nil
}
