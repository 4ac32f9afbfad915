package singletable_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
)

// markdown returns the Markdown files of the repository, and llms.txt.
func markdown(t *testing.T) []string {
	t.Helper()
	files := []string{"llms.txt"}
	expect.OK(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata"):
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(path) == ".md":
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	}))
	return files
}

// document is what of a Markdown file counts for links.
type document struct {
	links   []string
	anchors []string
}

var (
	fenced  = regexp.MustCompile("(?ms)^ {0,3}```.*?^ {0,3}```")
	span    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(\s*<?([^()\s>]*(?:\([^()\s]*\)[^()\s]*)*)>?(?:\s+"[^"]*")?\s*\)`)
	defined = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s*(\S+)`)
	source  = regexp.MustCompile(`(?:href|src|srcset)="([^"]+)"`)
	named   = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	text    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	other   = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_\- ]`)
)

func parse(markdown string) document {
	body := fenced.ReplaceAllString(markdown, "")
	var d document
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(body, -1) {
		name := strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(text.ReplaceAllString(m[1], "$1")), ""), " ", "-")
		anchor := name
		if n := seen[name]; n > 0 {
			anchor = fmt.Sprintf("%s-%d", name, n)
		}
		seen[name]++
		d.anchors = append(d.anchors, anchor)
	}
	for _, m := range named.FindAllStringSubmatch(body, -1) {
		d.anchors = append(d.anchors, m[1])
	}
	prose := span.ReplaceAllString(body, "x")
	for _, of := range []*regexp.Regexp{link, defined, source} {
		for _, m := range of.FindAllStringSubmatch(prose, -1) {
			d.links = append(d.links, m[1])
		}
	}
	return d
}

const pkgsite = "https://pkg.go.dev/github.com/singletable/singletable"

// broken returns why a link of a file leads nowhere, or "". Links to other sites are not
// looked at, but for those to our packages.
func broken(t *testing.T, file, to string, documents map[string]document) string {
	t.Helper()
	if path, ours := strings.CutPrefix(to, pkgsite); ours {
		path, _, _ = strings.Cut(strings.TrimPrefix(path, "/"), "#")
		if sources, _ := filepath.Glob(filepath.Join(path, "*.go")); len(sources) == 0 {
			return "there is no such package"
		}
		return ""
	}
	u, err := url.Parse(to)
	if err != nil {
		return err.Error()
	}
	if u.IsAbs() || u.Host != "" {
		return ""
	}
	target := file
	if u.Path != "" {
		target = filepath.ToSlash(filepath.Join(filepath.Dir(file), u.Path))
	}
	if _, err := os.Stat(target); err != nil || strings.HasPrefix(target, "..") {
		return "there is no such file"
	}
	if u.Fragment == "" {
		return ""
	}
	d, isDocument := documents[target]
	if !isDocument {
		return "only a Markdown file has anchors"
	}
	if !slices.Contains(d.anchors, u.Fragment) {
		return "there is no such heading"
	}
	return ""
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	documents := map[string]document{}
	for _, file := range markdown(t) {
		documents[file] = parse(string(expect.Value(os.ReadFile(file))(t)))
	}
	count := 0
	for file, d := range documents {
		for _, to := range d.links {
			count++
			if why := broken(t, file, to, documents); why != "" {
				t.Errorf("%s: %s: %s", file, to, why)
			}
		}
	}
	if len(documents) < 35 || count < 300 {
		t.Errorf("%d files with %d links", len(documents), count)
	}
}

// A link of a name to a Go file leads to its declaration.
func TestLinksOfNamesLeadToDeclarations(t *testing.T) {
	t.Parallel()
	links := regexp.MustCompile("\\[`(\\w+)`\\]\\(([\\w/]+\\.go)\\)").FindAllStringSubmatch(string(expect.Value(os.ReadFile("CONTRIBUTING.md"))(t)), -1)
	if len(links) < 30 {
		t.Errorf("%d links of names", len(links))
	}
	for _, m := range links {
		declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + m[1] + `[\[(]`)
		if !declared.Match(expect.Value(os.ReadFile(m[2]))(t)) {
			t.Errorf("%s does not declare %s", m[2], m[1])
		}
	}
}

// The check finds what it is for.
func TestABrokenLinkIsFound(t *testing.T) {
	t.Parallel()
	documents := map[string]document{
		"README.md": parse("# A `b` & [c](d)\n\n## Same\n\n## Same\n\n```md\n# none\n[x](none.md)\n```\n`[x](none)` <a id=\"here\"></a>"),
	}
	expect.Equal(t, "links", documents["README.md"].links, []string{"d"})
	for to, want := range map[string]string{
		"#a-b--c": "", "#same": "", "#same-1": "", "#here": "", "go.mod": "", "docs/": "", "https://example.com/x": "",
		pkgsite + "/repo#Repo": "", pkgsite: "", pkgsite + "/none": "there is no such package",
		"#none": "there is no such heading", "#same-2": "there is no such heading",
		"none.md": "there is no such file", "../README.md": "there is no such file", "go.mod#x": "only a Markdown file has anchors",
	} {
		expect.Equal(t, to, broken(t, "README.md", to, documents), want)
	}
}
