package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const checkPage = "../../docs/check.md"

// checkLoad is a load of the schema file of the page.
const checkLoad = `{"name": "Posts", "storedGB": 20, "keys": {"all": {"count": 1, "sortKeys": "growing"}, "post": {"count": 1000}},
"patterns": [{"name": "publish", "rate": 1, "requests": [
  {"op": "write", "keys": "post", "indexes": [{"in": "byTime", "keys": "all"}]}, {"op": "query", "in": "byTime", "keys": "all"}]}]}`

// checkFiles writes the files of the page.
func checkFiles(t *testing.T) (page, dir string) {
	t.Helper()
	text, err := os.ReadFile(checkPage)
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(string(text))[1]
	former := regexp.MustCompile(`(?s),\s+"indexes": \{.*?\}\s+\}`).ReplaceAllString(file, "")
	former = regexp.MustCompile(`(?s)\s+"indexes": \[.*?\],`).ReplaceAllString(former, "")
	accepted := strings.Replace(file, `"Posts",`,
		`"Posts", "accepted": [{"id": "hot-partition-key", "place": "entity POST, index byTime", "reason": "one a minute"}],`, 1)
	dir = t.TempDir()
	for name, text := range map[string]string{
		"schema.json": file, "main.json": former, "load.json": checkLoad, "accepted.json": accepted,
		"other.json":    strings.ReplaceAll(file, "byTime", "other"),
		"unknown.json":  strings.Replace(accepted, "hot-partition-key", "hot-key", 1),
		"noreason.json": strings.Replace(accepted, "one a minute", "", 1),
		"hot.json":      strings.Replace(checkLoad, `"rate": 1,`, `"rate": 1001,`, 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return string(text), dir
}

// inDir runs a command line whose files are in a directory, and returns what it prints without it.
func inDir(t *testing.T, dir string, env map[string]string, line string) result {
	t.Helper()
	args := strings.Fields(line)
	for i, arg := range args {
		if strings.HasSuffix(arg, ".json") {
			args[i] = filepath.Join(dir, arg)
		}
	}
	got := run(t, env, "", args...)
	got.stdout = strings.ReplaceAll(got.stdout, dir+string(filepath.Separator), "")
	return got
}

// The page has the output of its commands. With -update the test writes it.
func TestCheckPage(t *testing.T) {
	t.Parallel()
	page, dir := checkFiles(t)
	made := regexp.MustCompile("(?s)```console\n\\$ singletable ([^\n]*)\n.*?```").ReplaceAllStringFunc(page, func(block string) string {
		line, _, _ := strings.Cut(strings.TrimPrefix(block, "```console\n$ singletable "), "\n")
		return "```console\n$ singletable " + line + "\n" + inDir(t, dir, nil, line).stdout + "```"
	})
	if *update {
		if err := os.WriteFile(checkPage, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := gocmp.Diff(made, page); diff != "" {
		t.Errorf("run go test -run TestCheckPage -update (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	_, dir := checkFiles(t)
	workflow := map[string]string{"GITHUB_ACTIONS": "true"}
	const hot = "::error file=schema.json,line=15,title=hot-partition-key::entity POST, index byTime: All writes of POST"
	for line, tt := range map[string]struct {
		env  map[string]string
		code int
		says string
		not  string
	}{
		"check schema.json":                                {nil, exitNo, "hot-partition-key: entity POST, index byTime (schema.json:15)", "::"},
		"check  schema.json":                               {workflow, exitNo, hot, "%"},
		"check -annotations schema.json":                   {nil, exitNo, hot, "%"},
		"check -json schema.json":                          {workflow, exitNo, `"line": 15`, "::"},
		"check accepted.json":                              {nil, exitYes, "  hot-partition-key: entity POST, index byTime: one a minute", "Do:"},
		"check -load load.json schema.json":                {nil, exitYes, "Posts: 0 findings, 0 accepted", "Do:"},
		"check -load load.json accepted.json":              {nil, exitYes, "Posts: 0 findings, 0 accepted", "stale"},
		"check -load hot.json schema.json":                 {nil, exitNo, `keys "all" in index byTime (hot.json:1)`, ""},
		"check -load load.json -factor 2000 schema.json":   {nil, exitNo, "2 shards would take it", ""},
		"check -base schema.json accepted.json":            {nil, exitYes, "moves nothing in a live table", "Recipe"},
		"check -base main.json -annotations accepted.json": {nil, exitYes, "::notice file=accepted.json,title=before the release::index byTime: Run singletable ensure", "::error"},
		"check -base schema.json -annotations other.json":  {nil, exitNo, "::error", "::warning"},
	} {
		got := inDir(t, dir, tt.env, line)
		if got.code != tt.code || got.stderr != "" || !strings.Contains(got.stdout, tt.says) || tt.not != "" && strings.Contains(got.stdout, tt.not) {
			t.Errorf("%s: %+v", line, got)
		}
		if strings.Contains(line, "-json") && !json.Valid([]byte(got.stdout)) {
			t.Errorf("%s: no JSON", line)
		}
	}
	for line, want := range map[string]string{
		"check":                                             "it takes one schema file",
		"check - -base -":                                   "standard input is one file",
		"check -factor 0 schema.json":                       "-factor must be above 0",
		"check -json -annotations a.json":                   "-annotations are no JSON",
		"check none.json":                                   "none.json",
		"check unknown.json":                                `accepted[0].id: "hot-key" is no rule`,
		"check noreason.json":                               "accepted[0].reason: is empty",
		"check -load main.json schema.json":                 "the load is no JSON of this form",
		"check -load load.json other.json":                  `the load has the index "byTime", and the schema file does not`,
		"check -base load.json schema.json":                 "load.json",
		"check -load none.json schema.json":                 "none.json",
		"check -load load.json -base none.json schema.json": "none.json",
	} {
		trouble(t, inDir(t, dir, nil, line), want)
	}
	// The former file can come from git.
	got := run(t, nil, `{"name": "Posts"}`, "check", "-base", "-", filepath.Join(dir, "schema.json"))
	if got.code != exitNo || !strings.Contains(got.stdout, "entity POST: It is new") {
		t.Errorf("%+v", got)
	}
}

// Texts of a file cannot end an annotation or begin another one.
func TestAnnotationsEscape(t *testing.T) {
	t.Parallel()
	file := save(t, "a,b:c%.json", `{"name": "AppCore", "entities": [{"type": "A\n::error::100%", "items": [{"pk": "ALL", "sk": "{id}"}]}]}`)
	got := run(t, nil, "", "check", "-annotations", file)
	if got.code != exitNo || !strings.Contains(got.stdout, "a%2Cb%3Ac%25.json,line=1,title=low-cardinality-key::entity A%0A::error::100%25: All") ||
		strings.Contains(got.stdout, "\n::error::100") {
		t.Errorf("%+v", got)
	}
}

// The example systems have no finding that they do not accept, with and without their loads.
func TestCheckOfTheExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"appcore", "blog", "cqrs", "shop", "usage"} {
		file := "../../examples/" + name + "/schema.json"
		for _, args := range [][]string{{"check", file}, {"check", "-load", "../../examples/" + name + "/load.json", file}} {
			if got := run(t, nil, "", args...); got.code != exitYes || got.stderr != "" {
				t.Errorf("%s: %+v", strings.Join(args, " "), got)
			}
		}
	}
}
