#!/usr/bin/env bash
# attributevalue 1.21.21 of the AWS SDK for Go v2 does not read some of what it writes, and
# leaves fields out without an error.
#
# One would expect that Unmarshal takes what Marshal has made of a value of the same type.
#   - The greatest float32 is written with the fewest digits that tell float32s apart. As a
#     float64 that number is above the greatest float32, so reading it is an overflow: the item
#     is stored, and cannot be read into its type any more.
#   - A field of type *any is left out, whatever it points to.
#   - Of two fields with one name in their tags, neither is stored. encoding/json does the
#     same, but go vet reports it there: it knows the tags json and xml only.
#
# Seen: attributevalue 1.21.21 with Go 1.26.
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
	"maps"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

func main() {
	type reading struct{ F float32 }
	item, err := attributevalue.MarshalMap(reading{math.MaxFloat32})
	fmt.Println("greatest float32 is written:", err == nil)
	fmt.Println("and read:", attributevalue.UnmarshalMap(item, new(reading)) == nil)

	var value any = "text"
	fmt.Println("attributes of a *any and a string:", names(struct {
		Pointer *any
		Text    string
	}{&value, "text"}))
	fmt.Println("attributes of two fields named id, and a string:", names(struct {
		ID    string `dynamodbav:"id"`
		Other string `dynamodbav:"id"`
		Text  string
	}{"1", "2", "text"}))
}

func names(v any) []string {
	item, err := attributevalue.MarshalMap(v)
	if err != nil {
		return []string{err.Error()}
	}
	return slices.Sorted(maps.Keys(item))
}
GO
GOFLAGS=-mod=mod GOWORK=off go get github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue@v1.21.21 2>/dev/null

diff - <(GOFLAGS=-mod=mod GOWORK=off go run . 2>/dev/null; GOFLAGS=-mod=mod GOWORK=off go vet . >/dev/null 2>&1 && echo "go vet says nothing") <<'EOT' && echo "as stated"
greatest float32 is written: true
and read: false
attributes of a *any and a string: [Text]
attributes of two fields named id, and a string: [Text]
go vet says nothing
EOT
