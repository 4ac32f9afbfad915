package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// result is what an operation costs on a table of some items. Without a median it is
// about memory alone.
type result struct {
	items             int
	name              string
	low, median, high float64 // milliseconds
	units, requests   float64
}

// markdown returns the results as a table.
func markdown(results []result) string {
	var b strings.Builder
	b.WriteString("| items | operation | ms, median (10 % to 90 %) | units | requests |\n|---:|---|---:|---:|---:|\n")
	for _, r := range results {
		if r.median == 0 {
			fmt.Fprintf(&b, "| %d | %s | | | |\n", r.items, r.name)
			continue
		}
		fmt.Fprintf(&b, "| %d | %s | %.2f (%.2f to %.2f) | %.2f | %.2f |\n", r.items, r.name, r.median, r.low, r.high, r.units, r.requests)
	}
	return b.String()
}

// page is the page that has the table between its marks, and picture the picture.
const (
	page    = "docs/performance.md"
	picture = "docs/growth.svg"
	opening = "<!-- growth -->\n"
	closing = "<!-- /growth -->"
)

// save writes the page and the picture.
func save(results []result) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(opening))
	_, after, closed := bytes.Cut(rest, []byte(closing))
	if !ok || !closed {
		return fmt.Errorf("%s has no marks", page)
	}
	text = slices.Concat(before, []byte(opening+markdown(results)+closing), after)
	if err := os.WriteFile(page, text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(picture, draw(results), 0o644)
}

// The picture has a line for each operation: the median over the number of items, both
// on scales of powers of ten.
const (
	width, height           = 760, 440
	left, right, top, below = 64, 250, 56, 48
)

var colours = []string{"#2f81f7", "#e36209", "#2da44e", "#8957e5", "#bf3989", "#9a6700", "#0598bc", "#cf222e"}

func draw(results []result) []byte {
	var names []string
	var sizes []float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range results {
		if r.median == 0 {
			continue
		}
		if !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
		sizes = append(sizes, math.Log10(float64(r.items)))
		low, high = min(low, math.Floor(math.Log10(r.median))), max(high, math.Ceil(math.Log10(r.median)))
	}
	first, last := slices.Min(sizes), slices.Max(sizes)
	x := func(items float64) float64 {
		return left + (math.Log10(items)-first)/max(last-first, 1)*(width-left-right)
	}
	y := func(ms float64) float64 { return top + (high-math.Log10(ms))/(high-low)*(height-top-below) }

	var b bytes.Buffer
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" `+
		`aria-label="Time of operations by the number of items in the table">`, width, height, width, height)
	add(`<style>text{font-family:system-ui,sans-serif;font-size:12px;fill:#7d8590}.grid{stroke:#7d8590;stroke-opacity:.25}</style>`)
	add(`<text x="%d" y="24" style="font-size:16px;font-weight:600">Time of an operation, by the size of the table</text>`, left)
	add(`<text x="%d" y="42">median in milliseconds, client and local engine together</text>`, left)
	for exp := low; exp <= high; exp++ {
		ms := math.Pow(10, exp)
		add(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, left, y(ms), width-right, y(ms))
		add(`<text x="%d" y="%.1f" text-anchor="end">%g</text>`, left-8, y(ms)+4, ms)
	}
	slices.Sort(sizes)
	for _, size := range slices.Compact(sizes) {
		items := math.Pow(10, size)
		add(`<text x="%.1f" y="%d" text-anchor="middle">%.0f items</text>`, x(items), height-16, items)
	}
	ends := map[int]float64{} // labels must not meet
	for i, name := range names {
		var d strings.Builder
		var end float64
		for _, r := range results {
			if r.name != name {
				continue
			}
			letter := "L"
			if d.Len() == 0 {
				letter = "M"
			}
			end = y(r.median)
			fmt.Fprintf(&d, "%s%.1f %.1f", letter, x(float64(r.items)), end)
			add(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(float64(r.items)), end, colours[i%len(colours)])
		}
		add(`<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`, d.String(), colours[i%len(colours)])
		ends[i] = end
	}
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, ends[a]-ends[b])) })
	at := 0.0
	for _, i := range order {
		at = max(at+16, ends[i]+4)
		add(`<text x="%d" y="%.1f" style="fill:%s">%s</text>`, width-right+10, at, colours[i%len(colours)], names[i])
	}
	add("</svg>")
	return b.Bytes()
}
