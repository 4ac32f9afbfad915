package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/described"
	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/cmd/singletable/internal/shell"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

const putHelp = `Usage: singletable put [flags] TABLE [FILE]

Put stores one item, which it reads from a file or standard input as DynamoDB's JSON:
what get -json prints, or the attributes alone. Without -yes it writes nothing: it prints
the difference to what is stored, attribute by attribute, and the command that writes it.

The write succeeds only if the stored item is still the one that was compared. With
-version, the name of the entity's version attribute, it is conditional on that, and
stores a new revision (if it is a text) or the next version (if it is a number), so that
services notice the change. A new item has to have the attribute: a number is stored as it
is, and a text is replaced by a new revision. Without -version the write is conditional on
all attributes, of which the stored item may have 150. -seen, which is part of the printed
command, makes sure that nothing was changed since the difference was printed. Attributes
that are equal are not written.

With a -schema file that has the item's entity, the entity's version attribute is the
default of -version. Put then refuses an item whose keys, in the table or in an index, are
not what the entity's patterns make of its attributes, before it sends a request: services
would not find it, or find it by a former value. Standard error says which keys the file
does not describe, so that they were not checked. Without -schema it is written as it is.

Put changes one item: copies of an entity (repo.Entity.Copies) and its unique values are
items of their own. It lists the copies that such a file has, and refuses a change that
gives one of them another key; change them as well, or write through the service.

` + writeHelp + `
Examples:

  singletable get -json AppCore USER#u-123 PROFILE >user.json   # then edit it
  singletable put -version revision AppCore user.json
  singletable put -version revision -seen 60d2c7b71f0ad0cd -yes AppCore user.json
`

const deleteHelp = `Usage: singletable delete [flags] TABLE PK [SK]

Delete deletes one item. Without -yes it deletes nothing: it prints the item, and the
command that deletes it.

The item is deleted only if it is still the one that was read: by its version attribute
with -version, or with a -schema file that has the version of the item's entity, and by
all of its attributes otherwise, which may be 150; an attribute
that another program adds at that moment is not noticed then. -seen, which is part of the
printed command, makes sure that nothing was changed since the item was printed.

It deletes one item. Copies of an entity (repo.Entity.Copies) and its unique values are
items of their own: delete them as well, or delete through the service. Delete lists the
copies that a -schema file has.

` + writeHelp + `
Examples:

  singletable delete AppCore USER#u-123 PROFILE
  singletable delete -seen 60d2c7b71f0ad0cd -yes AppCore USER#u-123 PROFILE
`

const writeHelp = `Keys: a number is written as text (12.5), a binary key as base64.

Exit codes: 0 it was written, or there is nothing to do; 1 nothing was written: -yes is
missing, or the item was changed in between; 2 no result.
`

// writing are the permissions of the commands that write an item.
const writing = "dynamodb:GetItem, PutItem, UpdateItem and DeleteItem on the table"

// writeFlags are the flags of the commands that write one item.
type writeFlags struct {
	yes                   *bool
	seen, version, schema *string
}

func newWriteFlags(fs *flag.FlagSet) writeFlags {
	return writeFlags{
		yes:     fs.Bool("yes", false, "write"),
		seen:    fs.String("seen", "", "write only if the stored item has this `name`, which the difference was printed with"),
		version: fs.String("version", "", "`attribute` with the version or revision of the item's entity"),
		schema:  fs.String("schema", "", schemaUsage),
	}
}

// written is the output of put and delete.
type written struct {
	Table       string           `json:"table"`
	Region      string           `json:"region"`
	Key         dynamojson.Item  `json:"key"`
	Seen        string           `json:"seen"`
	Guard       edit.Guard       `json:"guard"`
	Differences []jsonDifference `json:"differences"`
	Others      []other          `json:"others,omitempty"`
	// Unchecked are keys of the item that the schema file does not describe.
	Unchecked []string `json:"unchecked,omitempty"`
	Written   bool     `json:"written"`
	Changed   bool     `json:"changedInBetween,omitzero"`
}

type jsonDifference struct {
	Path string           `json:"path"`
	Old  dynamojson.Value `json:"old,omitzero"`
	New  dynamojson.Value `json:"new,omitzero"`
}

func (p *program) put(ctx context.Context, args []string) error {
	fs, asJSON := flags("put")
	f := newWriteFlags(fs)
	rest, err := p.parse(fs, putHelp, args, takes{1, 2, "the name of a table and a file with an item"})
	if err != nil {
		return err
	}
	file := "-"
	if len(rest) == 2 {
		file = rest[1]
	}
	if file == "-" && *f.schema == "-" {
		return usageError("the schema and the item cannot both be on standard input")
	}
	item, err := p.readItem(file)
	if err != nil {
		return err
	}
	return p.write(ctx, fs, f, rest, *asJSON, func(ctx context.Context, e *editing) (edit.Plan, error) {
		if err := e.checkPatterns(item); err != nil {
			return edit.Plan{}, err
		}
		plan, err := e.editor.Put(ctx, item)
		if err == nil {
			err = checkVersion(*f.version, e.table.Schema(), plan.Old, item)
		}
		if err == nil {
			err = asGiven(edit.CheckAlone(e.model, plan))
		}
		return plan, err
	})
}

