package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// The picture has a column for each number of items. Its upper panel has the
// read units over the number of shards, both on scales that double, its lower
// panel the rounds. Colours and grey are such that it can be read on white and
// on black; the lines differ in more than colour.
const (
	width, height = 960, 500
	left, right   = 64, 12
	gap           = 14 // between columns
	top           = 96
	unitsHeight   = 240
	roundsTop     = top + unitsHeight + 44
	roundsHeight  = 66

	ours   = "#2f81f7"
	theirs = "#e36209"
	grey   = "#7d8590"
)

const style = `text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:12px;fill:` + grey + `}
.title{font-size:16px;font-weight:600}.head{font-size:13px;font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}
.grid{stroke:` + grey + `;stroke-opacity:.25}.axis{stroke:` + grey + `;stroke-opacity:.8}
.ours{stroke:` + ours + `;fill:none;stroke-width:2.5}.theirs{stroke:` + theirs + `;fill:none;stroke-width:2;stroke-dasharray:6 4}
.dot{fill:` + ours + `}.square{fill:` + theirs + `}.ratio{fill:` + ours + `;font-weight:600}
`

// canvas collects the elements of the picture.
type canvas struct{ bytes.Buffer }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) text(x, y float64, class, text string) {
	c.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, text)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (c *canvas) path(class string, points [][2]float64) {
	var d bytes.Buffer
	for i, p := range points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", letter, p[0], p[1])
	}
	c.add(`<path class="%s" d="%s"/>`, class, d.String())
}

// draw returns the picture as SVG.
func draw(costs []cost) []byte {
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" `+
		`aria-label="Read units and rounds of a page of a sharded index, by number of items and shards">`, width, height, width, height)
	c.add("<style>%s</style>", style)
	c.text(left, 26, "title", "What a page of a sharded index costs")
	c.line("ours", left, 49, left+34, 49)
	c.add(`<circle class="dot" cx="%d" cy="49" r="3.5"/>`, left+17)
	c.text(left+42, 53, "", "shard.Reader")
	c.line("theirs", left+150, 49, left+184, 49)
	c.add(`<rect class="square" x="%d" y="46" width="6" height="6"/>`, left+164)
	c.text(left+192, 53, "", "all N items from each shard")
	c.text(width-right, 53, "end", "items of 1 KB, eventually consistent; average of 20 pages")

	f := newFrame(costs)
	for i, limit := range f.limits {
		f.column(c, i, limit, slices.DeleteFunc(slices.Clone(costs), func(c cost) bool { return c.limit != limit }))
	}
	c.add(`<text class="mid" transform="translate(16 %d) rotate(-90)">read units, log scale</text>`, top+unitsHeight/2)
	c.add(`<text class="mid" transform="translate(16 %d) rotate(-90)">rounds</text>`, roundsTop+roundsHeight/2)
	c.text((left+width-right)/2, height-10, "mid", "number of shards, log scale")
	c.add("</svg>")
	return c.Bytes()
}

// frame maps costs to places in the picture.
type frame struct {
	limits, shards []int
	low, high      float64 // powers of two around all read units
	column1        float64 // width of a column
}

func newFrame(costs []cost) frame {
	f := frame{low: math.Inf(1), high: math.Inf(-1)}
	for _, c := range costs {
		f.limits, f.shards = append(f.limits, c.limit), append(f.shards, c.shards)
		f.low = min(f.low, math.Floor(math.Log2(min(c.units, c.each))))
		f.high = max(f.high, math.Ceil(math.Log2(max(c.units, c.each))))
	}
	slices.Sort(f.limits)
	slices.Sort(f.shards)
	f.limits, f.shards = slices.Compact(f.limits), slices.Compact(f.shards)
	f.column1 = (width - left - right + gap) / float64(len(f.limits))
	return f
}

func (f frame) x(column int, shards int) float64 {
	last := math.Log2(float64(f.shards[len(f.shards)-1]))
	inside := (f.column1 - gap - 24) * math.Log2(float64(shards)) / max(last, 1)
	return left + float64(column)*f.column1 + 12 + inside
}

func (f frame) unitsY(units float64) float64 {
	return top + unitsHeight*(f.high-math.Log2(units))/(f.high-f.low)
}

// roundsY has 1 a little above the bottom and 2 at the top.
func roundsY(rounds float64) float64 {
	return roundsTop + roundsHeight - 6 - (rounds-1)*(roundsHeight-6)
}

func (f frame) column(c *canvas, column, limit int, costs []cost) {
	from := left + float64(column)*f.column1
	to := from + f.column1 - gap
	c.text((from+to)/2, top-12, "head mid", fmt.Sprintf("N = %d items", limit))
	for exp := f.low; exp <= f.high; exp++ {
		y := f.unitsY(math.Exp2(exp))
		c.line("grid", from, y, to, y)
		if column == 0 && int(exp-f.low)%2 == 0 {
			c.text(from-8, y+4, "end", fmt.Sprintf("%g", math.Exp2(exp)))
		}
	}
	for _, rounds := range []float64{1, 1.5, 2} {
		c.line("grid", from, roundsY(rounds), to, roundsY(rounds))
		if column == 0 && rounds != 1.5 {
			c.text(from-8, roundsY(rounds)+4, "end", fmt.Sprintf("%g", rounds))
		}
	}
	c.line("axis", from, top+unitsHeight, to, top+unitsHeight)
	c.line("axis", from, roundsTop+roundsHeight, to, roundsTop+roundsHeight)
	for i, shards := range f.shards {
		x := f.x(column, shards)
		c.line("axis", x, top+unitsHeight, x, top+unitsHeight+4)
		c.line("axis", x, roundsTop+roundsHeight, x, roundsTop+roundsHeight+4)
		if i%2 == 0 {
			c.text(x, roundsTop+roundsHeight+18, "mid", fmt.Sprint(shards))
			c.text(x, top+unitsHeight+18, "mid", fmt.Sprint(shards))
		}
	}
	f.lines(c, column, costs)
}

func (f frame) lines(c *canvas, column int, costs []cost) {
	var reader, each, rounds, one [][2]float64
	for _, v := range costs {
		x := f.x(column, v.shards)
		reader = append(reader, [2]float64{x, f.unitsY(v.units)})
		each = append(each, [2]float64{x, f.unitsY(v.each)})
		rounds = append(rounds, [2]float64{x, roundsY(v.rounds)})
		one = append(one, [2]float64{x, roundsY(1)})
	}
	for _, paths := range [][2][][2]float64{{each, reader}, {one, rounds}} {
		c.path("theirs", paths[0])
		for _, p := range paths[0] {
			c.add(`<rect class="square" x="%.1f" y="%.1f" width="6" height="6"/>`, p[0]-3, p[1]-3)
		}
		c.path("ours", paths[1])
		for _, p := range paths[1] {
			c.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="3.5"/>`, p[0], p[1])
		}
	}
	// No line comes down to this corner.
	last := costs[len(costs)-1]
	c.text(f.x(column, last.shards)+4, top+unitsHeight-10, "ratio end",
		fmt.Sprintf("1/%.1f at %d shards", last.each/last.units, last.shards))
}
