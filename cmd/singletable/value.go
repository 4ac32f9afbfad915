package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// kindOf returns the type of a value by its letters in DynamoDB.
func kindOf(v types.AttributeValue) string {
	kind, known := strings.CutPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
	if !known {
		return "?"
	}
	return kind
}

// valueText returns a value in one line for people: a text as printable shows it, a
// binary as base64, and what has parts as JSON. It has at most so many characters and
// an ellipsis.
func valueText(v types.AttributeValue, most int) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		text, cut := shortened(v.Value, most)
		return plainOrQuoted(text) + cut
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		text, cut := shortened(base64.StdEncoding.EncodeToString(v.Value), most)
		return text + cut
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plainValue(v)); err != nil {
		return "?" // Plain values have no other type than package json takes.
	}
	text, cut := shortened(strings.TrimSpace(b.String()), most)
	return text + cut
}

// shortened returns at most so many characters of a text, and what stands for the
// others.
func shortened(text string, most int) (begin, cut string) {
	if utf8.RuneCountInString(text) <= most {
		return text, ""
	}
	return string([]rune(text)[:most]), fmt.Sprintf("… (%d bytes)", len(text))
}

// plainValue returns a value as ordinary JSON has it. Numbers keep their digits.
func plainValue(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberSS:
		return slices.Sorted(slices.Values(v.Value))
	case *types.AttributeValueMemberNS:
		set := make([]json.Number, len(v.Value))
		for i, n := range v.Value {
			set[i] = json.Number(n)
		}
		slices.Sort(set)
		return set
	case *types.AttributeValueMemberBS:
		return slices.SortedFunc(slices.Values(v.Value), bytes.Compare)
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = plainValue(e)
		}
		return list
	case *types.AttributeValueMemberM:
		m := make(map[string]any, len(v.Value))
		for name, e := range v.Value {
			m[name] = plainValue(e)
		}
		return m
	}
	return nil
}

// columns writes rows whose cells but the last are aligned.
func columns(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
