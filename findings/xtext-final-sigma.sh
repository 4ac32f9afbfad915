#!/usr/bin/env bash
# golang.org/x/text v0.43.0 and Node 20 disagree about the lower case of a Greek word.
#
# Libraries in JavaScript (ElectroDB among them) lower the case of what keys are made of. A Go
# program that makes the same keys cannot use strings.ToLower, which knows no final sigma, and
# one would expect cases.Lower(language.Und) to be the full algorithm of Unicode, as
# String.prototype.toLowerCase is. It is not: whether a sigma is the last letter of its word
# depends on what follows, across any number of characters such as apostrophes. cases.Lower
# looks ahead a bounded distance only, and then takes the sigma for the last letter. So the two
# give different texts, and the key is another one.
#
# Seen: golang.org/x/text v0.43.0 with Go 1.26, Node 20.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"

cat >go.mod <<'MOD'
module seen

go 1.26
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

func main() {
	for _, n := range []int{0, 1, 40} {
		word := "\u0391\u03a3" + strings.Repeat("'", n) + "\u0392"
		fmt.Printf("%d: %+q %+q\n", n, []rune(cases.Lower(language.Und).String(word))[1], []rune(strings.ToLower(word))[1])
	}
}
GO
GOFLAGS=-mod=mod GOWORK=off go get golang.org/x/text@v0.43.0 2>/dev/null

diff - <(echo 'cases.Lower, strings.ToLower'; GOFLAGS=-mod=mod GOWORK=off go run .
	echo 'String.prototype.toLowerCase'
	node -e 'for (const n of [0, 1, 40]) console.log(n + ": " + ("\u0391\u03a3" + "\u0027".repeat(n) + "\u0392").toLowerCase().charCodeAt(1).toString(16))') <<'EOT' && echo "as stated"
cases.Lower, strings.ToLower
0: '\u03c3' '\u03c3'
1: '\u03c3' '\u03c3'
40: '\u03c2' '\u03c3'
String.prototype.toLowerCase
0: 3c3
1: 3c3
40: 3c3
EOT
