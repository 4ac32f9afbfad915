package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]string{
		0: "now", 999 * time.Millisecond: "now", time.Second: "1 s ago", -90 * time.Second: "in 1 min", 5 * time.Minute: "5 min ago",
		-2 * time.Hour: "in 2 h", 47 * time.Hour: "47 h ago", 72 * time.Hour: "3 days ago", 59 * 24 * time.Hour: "59 days ago",
		61 * 24 * time.Hour: "2 months ago", 729 * 24 * time.Hour: "23 months ago", 731 * 24 * time.Hour: "2 years ago", -1 << 63: "in 292 years",
	} {
		if got := distance(ago); got != want {
			t.Errorf("%v: %q, want %q", ago, got, want)
		}
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for number, want := range map[string]string{
		"1700007200": "expires in 2 h", "1699999700": "expired 5 min ago", "1700000000": "expired now",
		"1700007200.9": "expires in 2 h",
	} {
		e := expiryOf(table.Item{"ttl": &types.AttributeValueMemberN{Value: number}}, "ttl", now)
		if e == nil || e.String() != want {
			t.Errorf("%s: %v, want %q", number, e, want)
		}
	}
	for _, number := range []string{"-1", "1e300", "NaN", "x"} {
		if e := expiryOf(table.Item{"ttl": &types.AttributeValueMemberN{Value: number}}, "ttl", now); e != nil {
			t.Errorf("%s: %v", number, e)
		}
	}
	if e := expiryOf(table.Item{"ttl": &types.AttributeValueMemberS{Value: "1"}}, "ttl", now); e != nil {
		t.Errorf("a text: %v", e)
	}
}

// A type keeps its colour, whatever other types there are.
func TestHues(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for _, name := range []string{"USER", "ORDER", "SESSION"} {
		got[name] = newChip(name).Hue
	}
	if diff := cmp.Diff(map[string]int{"USER": 6, "ORDER": 11, "SESSION": 3}, got); diff != "" {
		t.Errorf("hues (-want +got):\n%s", diff)
	}
}

// FuzzText proves that no character is shown that a browser hides or obeys, and that
// nothing is lost but what is marked as cut.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "a\u202eb", "\xff\x00", strings.Repeat("é", 200), "line\nend\r\t"} {
		f.Add(s, 96)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 0), 1<<12)
		shown := newText(s, limit)
		if (shown.Bytes > 0) != (len(s) > limit) {
			t.Errorf("cut: %d of %d bytes at %d", shown.Bytes, len(s), limit)
		}
		var b strings.Builder
		for _, p := range shown.Pieces {
			if escaped(p.Text) != p.Text || p.Text == "" {
				t.Errorf("%q is shown as it is", p.Text)
			}
			b.WriteString(p.Text)
		}
		if shown.Bytes == 0 && b.String() != escaped(s) {
			t.Errorf("%q is shown as %q", s, b.String())
		}
	})
}

// FuzzJSON proves that the text of an item is JSON of this item.
func FuzzJSON(f *testing.F) {
	f.Add("name", "value")
	f.Add("S", "{\n\"S\": \"x\"\n}")
	f.Add("\u2028", "\x00\u202e\"}")
	f.Fuzz(func(t *testing.T, name, text string) {
		if !utf8.ValidString(name) || !utf8.ValidString(text) || name == "" || name == "S" {
			return // No item has such a text, or the name is that of the other attribute.
		}
		item := table.Item{name: &types.AttributeValueMemberM{Value: table.Item{
			name: &types.AttributeValueMemberS{Value: text}, "S": &types.AttributeValueMemberL{Value: []types.AttributeValue{}},
		}}}
		written := dynamoJSON(item)
		if escaped(strings.ReplaceAll(written, "\n", "")) != strings.ReplaceAll(written, "\n", "") || !json.Valid([]byte(written)) {
			t.Errorf("%q", written)
		}
		got, err := dynamojson.Decode(written)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := dynamoJSON(got), written; a != b {
			t.Errorf("%q became %q", b, a)
		}
		if v, ok := got[name].(*types.AttributeValueMemberM); !ok || v.Value[name].(*types.AttributeValueMemberS).Value != text {
			t.Errorf("%q is not in %q", text, written)
		}
	})
}

// A Scan promises no order, so that of a partition is made here.
func TestSortItems(t *testing.T) {
	t.Parallel()
	for kind, want := range map[types.ScalarAttributeType][]string{
		types.ScalarAttributeTypeS: {"-1.5", "10", "1e2", "9"}, types.ScalarAttributeTypeN: {"-1.5", "9", "10", "1e2"},
	} {
		var items []table.Item
		for _, sk := range []string{"9", "10", "1e2", "-1.5"} {
			var v types.AttributeValue = &types.AttributeValueMemberS{Value: sk}
			if kind == types.ScalarAttributeTypeN {
				v = &types.AttributeValueMemberN{Value: sk}
			}
			items = append(items, table.Item{"sk": v})
		}
		by := []schema.Attribute{{Name: "sk", Type: kind}}
		sortItems(by, items)
		var got []string
		for _, item := range items {
			sk, _ := values(item, by)
			got = append(got, sk...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
