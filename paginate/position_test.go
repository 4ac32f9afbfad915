package paginate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
)

// TestBudget pins the length of every cursor that an address has to hold.
func TestBudget(t *testing.T) {
	t.Parallel()
	pages := newCodec(t, nil)
	longest := paginate.Position{Values: []paginate.Value{ // The most that an index and its table allow.
		{Kind: paginate.String, Data: strings.Repeat("i", 1024)},
		{Kind: paginate.String, Data: strings.Repeat("p", 2048)},
		{Kind: paginate.String, Data: strings.Repeat("s", 1024)},
	}}
	tests := map[string]struct {
		codec    *paginate.Codec
		position paginate.Position
		want     int // characters
		budget   int
	}{
		"transaction":  {pages, txPosition, 74, 116},
		"on the index": {pages, indexPosition, 99, 116},
		"metadata":     {pages, metadataPosition, 95, 116},
		"watermark":    {pages.Watermarks(), watermark, 70, 88},
		"longest":      {pages, longest, 5519, 8192},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cursor := seal(t, tt.codec, tt.position, scope)
			if len(cursor) != tt.want || len(cursor) > tt.budget {
				t.Errorf("%d characters, want %d of at most %d", len(cursor), tt.want, tt.budget)
			}
			checkOpens(t, tt.codec, cursor, scope, tt.position)
		})
	}
}

func TestSealRefusesImpossiblePositions(t *testing.T) {
	t.Parallel()
	number := func(s string) paginate.Value { return paginate.Value{Kind: paginate.Number, Data: s} }
	ok := paginate.Value{Kind: paginate.String, Data: "TX#1"}
	tests := map[string]struct {
		position paginate.Position
		value    int
		rule     string
	}{
		"empty":            {paginate.Position{}, -1, "no values"},
		"no kind":          {paginate.Position{Values: []paginate.Value{{}}}, 0, "unknown kind"},
		"unknown kind":     {paginate.Position{Values: []paginate.Value{ok, {Kind: 'M', Data: "x"}}}, 1, "unknown kind"},
		"invalid UTF-8":    {paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: "a\xff"}}}, 0, "not valid UTF-8"},
		"no digits":        {paginate.Position{Values: []paginate.Value{number("")}}, 0, "not a decimal number"},
		"sign alone":       {paginate.Position{Values: []paginate.Value{number("-")}}, 0, "not a decimal number"},
		"plus":             {paginate.Position{Values: []paginate.Value{number("+1")}}, 0, "not a decimal number"},
		"no integer part":  {paginate.Position{Values: []paginate.Value{number(".5")}}, 0, "not a decimal number"},
		"no fraction part": {paginate.Position{Values: []paginate.Value{number("1.")}}, 0, "not a decimal number"},
		"empty exponent":   {paginate.Position{Values: []paginate.Value{number("1e")}}, 0, "not a decimal number"},
		"signed exponent":  {paginate.Position{Values: []paginate.Value{number("1E+")}}, 0, "not a decimal number"},
		"space":            {paginate.Position{Values: []paginate.Value{number(" 1")}}, 0, "not a decimal number"},
		"hexadecimal":      {paginate.Position{Values: []paginate.Value{number("0x10")}}, 0, "not a decimal number"},
		"infinity":         {paginate.Position{Values: []paginate.Value{number("Infinity")}}, 0, "not a decimal number"},
		"other digits":     {paginate.Position{Values: []paginate.Value{ok, ok, number("١٢")}}, 2, "not a decimal number"},
		"too long": {
			paginate.Position{Values: []paginate.Value{{Kind: paginate.Binary, Data: strings.Repeat("x", 6200)}}},
			-1, "the cursor would be longer than 8,192 characters",
		},
	}
	for format, c := range codecs(t) {
		for name, tt := range tests {
			t.Run(format+"/"+name, func(t *testing.T) {
				t.Parallel()
				cursor, err := c.Seal(tt.position, scope)
				if cursor != "" || !errors.Is(err, keys.ErrInvalid) || errors.Is(err, paginate.ErrInvalidCursor) {
					t.Fatalf("Seal = %q, %v; want an invalid position", cursor, err)
				}
				want := "paginate: invalid position: " + tt.rule
				if tt.value >= 0 {
					want = fmt.Sprintf("paginate: invalid position: value %d: %s", tt.value, tt.rule)
				}
				if err.Error() != want {
					t.Errorf("Seal: %v, want %s", err, want)
				}
			})
		}
	}
}

// TestLengthLimit finds the longest value that is sealed, so that the limits
// of Seal and Open cannot come apart.
func TestLengthLimit(t *testing.T) {
	t.Parallel()
	for format, c := range codecs(t) {
		longest := 0
		for size := 6000; size <= 6200; size++ {
			p := paginate.Position{Values: []paginate.Value{{Kind: paginate.Binary, Data: strings.Repeat("x", size)}}}
			cursor, err := c.Seal(p, scope)
			if err != nil {
				break
			}
			longest = len(cursor)
			if _, err := c.Open(cursor, scope); err != nil {
				t.Fatalf("%s: a cursor of %d characters was sealed and is not opened: %v", format, longest, err)
			}
		}
		if longest != 8192 {
			t.Errorf("%s: longest cursor has %d characters, want 8192", format, longest)
		}
	}
}