func (p *program) delete(ctx context.Context, args []string) error {
	fs, asJSON := flags("delete")
	f := newWriteFlags(fs)
	rest, err := p.parse(fs, deleteHelp, args, takes{2, 3, "the name of a table and a key"})
	if err != nil {
		return err
	}
	return p.write(ctx, fs, f, rest, *asJSON, func(ctx context.Context, e *editing) (edit.Plan, error) {
		key, err := keyOf(e.table.Schema(), rest[1:])
		if err != nil {
			return edit.Plan{}, err
		}
		plan, err := e.editor.Delete(ctx, key)
		if err == nil {
			err = checkVersion(*f.version, e.table.Schema(), plan.Old, nil)
		}
		return plan, err
	})
}

// maxItem bounds an item in JSON, in bytes. DynamoDB takes items of 400 KB, of which a
// byte can be a line with {"NULL": true}. AWS: "Constraints in Amazon DynamoDB", Amazon
// DynamoDB Developer Guide.
const maxItem = 64 << 20

// readItem reads an item from a file or standard input.
func (p *program) readItem(file string) (table.Item, error) {
	text, file, err := p.readInput(file, maxItem)
	if err != nil {
		return nil, err
	}
	item, err := dynamojson.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\nPut takes what get -json prints, such as {\"Item\":{\"pk\":{\"S\":\"USER#1\"}}}", file, err)
	}
	return item, nil
}

