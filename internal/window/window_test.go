package window_test

import (
	"cmp"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/window"
	"github.com/singletable/singletable/keys"
)

func TestAfter(t *testing.T) {
	t.Parallel()
	between := keys.Range{From: "TX#3", To: "TX#7"}
	for name, tt := range map[string]struct {
		in                    keys.Range
		at                    keys.SK
		ascending, descending window.Rest
	}{
		"inside":                         {between, "TX#5", window.Part, window.Part},
		"at the first":                   {between, "TX#3", window.Part, window.Nothing},
		"at the last":                    {between, "TX#7", window.Nothing, window.Part},
		"at the only one":                {keys.Exactly("TX#3"), "TX#3", window.Nothing, window.Nothing},
		"below":                          {between, "TX#1", window.Whole, window.Nothing},
		"above":                          {between, "TX#9", window.Other, window.Whole},
		"below what has no end":          {keys.Range{From: "TX#3"}, "A", window.Whole, window.Nothing},
		"above what has no start":        {keys.Range{To: "TX#3"}, "USER", window.Other, window.Whole},
		"of another prefix":              {keys.Tx.All(), "USER#1", window.Other, window.Other},
		"without a segment of both ends": {between, "USER#1", window.Other, window.Other},
		"with the prefix":                {keys.Tx.All(), "TX#1", window.Part, window.Part},
		"all":                            {keys.Range{}, "TX#1", window.Part, window.Part},
		"above an empty range":           {keys.Range{From: "TX#7", To: "TX#3"}, "TX#9", window.Nothing, window.Nothing},
		"inside of an empty range":       {keys.Range{From: "TX#7", To: "TX#3"}, "TX#5", window.Nothing, window.Nothing},
		"below an empty range":           {keys.Range{From: "TX#7", To: "TX#3"}, "TX#1", window.Nothing, window.Nothing},
		"of another segment than empty":  {keys.Range{From: "TX#7", To: "TX#3"}, "USER#1", window.Nothing, window.Nothing},
	} {
		o := window.Order{Compare: cmp.Compare[keys.SK], Segments: true, Unique: true}
		expect.Equal(t, name, window.After(tt.in, tt.at, o), tt.ascending)
		o.Descending = true
		expect.Equal(t, name+", descending", window.After(tt.in, tt.at, o), tt.descending)
	}
	ties := window.Order{Compare: cmp.Compare[keys.SK]}
	expect.Equal(t, "at the last of several", window.After(between, "TX#7", ties), window.Part)
	expect.Equal(t, "segments that tell nothing", window.After(keys.Range{From: "TX#3", To: "TX#7"}, "A", ties), window.Whole)
}
