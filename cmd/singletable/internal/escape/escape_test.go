package escape_test

import (
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/escape"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Köln 東京 👍 e\u0301":   "Köln 東京 👍 e\u0301",
		"a\x00\x1b[31m":       `a\u0000\u001b[31m`,
		"a\xffb":              `a\xffb`,
		"a\nb\tc":             `a\nb` + "\tc",
		"\u202e\u2066\u200b":  `\u202e\u2066\u200b`,
		"\u00a0\u2028\ufeff":  `\u00a0\u2028\ufeff`,
		"\U000e0041":          `\udb40\udc41`,
		"👍\ufe0f\U000e0100":   `👍\ufe0f\udb40\udd00`,
		"\u115f\u3164\u034fx": `\u115f\u3164\u034fx`,
	} {
		if got := escape.Text(text, "\t"); got != want {
			t.Errorf("%+q: %s, want %s", text, got, want)
		}
	}
}