// write makes a plan, prints it, and applies it if the flags say so. args are the
// arguments of the command.
func (p *program) write(ctx context.Context, fs *flag.FlagSet, f writeFlags, args []string, asJSON bool, plan func(context.Context, *editing) (edit.Plan, error)) error {
	e, err := p.openEditing(ctx, args[0], f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	made, err := plan(ctx, &e)
	if _, usage := errors.AsType[usageError](err); usage {
		return err
	}
	if err != nil {
		return p.failed(ctx, err, writing)
	}
	out, err := e.output(made)
	if err != nil {
		return err
	}
	out.Changed = f.changed(made)
	if !asJSON {
		p.noteUnchecked(out.Unchecked)
	}
	if *f.yes && !out.Changed {
		err := e.editor.Apply(ctx, made)
		out.Changed = errors.Is(err, edit.ErrChanged)
		if err != nil && !out.Changed {
			return p.failed(ctx, err, writing)
		}
		out.Written = err == nil && len(made.Differences) > 0
	}
	switch err := p.printResult(out, out.text(made, fs.Name()), asJSON, true); {
	case err != nil, out.Written, len(out.Differences) == 0 && !out.Changed:
		return err
	case !out.Changed && !asJSON:
		p.adviseWrite(made, toWrite(fs, args, made.Seen))
	}
	return errNo
}

// noteUnchecked says on standard error which keys no pattern has checked.
func (p *program) noteUnchecked(all []string) {
	for _, text := range all {
		fmt.Fprintln(p.stderr, "Not checked: "+oneLine(text))
	}
}

// changed reports whether the stored item is no longer the one that the user has looked
// at: the one that -seen names or, without it, the one that the file was made of.
func (f writeFlags) changed(plan edit.Plan) bool {
	if *f.seen != "" {
		return *f.seen != plan.Seen
	}
	return *f.yes && plan.Stale
}

// adviseWrite says on standard error what to look at before the command that writes.
func (p *program) adviseWrite(plan edit.Plan, command string) {
	for _, name := range []string{"revision", "version"} {
		if plan.Guard == edit.ByAll && plan.Old[name] != nil {
			fmt.Fprintf(p.stderr, "The stored item has an attribute %q. If it guards the writes of services, give -version %s:\nelse a service that has read the item overwrites your change.\n", name, name)
		}
	}
	if plan.Stale {
		fmt.Fprintf(p.stderr, "The file has another %s than the stored item, which was changed since: the write would undo that change.\n", oneLine(plan.Version))
	}
	fmt.Fprintln(p.stderr, "To write it: "+command)
}

// editing is the table that put and delete write an item of.
type editing struct {
	region string
	model  tablemodel.Model
	table  *table.Table
	editor *edit.Editor
	// unchecked are keys of the item that were not checked.
	unchecked []edit.Unchecked
}

// openEditing opens a table for put and delete.
func (p *program) openEditing(ctx context.Context, name string, f writeFlags) (e editing, err error) {
	live, err := p.connect(ctx)
	if err != nil {
		return e, err
	}
	e.region = live.region
	if *f.schema != "" {
		e.model, err = p.readModel(*f.schema, name)
	} else {
		e.model.Table, err = p.keysOf(ctx, live, name)
	}
	if err != nil {
		return e, err
	}
	if e.table, err = table.New(live.client, e.model.Table, nil); err != nil {
		return e, err
	}
	e.editor, err = edit.New(live.client, e.model.Table, func(item table.Item) string {
		entity, _, _ := e.model.Find(item)
		return cmp.Or(*f.version, entity.Version)
	})
	return e, err
}

// keysOf asks DynamoDB for the schema of a table with all of its keys.
func (p *program) keysOf(ctx context.Context, live live, name string) (schema.Table, error) {
	description, err := p.describe(ctx, live, name, "dynamodb:DescribeTable on the table, or give -schema FILE")
	if err != nil {
		return schema.Table{}, err
	}
	spec, err := described.Keys(name, description)
	if err != nil {
		return spec, err
	}
	spec = layout(spec)
	return spec, validDescription(spec)
}

// checkPatterns refuses an item whose keys are not as the schema file says, and notes what the
// file does not say.
func (e *editing) checkPatterns(item table.Item) (err error) {
	if err = e.table.CheckItem(item); err == nil {
		e.unchecked, err = edit.CheckPatterns(e.table, e.model, item)
		err = asGiven(err)
	}
	return err
}

// asGiven says how an item is written all the same that does not fit the schema file.
func asGiven(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nWithout -schema, or without the entity in its file, the item is written as it is", err)
}

// output returns the output for a plan that was not applied yet.
func (e editing) output(plan edit.Plan) (written, error) {
	key, err := e.table.IndexKey("", plan.Key)
	if err != nil {
		return written{}, err
	}
	out := written{
		Table: e.model.Name, Region: e.region, Key: dynamojson.Item(key),
		Seen: plan.Seen, Guard: plan.Guard, Differences: []jsonDifference{},
		Others: others(e.model, e.table, plan),
	}
	for _, u := range e.unchecked {
		out.Unchecked = append(out.Unchecked, u.String())
	}
	for _, d := range plan.Differences {
		out.Differences = append(out.Differences, jsonDifference{d.Path, dynamojson.Value{AttributeValue: d.Old}, dynamojson.Value{AttributeValue: d.New}})
	}
	return out, nil
}

// text returns the plan and what has become of it.
func (w written) text(plan edit.Plan, name string) string {
	var b strings.Builder
	stored := "stored item " + w.Seen
	if plan.Old == nil {
		stored = "no item is stored"
	}
	fmt.Fprintf(&b, "%s in %s, %s\n", oneLine(w.Table), oneLine(w.Region), stored)
	rows := make([][]string, len(plan.Differences))
	for i, d := range plan.Differences {
		switch {
		case d.Old == nil:
			rows[i] = []string{"+ " + d.Path, kindOf(d.New), valueText(d.New, maxValue)}
		case d.New == nil:
			rows[i] = []string{"- " + d.Path, kindOf(d.Old), valueText(d.Old, maxValue)}
		default:
			before, after := kindOf(d.Old), kindOf(d.New)
			if before != after {
				before += " → " + after
			}
			rows[i] = []string{"~ " + d.Path, before, valueText(d.Old, maxValue) + " → " + valueText(d.New, maxValue)}
		}
	}
	b.WriteString(columns(rows))
	b.WriteString(othersText(w.Others))
	switch {
	case w.Changed:
		b.WriteString("NOT WRITTEN: the stored item was changed in between. Look at it again.\n")
	case w.Written && name == "delete":
		b.WriteString("Deleted.\n")
	case w.Written && plan.Guard == edit.ByVersion:
		fmt.Fprintf(&b, "Written, with %s %s.\n", plan.Version, valueText(plan.New[plan.Version], maxValue))
	case w.Written:
		b.WriteString("Written.\n")
	case len(plan.Differences) == 0 && name == "delete":
		b.WriteString("There is nothing to delete.\n")
	case len(plan.Differences) == 0:
		b.WriteString("The item is stored so already.\n")
	case plan.Guard == edit.ByVersion && name == "delete":
		fmt.Fprintf(&b, "Nothing was written. The write would be conditional on %s.\n", plan.Version)
	case plan.Guard == edit.ByVersion:
		fmt.Fprintf(&b, "Nothing was written. The write would be conditional on %s, and store a new one.\n", plan.Version)
	case plan.Guard == edit.ByAll:
		b.WriteString("Nothing was written. The write would be conditional on all attributes of the stored item.\n")
	default:
		b.WriteString("Nothing was written. The write would be conditional on there being no item.\n")
	}
	return b.String()
}

// toWrite returns the command line that writes.
func toWrite(fs *flag.FlagSet, args []string, seen string) string {
	return shell.Quote(slices.Concat(given(fs, "seen", "yes"), []string{"-seen=" + seen, "-yes", "--"}, args)...)
}
