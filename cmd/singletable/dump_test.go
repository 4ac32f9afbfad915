package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/lines"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// filled returns a table with items of about 1 KB, of which every tenth has expired.
func filled(t *testing.T, items int) *table.Table {
	t.Helper()
	tbl := tabletest.New(t, appCore(), nil)
	put(t, tbl, "item", 0, items)
	return tbl
}

func put(t *testing.T, tbl *table.Table, name string, from, to int) {
	t.Helper()
	var ops []table.Op
	for n := from; n < to; n++ {
		item := table.Item{
			"text":      &types.AttributeValueMemberS{Value: strings.Repeat("é", 450)},
			"expiresAt": &types.AttributeValueMemberN{Value: fmt.Sprint(1 + (1-min(n%10, 1))*1_700_000_000)},
		}
		ops = append(ops, table.Put(keys.Key{PK: keys.PK(fmt.Sprintf("USER#%d", n%97)), SK: keys.SK(fmt.Sprintf("%s#%06d", name, n))}, item))
	}
	store(t, tbl, ops...)
}

// counted returns how often a file has each key, and the lines by key.
func counted(t *testing.T, name string) (count map[string]int, item map[string]table.Item) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := lines.NewReader(f)
	count, item = map[string]int{}, map[string]table.Item{}
	for err == nil {
		var i table.Item
		if i, err = r.Next(); err == nil {
			k := i["pk"].(*types.AttributeValueMemberS).Value + " " + i["sk"].(*types.AttributeValueMemberS).Value
			count[k]++
			item[k] = i
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return count, item
}

func TestDumpWritesWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := filled(t, 250)
	name := tbl.Schema().Name
	file := filepath.Join(t.TempDir(), "items.jsonl.gz")
	got := run(t, nil, "", "dump", "-o", file, "-json", name)
	out := decoded[dumped](t, got)
	if got.code != exitYes || out.Table != name || out.File != file || out.Items != 250 || out.ReadUnits < 10 || out.Continued {
		t.Errorf("%+v", out)
	}
	if !strings.HasPrefix(got.stderr, name+": DynamoDB has not counted the table yet") {
		t.Errorf("standard error: %s", got.stderr)
	}
	count, _ := counted(t, file)
	if len(count) != 250 {
		t.Errorf("%d items", len(count))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// Standard output has the same lines.
	plain := run(t, nil, "", "dump", "-segments", "1", name)
	if plain.code != exitYes || strings.Count(plain.stdout, "\n") != 250 || !strings.HasPrefix(plain.stdout, `{"Item":{"expiresAt":{"N":"`) {
		t.Errorf("exit %d: %.200s\n%s", plain.code, plain.stdout, plain.stderr)
	}
	trouble(t, run(t, nil, "", "dump", "-o", file, name), "is there already")
}

// TestKilledDumpIsContinued kills a real process over and over, while others write the
// table.
func TestKilledDumpIsContinued(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"items.jsonl", "items.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const items = 1500
			tbl := filled(t, items)
			file := filepath.Join(t.TempDir(), name)
			args := []string{"dump", "-o", file, "-segments", "3", "-rate", "60", tbl.Schema().Name}
			kills := 0
			for ; ; kills++ {
				c := start(t, args...)
				ended := make(chan struct{})
				if kills < 30 {
					go func() {
						select {
						case <-ended:
						case <-time.After(800 * time.Millisecond):
							_ = c.Process.Signal(syscall.SIGKILL)
						}
					}()
				}
				put(t, tbl, "later", items+100*kills, items+100*kills+20)
				code := c.wait(t)
				close(ended)
				if code == exitYes {
					break
				}
				// A dump can be killed after its last save, as it ends.
				if kills > 0 && strings.Contains(c.stderr.String(), "is there already, and complete") {
					break
				}
				if c.ProcessState.Exited() {
					t.Fatalf("exit %d: %s", code, c.stderr)
				}
			}
			if kills < 2 {
				t.Errorf("it was killed %d times only", kills)
			}
			count, _ := counted(t, file)
			for n := range items {
				k := fmt.Sprintf("USER#%d item#%06d", n%97, n)
				if count[k] != 1 {
					t.Fatalf("%s is there %d times, after %d kills", k, count[k], kills)
				}
				delete(count, k)
			}
			for _, k := range slices.Sorted(maps.Keys(count)) {
				if !strings.Contains(k, "later#") || count[k] != 1 {
					t.Errorf("%s is there %d times", k, count[k])
				}
			}
			t.Logf("%d kills, %d later items", kills, len(count))
		})
	}
}

