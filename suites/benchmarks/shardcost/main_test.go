package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const picture = "../../../shard/cost.svg"

// TestPicture checks that the picture of the documentation is what the program
// draws of what was measured.
func TestPicture(t *testing.T) {
	t.Parallel()
	drawn := filepath.Join(t.TempDir(), "cost.svg")
	if err := run(false, "cost.csv", drawn); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run the program to draw it anew (-committed +drawn):\n%s", diff)
	}
}

// TestPictureIsComplete looks for a mark of every measured value, and for
// well-formed XML without anything from outside.
func TestPictureIsComplete(t *testing.T) {
	t.Parallel()
	costs := measured(t)
	svg := draw(costs)
	d := xml.NewDecoder(bytes.NewReader(svg))
	marks := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			marks[e.Name.Local]++
		}
	}
	// Units and rounds, and one in the legend.
	if want := 2*len(costs) + 1; marks["circle"] != want || marks["rect"] != want {
		t.Errorf("%d circles and %d squares for %d costs", marks["circle"], marks["rect"], len(costs))
	}
	if text := string(svg); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Count(text, "http") != 1 {
		t.Error("a place that is no number, or a reference to elsewhere")
	}
}

// TestMeasured checks that everything was measured, and what the documentation
// says of it.
func TestMeasured(t *testing.T) {
	t.Parallel()
	costs := measured(t)
	if len(costs) != len(shardCounts)*len(limits) {
		t.Fatalf("%d costs", len(costs))
	}
	for _, c := range costs {
		if c.rounds > 3 {
			t.Errorf("%+v: more than three rounds", c)
		}
		if c.units > 1.05*c.each {
			t.Errorf("%+v: more than by asking each shard for everything", c)
		}
		if c.limit == 100 && c.shards >= 16 && c.units > c.each/3 {
			t.Errorf("%+v: more than a third", c)
		}
	}
	want, err := os.ReadFile("cost.csv")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(formatCSV(costs))); diff != "" {
		t.Errorf("formatting changes the data:\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const want = `| shards | items | shard.Reader | rounds | N from each shard | ratio |
|---:|---:|---:|---:|---:|---:|
| 16 | 100 | 24.5 | 1.25 | 200.0 | 0.12 |
`
	got := markdown([]cost{{shards: 16, limit: 100, units: 24.5, rounds: 1.25, each: 200}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBadData(t *testing.T) {
	t.Parallel()
	head := strings.Join(header, ",") + "\n"
	for name, text := range map[string]string{
		"nothing": "", "no lines": head, "few columns": head + "1,2,3\n",
		"no number": head + "1,10,a,1,1\n", "zero": head + "1,10,0,1,1\n",
	} {
		if costs, err := parseCSV(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %v", name, costs)
		}
	}
}

func measured(t *testing.T) []cost {
	t.Helper()
	f, err := os.Open("cost.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	costs, err := parseCSV(f)
	if err != nil {
		t.Fatal(err)
	}
	return costs
}
