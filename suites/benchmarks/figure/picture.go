package figure

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Picture is a grid of panels with lines. Colours and grey are such that it can be read
// on white and on black; the lines differ in more than colour.
type Picture struct {
	Title, Note string
	X           string    // what the horizontal scale is
	Base        float64   // all scales are logarithmic, with lines at its powers
	Width       float64   // of a panel
	Heights     []float64 // of the rows
	Rows        [][]Panel // the panels of a row have one vertical scale
}

// Panel is one diagram. Title is above it, and Note in its lower right corner.
type Panel struct {
	Title, Note string
	Lines       []Line
}

// Line joins points. Lines with the same place in their panels look the same; the
// legend has the names of the first panel.
type Line struct {
	Name   string
	Points [][2]float64
}

const (
	left, right, top, below = 64, 250, 84, 56
	gap                     = 14 // between columns
	rowGap                  = 44

	style = `text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:12px;fill:#7d8590}` +
		`.title{font-size:16px;font-weight:600}.head{font-size:13px;font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}` +
		`.grid{stroke:#7d8590;stroke-opacity:.25}.axis{stroke:#7d8590;stroke-opacity:.8}`
)

var colours = []string{"#2f81f7", "#e36209", "#2da44e", "#8957e5", "#bf3989", "#9a6700", "#0598bc", "#cf222e"}

// canvas collects the elements of a picture.
type canvas struct{ bytes.Buffer }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) text(x, y float64, class, text string) {
	c.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, text)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// curve draws the nth line of a panel, with a mark at each point.
func (c *canvas) curve(n int, points [][2]float64) {
	colour, dash := colours[n%len(colours)], ""
	if n%2 == 1 {
		dash = ` stroke-dasharray="6 4"`
	}
	var d strings.Builder
	for i, p := range points {
		fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], p[0], p[1])
	}
	c.add(`<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, d.String(), colour, dash)
	for _, p := range points {
		if n%2 == 1 {
			c.add(`<rect x="%.1f" y="%.1f" width="6" height="6" fill="%s"/>`, p[0]-3, p[1]-3, colour)
		} else {
			c.add(`<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`, p[0], p[1], colour)
		}
	}
}

// SVG draws the picture. The same picture gives the same bytes.
func (p Picture) SVG() []byte {
	c := &canvas{}
	width := left + float64(len(p.Rows[0]))*(p.Width+gap) + right
	height := top + float64(below-rowGap)
	for _, h := range p.Heights {
		height += h + rowGap
	}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`,
		width, height, width, height, p.Title)
	c.add("<style>%s</style>", style)
	c.text(left, 26, "title", p.Title)
	c.text(left, 46, "", p.Note)
	y := float64(top)
	for i, row := range p.Rows {
		x, vertical := p.horizontal(), p.scale(row, 1)
		for j, panel := range row {
			p.panel(c, panel, x, vertical, left+float64(j)*(p.Width+gap), y, p.Heights[i], j == 0)
		}
		y += p.Heights[i] + rowGap
	}
	c.text((left+width-right)/2, height-10, "mid", p.X)
	for i, l := range p.Rows[0][0].Lines {
		at := top + 8 + 20*float64(i)
		c.curve(i, [][2]float64{{width - right + 10, at}})
		c.text(width-right+22, at+4, "", l.Name)
	}
	c.add("</svg>")
	return c.Bytes()
}

// scale is a logarithmic scale: the exponents at its ends, and the values that lines
// have there.
type scale struct {
	low, high float64
	values    []float64
}

// scale returns the scale of the panels: of the horizontal axis (0) or the other one.
func (p Picture) scale(panels []Panel, axis int) scale {
	s := scale{low: math.Inf(1), high: math.Inf(-1)}
	for _, panel := range panels {
		for _, l := range panel.Lines {
			for _, point := range l.Points {
				exp := p.log(point[axis])
				s.low, s.high = min(s.low, math.Floor(exp)), max(s.high, math.Ceil(exp))
				s.values = append(s.values, point[axis])
			}
		}
	}
	s.high = max(s.high, s.low+1)
	slices.Sort(s.values)
	s.values = slices.Compact(s.values)
	return s
}

func (p Picture) horizontal() scale { return p.scale(slices.Concat(p.Rows...), 0) }

func (p Picture) log(v float64) float64 { return math.Log(v) / math.Log(p.Base) }

// panel draws one panel with its scales; labelled has numbers at the vertical one.
func (p Picture) panel(c *canvas, panel Panel, x, y scale, fromX, fromY, height float64, labelled bool) {
	atX := func(v float64) float64 {
		return fromX + 12 + (p.Width-24)*(p.log(v)-x.low)/(x.high-x.low)
	}
	atY := func(v float64) float64 { return fromY + height*(y.high-p.log(v))/(y.high-y.low) }
	c.text(fromX+p.Width/2, fromY-12, "head mid", panel.Title)
	for exp := y.low; exp <= y.high; exp++ {
		v := math.Pow(p.Base, exp)
		c.line("grid", fromX, atY(v), fromX+p.Width, atY(v))
		if labelled {
			c.text(fromX-8, atY(v)+4, "end", fmt.Sprintf("%g", v))
		}
	}
	c.line("axis", fromX, fromY+height, fromX+p.Width, fromY+height)
	for _, v := range x.values {
		c.line("axis", atX(v), fromY+height, atX(v), fromY+height+4)
		c.text(atX(v), fromY+height+18, "mid", fmt.Sprintf("%.0f", v))
	}
	for i := len(panel.Lines) - 1; i >= 0; i-- { // the first one on top
		var points [][2]float64
		for _, point := range panel.Lines[i].Points {
			points = append(points, [2]float64{atX(point[0]), atY(point[1])})
		}
		c.curve(i, points)
	}
	c.text(fromX+p.Width-4, fromY+height-10, "end", panel.Note)
}
