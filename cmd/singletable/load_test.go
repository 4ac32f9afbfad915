package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/lines"
	"github.com/singletable/singletable/cmd/singletable/internal/seed"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// itemLine returns a line of an item whose attribute n is a number.
func itemLine(sk, n string) string {
	return fmt.Sprintf(`{"Item":{"n":{"N":%q},"pk":{"S":"USER#1"},"sk":{"S":%q}}}`+"\n", n, sk)
}

// number returns what the attribute n of an item is, "" without the item.
func number(t *testing.T, tbl *table.Table, sk string) string {
	t.Helper()
	page, err := table.QueryPage[struct {
		N json.Number `dynamodbav:"n"`
	}](t.Context(), tbl.Consistent(), table.Query{PK: "USER#1", Range: keys.Exactly(keys.SK(sk))})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Items) == 0 {
		return ""
	}
	return page.Items[0].N.String()
}

func sorted(text string) map[string]int {
	all := map[string]int{}
	for line := range strings.Lines(text) {
		all[line]++
	}
	return all
}

func TestLoadNeedsAnEmptyTable(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	file := save(t, "items.jsonl", itemLine("a", "1")+itemLine("b", "1")+itemLine("a", "2"))
	if got := run(t, nil, "", "load", name, file); got.code != exitYes || !strings.HasPrefix(got.stdout, "3 items, ") {
		t.Fatalf("%+v", got)
	}
	if a, b := number(t, tbl, "a"), number(t, tbl, "b"); a != "2" || b != "1" {
		t.Errorf("a is %s, b is %s: the last line of a key is its item", a, b)
	}
	trouble(t, run(t, nil, itemLine("a", "3"), "load", name), "the table is not empty", "-replace")
	if got := run(t, nil, itemLine("a", "3"), "load", "-replace", name, "-"); got.code != exitYes {
		t.Fatalf("%+v", got)
	}
	if a, b := number(t, tbl, "a"), number(t, tbl, "b"); a != "3" || b != "1" {
		t.Errorf("a is %s, b is %s", a, b)
	}
}

