package shell_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/shell"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"-limit=3":       "-limit=3",
		"=ls":            "'=ls'",
		"":               "''",
		"USER#ana":       "'USER#ana'",
		"it's":           `'it'\''s'`,
		"$(rm -rf /)":    "'$(rm -rf /)'",
		"größe 1":        "'größe 1'",
		"a\x1b[31m'\\\n": `$'a\033[31m\'\\\012'`,
		"\u202eb\xff1":   `$'\342\200\256b\3771'`,
		"~root":          "'~root'",
	} {
		if diff := cmp.Diff(want, shell.Quote(word)); diff != "" {
			t.Errorf("%q: %s", word, diff)
		}
	}
}

// FuzzQuote gives lines to a shell. It gets the words that were quoted.
func FuzzQuote(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Fatalf("%v: install it with apt-get install -y bash", err)
	}
	f.Add("USER#ana", "it's $HOME `id` \\ \"x\" * ~")
	f.Add("\x1b\xff'1\n", "\u202e\ufffd7")
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.Contains(a+b, "\x00") {
			return // No argument of a program holds it.
		}
		line := shell.Quote(a, b)
		for _, r := range line {
			if r < ' ' || r == 0x7f {
				t.Errorf("%q holds a control character", line)
			}
		}
		out, err := exec.CommandContext(t.Context(), bash, "-c", `printf '%s\0' `+line).Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a+"\x00"+b+"\x00", string(out)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	})
}
