package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// script returns the script for a shell.
func script(t *testing.T, shell string) string {
	t.Helper()
	got := run(t, nil, "", "completion", shell)
	if got.code != exitYes || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	return got.stdout
}

// complete returns what bash offers for the last of the words. Words are split as bash
// splits a line, at = as well.
func complete(t *testing.T, dir string, words ...string) []string {
	t.Helper()
	program := script(t, "bash") + `
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_singletable
printf '%s\n' "${COMPREPLY[@]}"
`
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", program, "bash", "singletable"}, words...)...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.String() != "" {
		t.Fatalf("%q: %v: %s", words, err, &stderr)
	}
	offered := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	slices.Sort(offered)
	return offered
}

// TestCompletionInBash has bash complete command lines.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatalf("%v: install it with apt-get install -y bash", err)
	}
	dir := t.TempDir()
	for _, file := range []string{"schema.json", "sch ema*.json", "other.txt"} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	nothing := []string{""}
	files := []string{"sch ema*.json", "schema.json"}
	for line, want := range map[string][]string{
		"que":                      {"query"},
		"ver":                      {"verify", "version"},
		"query -de":                {"-desc"},
		"query -index ":            nothing,
		"query -index = ":          nothing,
		"query AppCore ":           allFlags(t, "query"),
		"query -schema sch":        files,
		"query --schema sch":       files,
		"query -schema = sch":      files,
		"query -schema =":          append(slices.Clone(files), "other.txt"),
		"verify sch":               files,
		"verify -json sch":         files,
		"verify -t":                {"-table"},
		"put AppCore sch":          files,
		"get AppCore sch":          nothing,
		"completion ":              append([]string{"bash", "fish", "zsh"}, allFlags(t, "completion")...),
		"help expl":                {"explain"},
		"unknown ":                 nothing,
		"get -consistent -schema ": append(slices.Clone(files), "other.txt"),
	} {
		words := strings.Split(line, " ")
		want = slices.Clone(want)
		slices.Sort(want)
		if diff := gocmp.Diff(want, complete(t, dir, words...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		if diff := gocmp.Diff(allFlags(t, c.name), complete(t, dir, c.name, "-")); diff != "" {
			t.Errorf("%s -: %s", c.name, diff)
		}
	}
	names = append(names, "help")
	slices.Sort(names)
	if diff := gocmp.Diff(names, complete(t, dir, "")); diff != "" {
		t.Error(diff)
	}
}

// allFlags returns the flags of a command.
func allFlags(t *testing.T, name string) []string {
	t.Helper()
	var all []string
	for _, c := range commands() {
		if c.name == name {
			fs, _ := c.describe()
			fs.VisitAll(func(f *flag.Flag) { all = append(all, "-"+f.Name) })
		}
	}
	slices.Sort(all)
	return all
}

// TestCompletionScripts has each shell that is here read its script.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text := script(t, shell)
		for _, c := range commands() {
			if !strings.Contains(text, c.name) {
				t.Errorf("%s: there is no %s", shell, c.name)
			}
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here: its script is compared with the golden file only", shell)
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, "-n", "/dev/stdin")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
	trouble(t, run(t, nil, "", "completion"), "bash, zsh or fish")
	if got := run(t, nil, "", "completion", "-json", "bash"); !json.Valid([]byte(got.stdout)) {
		t.Errorf("-json printed %.60q", got.stdout)
	}
	trouble(t, run(t, nil, "", "completion", "tcsh"), "bash, zsh or fish")
}

// TestCompletionText has names and texts that shells would obey.
func TestCompletionText(t *testing.T) {
	t.Parallel()
	all := []completed{
		{name: "get", does: "it's an item: [one]", flags: []completedFlag{
			{name: "json", usage: `print "one" $object`},
			{name: "schema", usage: `a file's name, C:\x [json]`, value: "file", file: true},
			{name: "limit", usage: "the number", value: "number"},
		}},
		{name: "put", does: "store", files: true},
		{name: "help", does: "tell", words: []string{"get", "put"}},
	}
	for shell, text := range map[string]string{"bash": bashScript(all), "zsh": zshScript(all), "fish": fishScript(all)} {
		golden(t, "completion-"+shell, result{stdout: text})
	}
}
