package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// foreign is a table that another program has made. A key is "pk" or "pk sk", and an
// attribute of another type than a string is "n:N".
type foreign struct {
	keys   []string
	global map[string][]string
	local  map[string][]string
	ttl    string
	// unread are indexes that a schema cannot describe.
	unread []string
	// noTTL means that a schema cannot have the TTL, and expired that the item has.
	noTTL, expired bool
	// kind is the attribute for types, if it is not entityType.
	kind string
}

func foreignTables() map[string]foreign {
	many := map[string][]string{}
	for i := range 20 {
		many[fmt.Sprintf("GSI%d", i)] = []string{fmt.Sprintf("gsi%dpk", i)}
	}
	return map[string]foreign{
		"an index by type":           {keys: []string{"pk", "sk"}, global: map[string][]string{"byType": {"entityType"}, "newest": {"entityType", "at:N"}}},
		"an index sorted by type":    {keys: []string{"pk", "sk"}, global: map[string][]string{"types": {"owner", "entityType"}}},
		"an index sorted by expiry":  {keys: []string{"pk", "sk"}, global: map[string][]string{"next": {"owner", "until:N"}, "all": {"until:N"}}, ttl: "until", expired: true},
		"an index by another type":   {keys: []string{"pk", "sk"}, global: map[string][]string{"byKind": {"kind"}, "byType": {"entityType"}}, kind: "kind"},
		"no type":                    {keys: []string{"id"}},
		"keys of numbers":            {keys: []string{"id:N", "at:N"}, global: map[string][]string{"GSI": {"n:N", "m:N"}}, local: map[string][]string{"LSI": {"id:N", "l:N"}}},
		"keys of bytes":              {keys: []string{"id:B", "at:B"}, global: map[string][]string{"GSI": {"n:B", "m:B"}}, local: map[string][]string{"LSI": {"id:B", "l:B"}}},
		"an inverted index":          {keys: []string{"pk", "sk"}, global: map[string][]string{"inverted": {"sk", "pk"}, "same": {"pk", "sk"}, "one": {"sk"}}},
		"twenty indexes":             {keys: []string{"pk", "sk"}, global: many},
		"several attributes":         {keys: []string{"pk", "sk"}, global: map[string][]string{"GSI": {"entityType", "owner", "|", "at:N", "n:N"}}},
		"local indexes":              {keys: []string{"pk", "sk"}, local: map[string][]string{"LSI1": {"pk", "a"}, "LSI2": {"pk", "b:N"}, "LSI3": {"pk", "c:B"}}},
		"a local index by type":      {keys: []string{"pk", "sk"}, local: map[string][]string{"LSI": {"pk", "a"}, "types": {"pk", "entityType"}}, unread: []string{"types"}},
		"a local index by expiry":    {keys: []string{"pk", "sk"}, local: map[string][]string{"LSI": {"pk", "a"}, "next": {"pk", "until:N"}}, ttl: "until", expired: true, unread: []string{"next"}},
		"the type is the key":        {keys: []string{"entityType", "id"}, global: map[string][]string{"GSI": {"id", "entityType"}}},
		"the type is the sort key":   {keys: []string{"id", "entityType:N"}},
		"the expiry is the sort key": {keys: []string{"id", "until:N"}, ttl: "until", noTTL: true},
		"keys named as shapes":       {keys: []string{"pk", "entityShape"}, global: map[string][]string{"GSI": {"entityShapeFrom", "entityShape"}}},
		"an index by shape":          {keys: []string{"pk", "sk"}, global: map[string][]string{"GSI": {"entityShape:N"}}},
		"an index by a type of N":    {keys: []string{"pk", "sk"}, global: map[string][]string{"GSI": {"entityType:N"}}},
		"reserved words":             {keys: []string{"name", "size:N"}, global: map[string][]string{"GSI": {"status", "date"}}, local: map[string][]string{"LSI": {"name", "hash"}}, ttl: "ttl"},
		"odd names": {
			keys: []string{"p.k[0]", "s k"}, ttl: "t#t[1]",
			global: map[string][]string{"GSI": {"#g", "]g["}, "GSI2": {":h", "h.a.b"}}, local: map[string][]string{"LSI": {"p.k[0]", "l-[2].x"}},
		},
	}
}

// attribute is a key attribute of a text such as "n:N".
func attribute(text string) (name string, kind types.ScalarAttributeType) {
	if name, ok := strings.CutSuffix(text, ":N"); ok {
		return name, types.ScalarAttributeTypeN
	}
	if name, ok := strings.CutSuffix(text, ":B"); ok {
		return name, types.ScalarAttributeTypeB
	}
	return text, types.ScalarAttributeTypeS
}

