package repotest

import (
	"strconv"
	"strings"
)

// anything is what a field of an interface holds.
const anything = "any"

// numbers has the bits of the numbers that a Go type holds exactly. Unsigned ones take one more
// in a signed type.
var numbers = map[string]struct{ signed, unsigned int }{
	"int8": {8, 7}, "int16": {16, 15}, "int32": {32, 31}, "int64": {64, 63},
	"uint8": {0, 8}, "uint16": {0, 16}, "uint32": {0, 32}, "uint64": {0, 64}, "uintptr": {0, 64},
	"float32": {25, 24}, "float64": {54, 53},
}

// fits reports whether a field holds all that another one has stored, as [repo.Form] describes
// them: the type of DynamoDB is the same, and the new field holds at least what the former did.
func fits(was, is string) bool {
	was, held, _ := strings.Cut(was, " ")
	now, holds, _ := strings.Cut(is, " ")
	switch {
	case is == anything:
		return was != ""
	case was != now || was == "":
		return false
	case held == holds, holds == "": // a text, a number or bytes of any length
		return true
	case held == "float32":
		return holds == "float64"
	case held == "float64":
		return false
	case held == "seconds", held == "milliseconds":
		return holds == "int64"
	}
	if n, ok := length(held); ok {
		m, array := length(holds)
		return array && was == "L" && m >= n
	}
	former, ok := numbers[held]
	bits := numbers[holds]
	if !ok {
		return false
	}
	if former.signed > 0 {
		return former.signed <= bits.signed
	}
	return former.unsigned <= bits.unsigned
}

// length returns the length of an array.
func length(form string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.Trim(form, "[]"))
	return n, err == nil && strings.HasPrefix(form, "[")
}
