package shardcost

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

// TestPicture checks that the picture of the documentation is what the program
// draws of what was measured.
func TestPicture(t *testing.T) {
	t.Parallel()
	drawn := filepath.Join(t.TempDir(), "cost.svg")
	if err := run(t.Context(), false, "cost.json", drawn); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../../shard/cost.svg")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run the program to draw it again (-committed +drawn):\n%s", diff)
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
		if c.Units <= 0 || c.Rounds < 1 || c.Each <= 0 {
			t.Errorf("%+v: not measured", c)
		}
		if c.Rounds > 3 {
			t.Errorf("%+v: more than three rounds", c)
		}
		if c.Units > 1.05*c.Each {
			t.Errorf("%+v: more than by asking each shard for everything", c)
		}
		if c.Items == 100 && c.Shards >= 16 && c.Units > c.Each/3 {
			t.Errorf("%+v: more than a third", c)
		}
	}
	want, err := os.ReadFile("cost.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(format(costs))); diff != "" {
		t.Errorf("formatting changes the data:\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const want = `| shards | items | shard.Reader | rounds | N from each shard | ratio |
|---:|---:|---:|---:|---:|---:|
| 16 | 100 | 24.5 | 1.25 | 200.0 | 0.12 |
`
	got := markdown([]cost{{Shards: 16, Items: 100, Units: 24.5, Rounds: 1.25, Each: 200}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func measured(t *testing.T) []cost {
	t.Helper()
	costs, err := load("cost.json")
	if err != nil {
		t.Fatal(err)
	}
	return costs
}
