package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

const simulatePage = "../../docs/simulate.md"

// hotLoad returns the load of the page: a design with a hot key.
func hotLoad(t *testing.T) (page, load string) {
	t.Helper()
	text, err := os.ReadFile(simulatePage)
	if err != nil {
		t.Fatal(err)
	}
	_, load, _ = strings.Cut(string(text), "```json\n")
	load, _, _ = strings.Cut(load, "```")
	return string(text), load
}

// excerpt is what the page shows of a report: the first limit, and other designs.
func excerpt(report string) string {
	limits, rest, _ := strings.Cut(report, "\n\n")
	lines := strings.SplitN(limits, "\n", 3)
	_, designs, _ := strings.Cut(rest, "\n\nOther designs:")
	designs, _, _ = strings.Cut(designs, "\n\n")
	return strings.Join(lines[:2], "\n") + "\n  …\n\nOther designs:" + designs + "\n"
}

// The page shows what the command prints of its load.
func TestSimulatePage(t *testing.T) {
	t.Parallel()
	text, load := hotLoad(t)
	var out strings.Builder
	p := testProgram(&out, &out, nil, "", 0)
	p.stdin = strings.NewReader(load)
	if code := p.run(t.Context(), []string{"simulate", "-"}); code != exitYes {
		t.Fatalf("exit %d: %s", code, &out)
	}
	made := regexp.MustCompile("(?s)<!-- output -->\n.*<!-- /output -->").ReplaceAllLiteralString(text,
		"<!-- output -->\n\n```console\n$ singletable simulate posts.json\n"+excerpt(out.String())+"```\n\n<!-- /output -->")
	if *update {
		if err := os.WriteFile(simulatePage, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(made, text); diff != "" && !*update {
		t.Errorf("run go test -run TestSimulatePage -update (-want +got):\n%s", diff)
	}
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	_, hot := hotLoad(t)
	dir := t.TempDir()
	load, page := filepath.Join(dir, "load.json"), filepath.Join(dir, "load.html")
	for name, text := range map[string]string{
		"load.json": hot, "bad.json": `{"name": "x", "keys": {}, "patterns": []}`, "no-prices.json": `{"region": "eu-test-1"}`,
		"prices.json": `{"region": "eu-test-1", "date": "2026-01-01", "source": "a contract", "readMillion": 1, "writeMillion": 1, "readHour": 1, "writeHour": 1, "gbMonth": 1}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (int, string) {
		var out strings.Builder
		p := testProgram(&out, &out, nil, "", 0)
		return p.run(t.Context(), append([]string{"simulate"}, args...)), out.String()
	}

	code, text := run("-factor", "30", "-seconds", "600", "-html", page, load)
	for _, want := range []string{
		"Posts holds 20 times today's load",
		`the hottest of the keys "published" in index byTime takes 1,000 write units a second: its sort keys grow`,
		"Asked for by publish", "publish: 299,", "newest: never refused", `16 shards for "published": holds`,
	} {
		if code != exitYes || !strings.Contains(text, want) {
			t.Errorf("exit %d, and no %q in:\n%s", code, want, text)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "refused: publish, a second; at most") || strings.Count(string(html), "<path") != 6 {
		t.Errorf("the page: %v\n%s", err, html)
	}
	_, again := run("-factor", "30", "-seconds", "600", load)
	if again != text {
		t.Errorf("the same seed gives another result:\n%s", again)
	}
	if code, text = run("-json", "-prices", filepath.Join(dir, "prices.json"), load); code != exitYes || !json.Valid([]byte(text)) || !strings.Contains(text, `"region": "eu-test-1"`) {
		t.Errorf("-json: %d\n%.300s", code, text)
	}
	for args, want := range map[string]string{
		"":                    "it takes the name of a file",
		"-factor 0 " + load:   "-factor must be above 0",
		"-factor NaN " + load: "-factor must be above 0",
		"-seconds -1 " + load: "-seconds must be 1 to",
		dir + "/none.json":    "no such file",
		dir + "/bad.json":     "bad.json: patterns: there are none",
		"-prices " + dir + "/no-prices.json " + load: "no-prices.json: prices need readMillion",
	} {
		if code, text := run(strings.Fields(args)...); code != exitTrouble || !strings.Contains(text, want) {
			t.Errorf("%s: exit %d, %s", args, code, text)
		}
	}
}

// -trace prints the load of a trace, which the command takes.
func TestSimulateTrace(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	synctest.Test(t, func(t *testing.T) {
		var trace telemetry.Trace
		for range 100 {
			trace.Observe(t.Context(), table.Event{Operation: "GetItem", Table: "Traced", Partitions: []keys.PK{"USER#secret"}, Capacity: 0.5})
			time.Sleep(time.Second)
		}
		if _, err := trace.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
	})
	simulate := func(in string, args ...string) (int, string) {
		var out strings.Builder
		p := testProgram(&out, &out, nil, "", 0)
		p.stdin = strings.NewReader(in)
		return p.run(t.Context(), append([]string{"simulate"}, args...)), out.String()
	}
	code, load := simulate(file.String(), "-trace", "-")
	if code != exitYes || strings.Contains(load, "secret") {
		t.Fatalf("exit %d: %s", code, load)
	}
	if code, text := simulate(load, "-seconds", "60", "-"); code != exitYes || !strings.Contains(text, "times today's load") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := simulate("{}", "-trace", "-"); code != exitTrouble || !strings.Contains(text, "standard input: ") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := simulate("", "-trace", filepath.Join(t.TempDir(), "none")); code != exitTrouble {
		t.Errorf("exit %d: %s", code, text)
	}
}
