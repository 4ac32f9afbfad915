// Command shardcost draws what it costs to read a page of a sharded index: with
// package shard, and by asking every shard for the whole page. It prints the
// numbers as a table in Markdown.
//
//	go run ./suites/benchmarks/shardcost             # draw what was measured
//	go run ./suites/benchmarks/shardcost -measure    # measure again, and draw
//
// Drawing is deterministic: the same data gives the same picture.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	measureAnew := flag.Bool("measure", false, "measure on a local engine first")
	data := flag.String("data", "suites/benchmarks/shardcost/cost.csv", "the file of what was measured")
	picture := flag.String("svg", "shard/cost.svg", "the file of the picture")
	flag.Parse()
	if err := run(*measureAnew, *data, *picture); err != nil {
		fmt.Fprintln(os.Stderr, "shardcost:", err)
		os.Exit(1)
	}
}

func run(measureAnew bool, data, picture string) error {
	if measureAnew {
		costs, err := measure(context.Background())
		if err != nil {
			return err
		}
		if err := os.WriteFile(data, formatCSV(costs), 0o644); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(data)
	if err != nil {
		return err
	}
	costs, err := parseCSV(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", data, err)
	}
	if err := os.WriteFile(picture, draw(costs), 0o644); err != nil {
		return err
	}
	fmt.Print(markdown(costs))
	return nil
}

// cost is what a page of limit items costs over so many shards, on average.
type cost struct {
	shards, limit int
	// units and rounds are those of the reader, each the read units of asking
	// every shard for limit items, which is always one round.
	units, rounds, each float64
}

var header = []string{"shards", "items", "reader read units", "reader rounds", "every shard read units"}

func formatCSV(costs []cost) []byte {
	var b bytes.Buffer
	b.WriteString(strings.Join(header, ",") + "\n")
	for _, c := range costs {
		fmt.Fprintf(&b, "%d,%d,%.2f,%.2f,%.2f\n", c.shards, c.limit, c.units, c.rounds, c.each)
	}
	return b.Bytes()
}

func parseCSV(in io.Reader) ([]cost, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = len(header)
	lines, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) < 2 {
		return nil, fmt.Errorf("no data")
	}
	var costs []cost
	for _, line := range lines[1:] {
		var numbers [5]float64
		for i, field := range line {
			if numbers[i], err = strconv.ParseFloat(field, 64); err != nil {
				return nil, err
			}
			if numbers[i] <= 0 {
				return nil, fmt.Errorf("%s %q is not positive", header[i], field)
			}
		}
		costs = append(costs, cost{int(numbers[0]), int(numbers[1]), numbers[2], numbers[3], numbers[4]})
	}
	return costs, nil
}

// markdown returns the costs as a table.
func markdown(costs []cost) string {
	var b strings.Builder
	b.WriteString("| shards | items | shard.Reader | rounds | N from each shard | ratio |\n|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range costs {
		fmt.Fprintf(&b, "| %d | %d | %.1f | %.2f | %.1f | %.2f |\n", c.shards, c.limit, c.units, c.rounds, c.each, c.units/c.each)
	}
	return b.String()
}
