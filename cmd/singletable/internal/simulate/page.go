package simulate

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

// Page writes the report as an HTML page, which loads nothing.
func (r Report) Page(w io.Writer) error {
	return page.Execute(w, struct {
		Report
		Words string
		Plots []plot
	}{r, r.Text(), r.plots()})
}

// plot is a line over the seconds of the simulation.
type plot struct {
	Title, Most, Last string
	Line              string // of an SVG path, 800 wide and 160 high
}

// plots returns those of the page: each access pattern that was refused has one, and each handler.
func (r Report) plots() []plot {
	all := []plot{
		r.plot("refused requests of patterns, a second", func(s Second) float64 { return s.Refused }),
		r.plot("the load, times today's", func(s Second) float64 { return s.Factor }),
		r.plot("read units, a second", func(s Second) float64 { return s.Taken.Read }),
		r.plot("write units, a second", func(s Second) float64 { return s.Taken.Write }),
		r.plot("partitions of the table and its indexes", func(s Second) float64 { return float64(s.Partitions) }),
	}
	for i, pattern := range r.Load.Patterns {
		p := r.plot("refused: "+pattern.Name+", a second", func(s Second) float64 { return s.ByPattern[i] })
		if p.Most != "0" {
			all = append(all, p)
		}
	}
	for i, h := range r.Load.Handlers {
		all = append(all, r.plot("the oldest record that waits for "+h.Name+", in seconds", func(s Second) float64 { return s.Handlers[i].Oldest }))
	}
	return all
}

func (r Report) plot(title string, value func(Second) float64) plot {
	const width, height = 800.0, 160.0
	most, last := 0.0, 1
	for _, s := range r.Seconds {
		most, last = math.Max(most, value(s)), max(last, s.Second)
	}
	var line strings.Builder
	for i, s := range r.Seconds {
		y := height - height*value(s)/math.Max(most, math.SmallestNonzeroFloat64)
		fmt.Fprintf(&line, "%c%.1f %.1f", "ML"[min(i, 1)], width*float64(s.Second)/float64(last), y)
	}
	return plot{title, number(most), number(float64(last)), line.String()}
}

// page needs no names but those of its report. Grey and blue can be read on white and on black.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Load.Name}}: simulated load</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; }
figure { margin: 2rem 0; }
svg { width: 100%; height: auto; overflow: visible; }
path { fill: none; stroke: #2f81f7; stroke-width: 2; }
line { stroke: #7d8590; stroke-opacity: .5; }
text { font-size: 13px; fill: #7d8590; }
</style>
</head>
<body>
<h1>{{.Load.Name}}</h1>
<pre>{{.Words}}</pre>
{{range .Plots}}<figure>
<figcaption>{{.Title}}; at most {{.Most}}</figcaption>
<svg viewBox="0 -8 800 190" role="img" aria-label="{{.Title}}, at most {{.Most}}">
<line x1="0" y1="0" x2="800" y2="0"/><line x1="0" y1="160" x2="800" y2="160"/>
<path d="{{.Line}}"/>
<text x="0" y="178">0 s</text><text x="800" y="178" text-anchor="end">{{.Last}} s</text>
</svg>
</figure>
{{end}}</body>
</html>
`))
