package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/table"
)

// valueText returns a value in one line for people: a text as printable shows it, a
// binary as base64, and what has parts as JSON. It has at most so many characters and
// an ellipsis.
func valueText(v types.AttributeValue, most int) string {
	switch p := codec.PartsOf(v); p.Kind {
	case codec.S:
		text, cut := shortened(p.Text, most)
		if quoted := strconv.Quote(text); len(quoted) != len(text)+2 || strings.TrimSpace(text) != text || text == "" {
			text = quoted
		}
		return text + cut
	case codec.N:
		return p.Text
	case codec.B:
		text, cut := shortened(base64.StdEncoding.EncodeToString(p.Bytes), most)
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
	switch p := codec.PartsOf(v); p.Kind {
	case codec.S:
		return p.Text
	case codec.N:
		return json.Number(p.Text)
	case codec.B:
		return p.Bytes
	case codec.BOOL:
		return p.Bool
	case codec.SS:
		return slices.Sorted(slices.Values(p.Texts))
	case codec.NS:
		set := make([]json.Number, len(p.Texts))
		for i, n := range p.Texts {
			set[i] = json.Number(n)
		}
		slices.Sort(set)
		return set
	case codec.BS:
		return slices.SortedFunc(slices.Values(p.Blobs), bytes.Compare)
	case codec.L:
		list := make([]any, len(p.List))
		for i, e := range p.List {
			list[i] = plainValue(e)
		}
		return list
	case codec.M:
		m := make(map[string]any, len(p.Map))
		for name, e := range p.Map {
			m[name] = plainValue(e)
		}
		return m
	}
	return nil
}

// expiry returns when an item expires. It is not ok if the item does not.
func expiry(schema table.Schema, item table.Item) (at time.Time, ok bool) {
	n, isNumber := item[schema.TTL].(*types.AttributeValueMemberN)
	if !isNumber || schema.TTL == "" {
		return at, false
	}
	seconds, err := strconv.ParseInt(n.Value, 10, 64)
	// Package time has no text for years of five digits.
	const most = 253402300799
	return time.Unix(seconds, 0).UTC(), err == nil && seconds > 0 && seconds <= most
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
