// Package quantity writes numbers for people.
package quantity

import (
	"fmt"
	"strings"
)

// Of returns a number as [Grouped] does, with its noun.
func Of[N int | int64 | float64](n N, noun string) string {
	text := Grouped(n)
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case text == "1":
	case isY && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o"):
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return text + " " + noun
}

// Grouped returns a number with commas between thousands, and one decimal unless that
// is 0.
func Grouped[N int | int64 | float64](n N) string {
	whole, decimal, _ := strings.Cut(fmt.Sprintf("%.1f", float64(n)), ".")
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if decimal != "0" {
		b.WriteString("." + decimal)
	}
	return b.String()
}