func TestDumpOfAnotherTableIsNotContinued(t *testing.T) {
	t.Parallel()
	tbl, other := filled(t, 10), filled(t, 10)
	file := filepath.Join(t.TempDir(), "items.jsonl")
	state := dumpState{Table: "another one", Segments: make([]dumpSegment, 4)}
	f, _, err := lines.Open(file, state)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	trouble(t, run(t, nil, "", "dump", "-o", file, tbl.Schema().Name), "is of another table")
	// An incomplete dump is not loaded, and the state of a load is not one of a dump.
	trouble(t, run(t, nil, "", "load", "-replace", other.Schema().Name, file), "is a dump into the file not complete?")
	if err := lines.WriteState(file, loadState{Table: "a", Lines: 1}); err != nil {
		t.Fatal(err)
	}
	trouble(t, run(t, nil, "", "dump", "-o", file, tbl.Schema().Name), "is not of a dump")
}

func TestDumpEndsWhenItCannotWrite(t *testing.T) {
	t.Parallel()
	name := filled(t, 200).Schema().Name
	p := program{stdout: brokenWriter{io.ErrShortWrite}, stderr: io.Discard, getenv: os.Getenv, now: time.Now, patience: time.Minute}
	if code := p.run(t.Context(), []string{"dump", name}); code != exitTrouble {
		t.Errorf("exit %d", code)
	}
	trouble(t, run(t, nil, "", "dump", "-o", filepath.Join(t.TempDir(), "missing", "items.jsonl"), name), "missing")
}

const large = `{"Table": {"TableName": "Orders", "ItemCount": 9000000, "TableSizeBytes": 8192000000,
	"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}}`

func TestDumpOfALargeTableAsksFirst(t *testing.T) {
	dynamo(t, http.StatusOK, large)
	trouble(t, run(t, nil, "", "dump", "Orders"), "Orders: about 9,000,000 items and 8,192 MB by DynamoDB's count: 1,000,000 read units", "-yes")
}

// A table that is not on demand has capacity in the descriptions of its indexes.
func TestDumpAndLoadWithProvisionedCapacity(t *testing.T) {
	t.Parallel()
	spec := unmade(t, appCore())
	capacity := schema.Throughput{Read: 5, Write: 5}
	spec.BillingMode, spec.ProvisionedThroughput, spec.Indexes[0].ProvisionedThroughput = types.BillingModeProvisioned, capacity, capacity
	if err := spec.Ensure(t.Context(), tabletest.Client(t)); err != nil {
		t.Fatal(err)
	}
	item := itemLine("1", "1")
	if got := run(t, nil, item, "load", spec.Name); got.code != exitYes {
		t.Fatalf("%+v", got)
	}
	if got := run(t, nil, "", "dump", spec.Name); got.code != exitYes || got.stdout != item {
		t.Errorf("%+v", got)
	}
}

// TestDumpOfATableThatIsNotCounted dumps a table that was filled in the last hours: its
// count of 0 is no estimate, and must not be a way past -yes. Nor is a count of items
// without their bytes, which some engines have.
func TestDumpOfATableThatIsNotCounted(t *testing.T) {
	for _, items := range []int64{0, 9_000_000} {
		var stderr strings.Builder
		p := program{stderr: &stderr}
		n, units, err := p.estimate("Orders", &types.TableDescription{ItemCount: &items}, false)
		if n != items || units != 0 || err != nil || !strings.Contains(stderr.String(), "not known") {
			t.Error(n, units, err, stderr.String())
		}
	}
	p := program{stderr: io.Discard}
	d := dump{most: freeEstimate, out: io.Discard, progress: p.progress(), state: dumpState{Segments: make([]dumpSegment, 1)}}
	page := table.Stats{Items: 1, Capacity: freeEstimate}
	for i, refused := range []bool{false, false, true} {
		if err := d.add(0, dumpSegment{}, page, nil); (err != nil) != refused {
			t.Errorf("page %d: %v", i, err)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	g := &progress{w: &out, terminal: true, begun: time.Now().Add(-time.Minute)}
	g.show("1 item", 0.25, 0.5)
	g.show("2 items", 0, 0) // too soon
	g.end()
	if diff := cmp.Diff("\r1 item, 50 %, 2m0s left\x1b[K\r\x1b[K", out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	g = &progress{w: &out}
	g.show("1 item", 0, 1.5) // DynamoDB's count is old
	g.end()
	if diff := cmp.Diff("1 item, 99 %\n", out.String()); diff != "" {
		t.Error(diff)
	}
	for n, want := range map[float64]string{0: "0 units", 0.4: "0.4 units", 1: "1 unit", 1.2: "1.2 units", 999: "999 units", 1000: "1,000 units", 1234567: "1,234,567 units"} {
		if got := quantity.Of(n, "unit"); got != want {
			t.Errorf("%g: %s", n, got)
		}
	}
}