func TestLoadSaysThatTheInputIsEmpty(t *testing.T) {
	t.Parallel()
	name := tabletest.New(t, appCore(), nil).Schema().Name
	for _, args := range [][]string{{"load", "-replace", name}, {"load", "-check", name}} {
		if got := run(t, nil, "", args...); got.code != exitYes || !strings.Contains(got.stderr, "The input is empty.") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := run(t, nil, "PAR1", "load", "-check", name); strings.Contains(got.stderr, "empty") {
		t.Errorf("%+v", got)
	}
	if got := run(t, nil, itemLine("a", "1"), "load", name); strings.Contains(got.stderr, "empty") {
		t.Errorf("%+v", got)
	}
}

func TestLoadChecksLines(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	if got := run(t, nil, itemLine("a", "1"), "load", "-check", name); got.code != exitYes || got.stdout != "1 item, all valid\n" {
		t.Errorf("%+v", got)
	}
	if n := number(t, tbl, "a"); n != "" {
		t.Errorf("-check has written: %s", n)
	}
	for bad, says := range map[string]string{
		`{"Item":{"pk":{"S":""},"sk":{"S":"secret"}}}`:                                                   "line 2: dynamodb would refuse the item: invalid partition key: empty",
		`{"Item":{"pk":{"S":"secret"},"sk":{"B":"YQ=="}}}`:                                               "line 2: dynamodb would refuse the item: attribute \"sk\" is a key",
		`{"Item":{"pk":{"S":"secret"},"sk":{"N":"1"}}}`:                                                  `attribute "sk" is a key of the table and must be of type s`,
		`{"Item":{"pk":{"S":"secret"},"sk":{"S":"a"},"gsi1pk":{"N":"1"}}}`:                               "gsi1pk",
		`{"Item":{"pk":{"S":"secret"},"sk":{"S":"a"},"n":{"N":"` + nines + `"}}}`:                        "38",
		`{"Item":{"pk":{"S":"secret"},"sk":{"S":"a"},"s":{"SS":["x","x"]}}}`:                             "line 2: dynamodb would refuse the item: attribute \"s\" is a set with duplicates",
		`{"Item":{"pk":{"S":"secret"},"sk":{"S":"a"},"s":{"S":"` + strings.Repeat("x", 410_000) + `"}}}`: "line 2: dynamodb would refuse the item: the item has 410",
		`{"Item":{"pk":{"S":"secret"}`:                                                                   "line 2: is not json",
	} {
		text := itemLine("a", "1") + bad
		got := run(t, nil, text, "load", "-check", name)
		if got.code != exitNo || !strings.HasPrefix(got.stdout, "line 2: ") || got.stderr != "" {
			t.Errorf("-check: %+v", got)
		}
		if out := decoded[loaded](t, run(t, nil, text, "load", "-check", "-json", name)); out.OK || !strings.HasPrefix(out.Problem, "line 2: ") {
			t.Errorf("%+v", out)
		}
		got = run(t, nil, text, "load", "-replace", name)
		trouble(t, got, "singletable load: line 2: ", "Loaded: 1 item, up to line 1.")
		if !strings.Contains(strings.ToLower(got.stderr), says) || strings.Contains(got.stderr, "secret") {
			t.Errorf("standard error lacks %q, or quotes the item: %s", says, got.stderr)
		}
	}
}

// Files of other tools are named in the errors of a load and of a check, and nothing is written.
func TestLoadNamesFilesOfOthers(t *testing.T) {
	t.Parallel()
	name := tabletest.New(t, appCore(), nil).Schema().Name
	for text, says := range map[string]string{
		"{\n    \"Items\": [\n        {\"pk\": {\"S\": \"a\"}}\n    ],\n    \"Count\": 1\n}\n": "line 1: is a response of Scan or Query",
		"\x28\xb5\x2f\xfd\x04\x58": "the file is compressed with zstd",
	} {
		file := save(t, "items.json", text)
		trouble(t, run(t, nil, "", "load", name, file), says, "Loaded: 0 items")
		if got := run(t, nil, text, "load", "-check", name); got.code != exitNo || !strings.HasPrefix(got.stdout, says) {
			t.Errorf("%+v", got)
		}
	}
	if got := run(t, nil, "\ufeff"+itemLine("a", "1"), "load", name); got.code != exitYes || !strings.HasPrefix(got.stdout, "1 item,") {
		t.Errorf("with a byte order mark: %+v", got)
	}
}

// Editors of Windows begin texts with a byte order mark.
func TestInputWithAByteOrderMark(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	const item = `{"pk":{"S":"USER#1"},"sk":{"S":"a"}}`
	if got := run(t, nil, "\ufeff"+item, "put", "-yes", "-schema", save(t, "schema.json", "\ufeff"+encode(t, tbl.Schema())), name); got.code != exitYes {
		t.Errorf("%+v", got)
	}
	trouble(t, run(t, nil, "\xff\xfe{\x00", "put", name), "standard input: is UTF-16, as Windows PowerShell writes it: save it as UTF-8")
}

var nines = strings.Repeat("9", 39)

func TestLoadContinuesAfterABadLine(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	var text strings.Builder
	for n := range 1200 {
		text.WriteString(itemLine(fmt.Sprintf("%04d", n), "1"))
	}
	file := save(t, "items.jsonl", text.String()+"bad\n")
	trouble(t, run(t, nil, "", "load", name, file), "line 1201: is not JSON", "Loaded: 1,200 items, up to line 1,200. Run the same command again to continue")
	// A line that is loaded already must stay as it is.
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(itemLine("0000", "2") + text.String())
	trouble(t, run(t, nil, "", "load", name, file), "were changed", lines.StateFile(file))
	write(text.String() + itemLine("last", "1"))
	other := tabletest.New(t, appCore(), nil).Schema().Name
	trouble(t, run(t, nil, "", "load", other, file), "is of a load into another table")
	if out := decoded[loaded](t, run(t, nil, "", "load", "-json", name, file)); !out.OK || !out.Continued || out.Items != 1 || out.WriteUnits < 1 {
		t.Errorf("%+v", out)
	}
	if _, err := os.Stat(lines.StateFile(file)); err == nil || number(t, tbl, "last") != "1" {
		t.Errorf("it is not complete: %v", err)
	}
}

func TestKilledLoadIsContinued(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	var text strings.Builder
	const items = 1500
	for n := range items {
		text.WriteString(itemLine(fmt.Sprintf("%04d", n), "1"))
	}
	file := save(t, "items.jsonl", text.String())
	kills := 0
	for ; ; kills++ {
		c := start(t, "load", "-json", "-rate", "300", name, file)
		timer := time.AfterFunc(1500*time.Millisecond, func() {
			if kills < 20 {
				_ = c.Process.Signal(syscall.SIGKILL)
			}
		})
		out := &strings.Builder{}
		_, _ = c.stdout.WriteTo(out)
		code := c.wait(t)
		timer.Stop()
		if code == exitYes {
			break
		}
		// A load can be killed after its last write, as it ends.
		if kills > 0 && strings.Contains(c.stderr.String(), "the table is not empty") {
			break
		}
		if c.ProcessState.Exited() {
			t.Fatalf("exit %d: %s", code, c.stderr)
		}
	}
	stats, err := tbl.Count(t.Context(), table.Query{PK: "USER#1", Consistent: true})
	if err != nil || stats.Items != items || kills == 0 {
		t.Errorf("%v, %v, %d kills", stats.Items, err, kills)
	}
}

func TestSeedsAreTables(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"appcore", "shop"}, seed.Names()); diff != "" {
		t.Fatal(diff)
	}
	for _, name := range seed.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, items, ok := seed.Open(name)
			model, err := decodeModel(spec)
			if err == nil {
				err = model.Validate()
			}
			if err != nil || !ok || len(items) > 200<<10 {
				t.Fatalf("%v, %d bytes", err, len(items))
			}
			for line := range strings.Lines(items) {
				item, err := dynamojson.DecodeLine([]byte(line))
				if _, _, known := model.Find(item); err != nil || !known {
					t.Fatalf("%v: no entity of the schema file has %s", err, line)
				}
			}
			tbl := tabletest.New(t, model.Table, nil)
			if got := run(t, nil, items, "load", tbl.Schema().Name); got.code != exitYes {
				t.Fatalf("%+v", got)
			}
			got := run(t, nil, "", "dump", tbl.Schema().Name)
			if diff := cmp.Diff(sorted(items), sorted(got.stdout)); diff != "" {
				t.Errorf("(-seed +dump):\n%s", diff)
			}
		})
	}
}

