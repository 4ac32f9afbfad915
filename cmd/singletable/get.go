package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/expiring"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

const getHelp = `Usage: singletable get [flags] TABLE PK [SK]

Get prints one item: a line for each attribute with its type and value, the keys first.
The item is printed as it is stored, also if it has expired, when services no longer
read it. A number is written as text (12.5), a binary key as base64. Put a key that
begins with - after --.

With -json it prints {"Item": …, "readUnits": …}, the item in DynamoDB's own JSON: put
takes it, and nothing is lost, such as sets and numbers of 38 digits. jq makes plain
values of the simple types:

  jq '.Item | map_values(.[])'

Texts longer than 1,000 characters are cut, but not with -json. Read units are on
standard error.

Exit codes: 0 the item was printed, 1 there is none, 2 no result.

Examples:

  AWS_PROFILE=prod singletable get AppCore USER#u-123 PROFILE
  singletable get -consistent -json AppCore USER#u-123 PROFILE | jq -r .Item.email.S
`

// reading are the permissions of a command that reads an item.
const reading = "dynamodb:GetItem on the table"

// maxValue is how many characters of a value get shows.
const maxValue = 1000

// got is the output of get.
type got struct {
	Item      dynamojson.Item `json:"Item"`
	ReadUnits float64         `json:"readUnits"`
}

func (p *program) get(ctx context.Context, args []string) error {
	fs, asJSON := flags("get")
	consistent := fs.Bool("consistent", false, "read consistently, at twice the read units")
	schemaFile := fs.String("schema", "", schemaUsage)
	rest, err := p.parse(fs, getHelp, args, takes{2, 3, "the name of a table and a key"})
	if err != nil {
		return err
	}
	t, err := p.openStored(ctx, rest[0], *schemaFile, nil)
	if err != nil {
		return err
	}
	key, err := keyOf(t.schema, rest[1:])
	if err != nil {
		return err
	}
	if *consistent {
		t.table = t.table.Consistent()
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	var m meter
	item, err := table.Get[table.Item](table.WithObserver(ctx, m.observe), t.table, key)
	missing := errors.Is(err, table.ErrNotFound)
	if err != nil && !missing {
		return p.failed(ctx, err, reading)
	}
	switch {
	case *asJSON:
		err = p.printJSON(got{dynamojson.Item(item), m.units()})
	case missing:
		err = p.print("There is no item under the key.\n")
		p.noteEscapes(rest[1:])
	default:
		err = p.print(itemText(t.schema, item, p.now()))
		fmt.Fprintf(p.stderr, "%d bytes, %s\n", item.Size(), quantity.Of(m.units(), "read unit"))
	}
	if err == nil && missing {
		err = errNo
	}
	return err
}

// itemText returns an item in lines of name, type and value: keys, type and expiry come
// first, then the other attributes by name.
func itemText(spec schema.Table, item table.Item, now time.Time) string {
	names := slices.DeleteFunc(headNames(spec), func(name string) bool { return item[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	rows := make([][]string, len(names))
	for i, name := range names {
		text := valueText(item[name], maxValue)
		if at, ok := expiring.Of(item, spec.TTLAttribute); ok && name == spec.TTLAttribute {
			text += "  " + expiryText(at, now)
		}
		rows[i] = []string{printable(name), kindOf(item[name]), text}
	}
	return columns(rows)
}

// headNames returns the names of the table's keys, and of the attributes for type and
// expiry.
func headNames(spec schema.Table) []string {
	return slices.DeleteFunc([]string{spec.PK, spec.SK, spec.TypeAttribute, spec.TTLAttribute}, func(name string) bool { return name == "" })
}

// expiryText says when an item expires or has expired.
func expiryText(at, now time.Time) string {
	verb := "expires "
	if !at.After(now) {
		verb = "EXPIRED "
	}
	return verb + at.Format(time.RFC3339) + ", " + distance(now, at)
}
