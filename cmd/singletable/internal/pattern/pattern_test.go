package pattern_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

func TestSegmentsOfPatterns(t *testing.T) {
	t.Parallel()
	text := "$shop#customerid_{customerId:lower}#{{{a}.}}#{1}#x_{at:time}#"
	got := pattern.Split(text)
	want := []pattern.Segment{
		{Before: "$shop"},
		{Before: "customerid_", Name: "customerId", Form: "lower"},
		{Before: "{", Name: "a", After: ".}"},
		{Name: "1"},
		{Before: "x_", Name: "at", Form: "time"},
		{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"customerId", "a", "1", "at"}, pattern.Names(text)); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
	var again []string
	for _, s := range got {
		again = append(again, s.String())
	}
	if strings.Join(again, "#") != text {
		t.Errorf("written again: %q", again)
	}
	for segment, like := range map[string]bool{"customerid_": true, "customerid_x": true, "customerid": false, "x": false} {
		if got[1].Like(segment) != like {
			t.Errorf("%q is like %s: %v", segment, got[1], !like)
		}
	}
	if overlap := (pattern.Segment{Before: "aa", Name: "x", After: "aa"}); overlap.Like("aaa") {
		t.Error("text is before and after at once")
	}
}

// FuzzSplit takes apart what package tablemodel takes as a pattern, and makes the key of it.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"a#{b}", "{{{a}}}", "x{a:lower}#}}{{", "{1}#{{", "a{{{b:raw}}}c", "{a:20}x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		model := tablemodel.Model{Table: schema.Table{Name: "Table", SimpleKey: true}, Entities: []tablemodel.Entity{{Type: "T", Items: []tablemodel.Pattern{{PK: text}}}}}
		if model.Validate() != nil {
			return
		}
		var again, key []string
		known := true
		item := table.Item{}
		for _, s := range pattern.Split(text) {
			again = append(again, s.String())
			known = known && s.Constant()
			key = append(key, s.Before)
		}
		if strings.Join(again, "#") != text {
			t.Errorf("%q is written again as %q", text, again)
		}
		if made, err := model.Entities[0].Keys(item); known && (err != nil || string(made[0].PK) != strings.Join(key, "#")) {
			t.Errorf("%q makes %q, %v, want %q", text, made, err, key)
		}
	})
}
