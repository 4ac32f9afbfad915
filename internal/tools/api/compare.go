package main

import (
	"fmt"
	"slices"
	"strings"
)

// compare returns the lines that differ between two listings, and what that
// means for callers; nothing if they are equal.
func compare(before, after []string) string {
	var b strings.Builder
	breaks := false
	for _, line := range before {
		if !slices.Contains(after, line) {
			breaks = true
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			breaks = breaks || grows(before, line)
			fmt.Fprintf(&b, "+ %s\n", line)
		}
	}
	if breaks {
		b.WriteString("Callers can break: something was removed or changed, or an interface has grown.\n")
	}
	return b.String()
}

// grows reports whether a new line adds a method to an interface that callers may
// have implemented.
func grows(before []string, line string) bool {
	owner, _, ok := strings.Cut(line, " interface, ")
	return ok && slices.Contains(before, owner+" interface") && !slices.Contains(before, owner+" interface, unexported methods")
}
