// Package shardcost draws what it costs to read a page of a sharded index: with
// package shard, and by asking every shard for the whole page. It prints the
// numbers as a table in Markdown.
//
//	go run ./suites/benchmarks shardcost             # draw what was measured
//	go run ./suites/benchmarks shardcost -measure    # measure again, and draw
//
// Drawing is deterministic: the same data gives the same picture.
package shardcost

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"

	"github.com/singletable/singletable/suites/benchmarks/figure"
)

// Command draws, and measures first if its flag says so.
func Command(flags *flag.FlagSet) func(context.Context) error {
	again := flags.Bool("measure", false, "measure on a local engine first")
	data := flags.String("data", "suites/benchmarks/shardcost/cost.json", "the file of what was measured")
	picture := flags.String("svg", "shard/cost.svg", "the file of the picture")
	return func(ctx context.Context) error { return run(ctx, *again, *data, *picture) }
}

func run(ctx context.Context, again bool, data, picture string) error {
	if again {
		costs, err := measure(ctx)
		if err != nil {
			return err
		}
		if err := os.WriteFile(data, format(costs), 0o644); err != nil {
			return err
		}
	}
	costs, err := load(data)
	if err != nil {
		return err
	}
	if err := os.WriteFile(picture, draw(costs), 0o644); err != nil {
		return err
	}
	fmt.Print(markdown(costs))
	return nil
}

// cost is what a page of so many items costs over so many shards, on average.
type cost struct {
	Shards, Items int
	// Units and Rounds are those of the reader, Each the read units of asking
	// every shard for all the items, which is always one round.
	Units, Rounds, Each float64
}

// format returns the costs as JSON, one on a line.
func format(costs []cost) []byte {
	var b bytes.Buffer
	for i, c := range costs {
		line, _ := json.Marshal(c) // never fails
		fmt.Fprintf(&b, "%s\n\t%s", []string{"[", ","}[min(i, 1)], line)
	}
	return append(b.Bytes(), "\n]\n"...)
}

func load(data string) ([]cost, error) {
	text, err := os.ReadFile(data)
	if err != nil {
		return nil, err
	}
	var costs []cost
	if err := json.Unmarshal(text, &costs); err != nil {
		return nil, fmt.Errorf("%s: %w", data, err)
	}
	return costs, nil
}

// markdown returns the costs as a table.
func markdown(costs []cost) string {
	rows := [][]string{{"shards", "items", "shard.Reader", "rounds", "N from each shard", "ratio"}}
	for _, c := range costs {
		rows = append(rows, []string{
			strconv.Itoa(c.Shards), strconv.Itoa(c.Items), fmt.Sprintf("%.1f", c.Units),
			fmt.Sprintf("%.2f", c.Rounds), fmt.Sprintf("%.1f", c.Each), fmt.Sprintf("%.2f", c.Units/c.Each),
		})
	}
	return figure.Table("|---:|---:|---:|---:|---:|---:|", rows...)
}

// draw returns a picture with a column for each number of items, which has the read
// units over the number of shards above the rounds.
func draw(costs []cost) []byte {
	var units, rounds []figure.Panel
	for _, limit := range limits {
		reader, each := figure.Line{Name: "shard.Reader"}, figure.Line{Name: "all N items from each shard"}
		var many, one figure.Line
		ratio := ""
		for _, c := range costs {
			if c.Items != limit {
				continue
			}
			x := float64(c.Shards)
			reader.Points = append(reader.Points, [2]float64{x, c.Units})
			each.Points = append(each.Points, [2]float64{x, c.Each})
			many.Points = append(many.Points, [2]float64{x, c.Rounds})
			one.Points = append(one.Points, [2]float64{x, 1})
			ratio = fmt.Sprintf("1/%.1f at %d shards", c.Each/c.Units, c.Shards)
		}
		units = append(units, figure.Panel{Title: fmt.Sprintf("read units, N = %d", limit), Note: ratio, Lines: []figure.Line{reader, each}})
		rounds = append(rounds, figure.Panel{Title: "rounds", Lines: []figure.Line{many, one}})
	}
	return figure.Picture{
		Title: "What a page of a sharded index costs",
		Note:  "items of 1 KB, eventually consistent; average of 20 pages",
		X:     "number of shards; all scales are logarithmic",
		Base:  2, Width: 166, Heights: []float64{240, 66},
		Rows: [][]figure.Panel{units, rounds},
	}.SVG()
}
