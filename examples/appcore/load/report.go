package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// report writes a table of the servers, one of their endpoints, and the ratio of the
// first server to the second.
func report(out io.Writer, o options, servers []*server) {
	fmt.Fprintf(out, "%d clients, %d rounds by turns\n\n", o.clients, rounds)
	fmt.Fprintln(out, "| | requests | requests/s | p50 ms | p95 ms | p99 ms | errors |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, s := range servers {
		all := slices.Concat(slices.Collect(maps.Values(s.times))...)
		slices.Sort(all)
		fmt.Fprintf(out, "| %s | %d | %.0f | %.1f | %.1f | %.1f | %s |\n", s.name,
			len(all), float64(len(all))/s.elapsed.Seconds(),
			quantile(all, 50), quantile(all, 95), quantile(all, 99), faults(s.status))
	}
	head, line := "| p50 / p95 / p99 ms |", "|---|"
	for _, s := range servers {
		head, line = head+" "+s.name+" |", line+"---|"
	}
	fmt.Fprintf(out, "\n%s\n%s\n", head, line)
	for _, endpoint := range slices.Sorted(maps.Keys(servers[0].times)) {
		fmt.Fprintf(out, "| `%s` |", endpoint)
		for _, s := range servers {
			times := slices.Sorted(slices.Values(s.times[endpoint]))
			fmt.Fprintf(out, " %.1f / %.1f / %.1f |", quantile(times, 50), quantile(times, 95), quantile(times, 99))
		}
		fmt.Fprintln(out)
	}
	if len(servers) == 2 {
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = servers[0].rates[i] / servers[1].rates[i]
		}
		slices.Sort(ratios)
		fmt.Fprintf(out, "\n%s has %.2f of the throughput of %s (median of the rounds, %.2f to %.2f)\n",
			servers[0].name, ratios[rounds/2], servers[1].name, ratios[0], ratios[rounds-1])
	}
	fmt.Fprintln(out)
}

// quantile returns the time that so many percent of the sorted times are not above,
// in milliseconds.
func quantile(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[(len(sorted)*percent+99)/100-1].Microseconds()) / 1000
}

// faults returns the statuses that are errors, with their counts.
func faults(status map[int]int) string {
	var texts []string
	for _, code := range slices.Sorted(maps.Keys(status)) {
		switch {
		case code == 0:
			texts = append(texts, fmt.Sprintf("no response × %d", status[code]))
		case code/100 != 2:
			texts = append(texts, fmt.Sprintf("%d × %d", code, status[code]))
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "0")
}
