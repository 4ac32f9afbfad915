package shardcost

import (
	"os"
	"path/filepath"
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

// TestMeasured checks that everything was measured, and what the documentation
// says of it.
func TestMeasured(t *testing.T) {
	t.Parallel()
	costs, err := load("cost.json")
	if err != nil {
		t.Fatal(err)
	}
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