// example returns the value of a key attribute in items, and as it is on the command line.
func example(kind types.ScalarAttributeType) (v types.AttributeValue, text string) {
	switch kind {
	case types.ScalarAttributeTypeN:
		return &types.AttributeValueMemberN{Value: "7"}, "7"
	case types.ScalarAttributeTypeB:
		return &types.AttributeValueMemberB{Value: []byte{1, 2, 255}}, "AQL/"
	}
	return &types.AttributeValueMemberS{Value: "A#1"}, "A#1"
}

// create creates the table with an item that is in all indexes, and returns the name.
func (f foreign) create(t *testing.T) (name string) {
	t.Helper()
	client := tabletest.Client(t)
	name = unmade(t, schema.Table{}).Name
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	item := table.Item{"a[0].b": &types.AttributeValueMemberS{Value: "x"}, "n": &types.AttributeValueMemberN{Value: "1"}}
	defined := map[string]bool{}
	layout := func(key []string) (elements []types.KeySchemaElement) {
		role := types.KeyTypeHash
		several := strings.Contains(strings.Join(key, " "), "|")
		for i, text := range key {
			if text == "|" || i == 1 && !several {
				role = types.KeyTypeRange
			}
			if text == "|" {
				continue
			}
			name, kind := attribute(text)
			if !defined[name] {
				defined[name] = true
				in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: kind})
			}
			item[name], _ = example(kind)
			elements = append(elements, types.KeySchemaElement{AttributeName: &name, KeyType: role})
		}
		return elements
	}
	in.KeySchema = layout(f.keys)
	everything := &types.Projection{ProjectionType: types.ProjectionTypeAll}
	for index, key := range f.global {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: &index, KeySchema: layout(key), Projection: everything})
	}
	for index, key := range f.local {
		in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{IndexName: &index, KeySchema: layout(key), Projection: everything})
	}
	if _, err := client.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if f.ttl != "" {
		if item[f.ttl] == nil {
			item[f.ttl] = &types.AttributeValueMemberN{Value: "1705924800"}
		}
		_, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &f.ttl, Enabled: aws.Bool(true)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
		t.Fatal(err)
	}
	return name
}

// partitions returns the partition keys by index, as they are on the command line. That of
// the table is under "".
func (f foreign) partitions() map[string][]string {
	all := map[string][]string{}
	add := func(index string, key []string) {
		several := strings.Contains(strings.Join(key, " "), "|")
		for i, text := range key {
			if text == "|" || i == 1 && !several {
				break
			}
			_, kind := attribute(text)
			_, value := example(kind)
			all[index] = append(all[index], value)
		}
	}
	add("", f.keys)
	for index, key := range f.global {
		add(index, key)
	}
	for index, key := range f.local {
		add(index, key)
	}
	for _, index := range f.unread {
		delete(all, index)
	}
	return all
}

