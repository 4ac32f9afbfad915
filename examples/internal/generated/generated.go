// Package generated keeps those parts of Markdown files true that are made of
// something else: pictures of tables, and code. A test makes a part and compares
// it with the file; with the flag -update it writes the file. A part stands
// between two comments that name it:
//
//	<!-- stored: go generate ./... -->
//	<!-- /stored -->
package generated

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update: tests write the files that they otherwise compare with.
var Update = flag.Bool("update", false, "update generated parts of Markdown files, and golden files")

// writing keeps tests that run in parallel from writing one file at once.
var writing sync.Mutex

// Part compares the part of that name in a Markdown file with text. It fails the
// test if they differ or if there is no such part.
func Part(tb testing.TB, path, name, text string) {
	tb.Helper()
	writing.Lock()
	defer writing.Unlock()
	file, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	before, got, after, err := cut(string(file), name)
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	want := "\n" + strings.TrimSpace(text) + "\n\n"
	if got == want {
		return
	}
	if !*Update {
		tb.Errorf("%s: the part %q is stale; make docs updates it (-file +made):\n%s", path, name, cmp.Diff(got, want))
		return
	}
	if err := os.WriteFile(path, []byte(before+want+after), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// File compares a whole file with text. It fails the test if they differ.
func File(tb testing.TB, path, text string) {
	tb.Helper()
	if *Update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	have, want := strings.Split(string(file), "\n"), strings.Split(text, "\n")
	for i := range max(len(have), len(want)) {
		if i >= len(have) || i >= len(want) || have[i] != want[i] {
			tb.Errorf("%s is not as it would be made, from line %d on; make docs updates it (-file +made):\n%s", path, i+1,
				cmp.Diff(have[min(i, len(have)):min(i+1, len(have))], want[min(i, len(want)):min(i+1, len(want))]))
			return
		}
	}
}

// Quoted compares a whole file with text, as [File] does, and fails the test unless text and a
// Markdown page have says: a reader of the page who meets the text finds it there.
func Quoted(tb testing.TB, page, says, path, text string) {
	tb.Helper()
	File(tb, path, text)
	read, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(text, says) || !strings.Contains(string(read), "`"+says+"`") {
		tb.Errorf("%s and %s do not both have %q", path, page, says)
	}
}

// cut returns what is between the comments of a part, and what is around it, the
// comments included.
func cut(file, name string) (before, part, after string, err error) {
	open := regexp.MustCompile(`(?m)^<!-- ` + regexp.QuoteMeta(name) + `(:.*)? -->\n`)
	at := open.FindAllStringIndex(file, -1)
	if len(at) != 1 {
		return "", "", "", fmt.Errorf("%d parts are called %q", len(at), name)
	}
	part, after, found := strings.Cut(file[at[0][1]:], "<!-- /"+name+" -->\n")
	if !found {
		return "", "", "", fmt.Errorf("the part %q has no end", name)
	}
	return file[:at[0][1]], part, "<!-- /" + name + " -->\n" + after, nil
}