// Keys that are no strings are positions of a dump, too.
func TestDumpAndLoadOfOtherKeys(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]schema.Table{
		"binary and number": {Name: "Readings", PK: "device", PKType: "B", SK: "at", SKType: "N"},
		"simple":            {Name: "Readings", PK: "device", SimpleKey: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for n := range 400 {
				if spec.SimpleKey {
					fmt.Fprintf(&text, `{"Item":{"device":{"S":"d-%d"},"text":{"S":"%0900d"}}}`+"\n", n, n)
				} else {
					fmt.Fprintf(&text, `{"Item":{"at":{"N":"-%d.5"},"device":{"B":"AAE="},"text":{"S":"%0900d"}}}`+"\n", n, n)
				}
			}
			table := tabletest.New(t, spec, nil).Schema().Name
			if got := run(t, nil, text.String(), "load", table); got.code != exitYes {
				t.Fatalf("%+v", got)
			}
			file := filepath.Join(t.TempDir(), "items.jsonl")
			if got := run(t, nil, "", "dump", "-o", file, "-rate", "2000", table); got.code != exitYes {
				t.Fatalf("%+v", got)
			}
			dumped, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(text.String()), sorted(string(dumped))); diff != "" {
				t.Errorf("(-loaded +dumped):\n%s", diff)
			}
		})
	}
}

// With a schema file, a role that may not describe the table can copy it.
func TestDumpAndLoadWithASchema(t *testing.T) {
	t.Parallel()
	from, to := filled(t, 30), tabletest.New(t, appCore(), nil)
	dir := t.TempDir()
	spec, file := filepath.Join(dir, "schema.json"), filepath.Join(dir, "items.jsonl")
	if err := os.WriteFile(spec, []byte(encode(t, from.Schema())), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, nil, "", "dump", "-schema", spec, "-o", file, from.Schema().Name); got.code != exitYes || !strings.Contains(got.stderr, "with -schema the read units are not known") {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	other, err := os.Open(file)
	if err == nil {
		err = lines.Lock(other)
	}
	if err != nil {
		t.Fatal(err)
	}
	trouble(t, run(t, nil, "", "load", "-schema", spec, to.Schema().Name, file), "another process loads it")
	if err := errors.Join(lines.Unlock(other), other.Close()); err != nil {
		t.Fatal(err)
	}
	if got := run(t, nil, "", "load", "-schema", spec, "-json", to.Schema().Name, file); decoded[loaded](t, got).Items != 30 {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