// TestForeignTables runs each command on tables that the library has not made.
func TestForeignTables(t *testing.T) {
	t.Parallel()
	for label, f := range foreignTables() {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			name := f.create(t)
			ok := func(stdin string, args ...string) string {
				t.Helper()
				got := run(t, nil, stdin, args...)
				if got.code != exitYes {
					t.Fatalf("%q: exit %d\n%s%s", args, got.code, got.stdout, got.stderr)
				}
				return got.stdout
			}
			var key []string
			for _, text := range f.keys {
				_, kind := attribute(text)
				_, value := example(kind)
				key = append(key, value)
			}
			at := append([]string{name}, key...)

			// A schema file of the table is one that the library takes.
			file, model := "", tablemodel.Model{}
			for _, args := range [][]string{{"schema", "-type", f.kind, name}, {"schema", "-type", f.kind, "-sample", "10", name}} {
				file = ok("", args...)
				var err error
				model, err = decodeModel(file)
				if err == nil {
					_, err = table.New(tabletest.Client(t), model.Table, nil)
				}
				if err == nil {
					err = model.Validate()
				}
				if err != nil {
					t.Errorf("%q: %v\n%s", args, err, file)
				}
				if !f.noTTL {
					ok(file, "verify", "-")
					ok(file, "plan", "-")
					ok(file, "ensure", "-")
				}
				for _, index := range f.unread {
					if got := run(t, nil, "", args...); !strings.Contains(got.stderr, "left out: index "+index) {
						t.Errorf("%q: index %s is not left out: %s", args, index, got.stderr)
					}
				}
				ok(file, append([]string{"get", "-schema", "-"}, at...)...)
			}

			var read got
			if err := json.Unmarshal([]byte(ok("", append([]string{"get", "-json"}, at...)...)), &read); err != nil || read.Item["a[0].b"] == nil {
				t.Errorf("get: %v, %v", err, read)
			}
			for index, pks := range f.partitions() {
				of := append([]string{name}, pks...)
				if len(pks) == 1 { // The engine takes no conditions on keys of several attributes.
					if out := ok("", append([]string{"query", "-all", "-json", "-index", index}, of...)...); strings.Count(out, "\n") != 1 {
						t.Errorf("query of %q: %s", index, out)
					}
					ok("", append([]string{"query", "-index", index}, of...)...)
					if out := ok("", append([]string{"count", "-index", index}, of...)...); !strings.HasPrefix(out, "1 item, ") && !f.expired || !strings.HasPrefix(out, "0 items, ") && f.expired {
						t.Errorf("count of %q: %s", index, out)
					}
				}
				ok("", "count", "-scan", "-yes", "-index", index, name)
				ok("", "hot", "-index", index, name)
			}

			changed := strings.Replace(ok("", append([]string{"get", "-json"}, at...)...), `"x"`, `"y"`, 1)
			ok(changed, "put", "-yes", name)
			for _, index := range f.unread {
				for _, command := range []string{"query", "count"} {
					trouble(t, run(t, nil, "", command, "-index", index, name, key[0]), "is left out: it is index "+index+", a local one sorted by")
				}
				trouble(t, run(t, nil, "", "hot", "-index", index, name), "is left out: it is index "+index)
				trouble(t, run(t, nil, "", "count", "-scan", "-index", index, name), "is left out: it is index "+index)
				// Writes are checked against its keys all the same.
				of, _ := attribute(f.local[index][1])
				read.Item[of] = &types.AttributeValueMemberBOOL{Value: true}
				says := fmt.Sprintf("attribute %q is a key of index %s", of, index)
				trouble(t, run(t, nil, encode(t, read), "put", "-yes", name), says)
				if got := run(t, nil, encode(t, jsonLine{read.Item}), "load", "-check", name); got.code != exitNo || !strings.Contains(got.stdout, says) {
					t.Errorf("load -check: %+v", got)
				}
			}
			if f.noTTL {
				if got := run(t, nil, "", append([]string{"get"}, at...)...); !strings.Contains(got.stderr, "items that have expired are not marked, and are counted") {
					t.Errorf("get: %s", got.stderr)
				}
			}
			items := filepath.Join(t.TempDir(), "items.jsonl")
			ok("", "dump", "-o", items, name)
			ok("", append([]string{"delete", "-yes"}, at...)...)
			if got := run(t, nil, "", append([]string{"get"}, at...)...); got.code != exitNo {
				t.Errorf("get after delete: %+v", got)
			}
			ok("", "load", name, items)
			if out := ok("", append([]string{"get", "-json"}, at...)...); out != changed {
				t.Errorf("loaded %s, want %s", out, changed)
			}
			f.view(t, key, name)
			// The indexes of the live table are added to those of a file.
			model.Indexes = nil
			f.view(t, key, "-schema", save(t, "schema.json", encode(t, model.Table)), name)
		})
	}
}

// view opens the pages of the table.
func (f foreign) view(t *testing.T, key []string, args ...string) {
	t.Helper()
	name := args[len(args)-1]
	c := start(t, append([]string{"view", "-write"}, args...)...)
	browser := newBrowser(t)
	u, err := url.Parse(strings.TrimSpace(c.line(t)))
	if err != nil {
		t.Fatal(err)
	}
	browse(t, browser, u.String())
	open := func(page string, parameters url.Values) {
		t.Helper()
		u.RawQuery = ""
		address := u.String() + "t/" + name + page + "?" + parameters.Encode()
		if status, body := browse(t, browser, address); status != http.StatusOK || !strings.Contains(body, "A#1") && !strings.Contains(body, "7") && !strings.Contains(body, "AQL/") {
			t.Errorf("%s: status %d\n%s", address, status, body)
		}
	}
	item := url.Values{"pk": key[:1]}
	if len(key) > 1 {
		item["sk"] = key[1:]
	}
	open("", nil)
	open("/item", item)
	open("/edit", item)
	u.RawQuery = ""
	for _, page := range []string{"/create", "/query"} {
		if status, body := browse(t, browser, u.String()+"t/"+name+page); status != http.StatusOK {
			t.Errorf("%s: status %d\n%s", page, status, body)
		}
	}
	for index, pks := range f.partitions() {
		open("/browse", url.Values{"index": {index}})
		if len(pks) == 1 {
			open("/partition", url.Values{"index": {index}, "pk": pks})
			open("/query", url.Values{"index": {index}, "pk": pks, "attribute": {"a[0].b"}, "equals": {"y"}})
		}
	}
	c.succeed(t, os.Interrupt)
}
