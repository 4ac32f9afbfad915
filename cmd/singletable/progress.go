package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
)

// progress shows how far a job is: in one line that changes on a terminal, in a line
// every ten seconds elsewhere. It is used by one goroutine at a time.
type progress struct {
	w        io.Writer
	terminal bool
	begun    time.Time
	next     time.Time
	shown    bool
}

func (p *program) progress() *progress {
	now := time.Now()
	g := &progress{w: p.stderr, begun: now, next: now.Add(10 * time.Second)}
	if e, ok := p.stderr.(escaper); ok {
		if f, ok := e.w.(*os.File); ok {
			info, err := f.Stat()
			if g.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0; g.terminal {
				g.w, g.next = f, now // Its own control characters are not escaped.
			}
		}
	}
	return g
}

// show shows a text of the program's own, and done, the part of the job that is done,
// if that is known, as of was at the beginning of this process.
func (g *progress) show(text string, was, done float64) {
	now := time.Now()
	if now.Before(g.next) {
		return
	}
	if done > 0 {
		text += fmt.Sprintf(", %.0f %%", 100*min(done, 0.99))
		if step := done - was; step > 0 && done < 1 {
			left := time.Duration(float64(now.Sub(g.begun)) * (1 - done) / step)
			text += fmt.Sprintf(", %v left", left.Round(time.Second))
		}
	}
	if !g.terminal {
		g.next = now.Add(10 * time.Second)
		fmt.Fprintln(g.w, text)
		return
	}
	g.next, g.shown = now.Add(200*time.Millisecond), true
	fmt.Fprintf(g.w, "\r%s\x1b[K", text)
}

// end removes the line from the terminal.
func (g *progress) end() {
	if g.shown {
		fmt.Fprint(g.w, "\r\x1b[K")
	}
}

// spentText says what a job has done, and what it took.
func spentText(items int64, units float64, unit string, seconds float64) string {
	took := time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond)
	return fmt.Sprintf("%s, %s, %v\n", quantity.Of(items, "item"), quantity.Of(math.Ceil(units), unit), took)
}
