package ledger_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/singletable/singletable/internal/toolcache"
)

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	return string(b)
}

// blocks returns the code blocks of a language in the README.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(read(t, "README.md"), -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("README.md has no %s", language)
	}
	return all
}

func TestTheREADMEShowsTheTests(t *testing.T) {
	t.Parallel()
	indent := regexp.MustCompile(`(?m)^\t+`) // the README has less of it
	sources := indent.ReplaceAllString(read(t, "ledger_test.go")+read(t, "golden_test.go"), "")
	for _, block := range blocks(t, "go") {
		if !strings.Contains(sources, indent.ReplaceAllString(block, "")) {
			t.Errorf("README.md shows what is not in the tests:\n%s", block)
		}
	}
}

// workflow is as much of a workflow of GitHub Actions as the test looks at.
type workflow struct {
	Name string
	On   map[string]any
	Jobs map[string]struct {
		RunsOn string `yaml:"runs-on"`
		Steps  []struct {
			Uses, Run string
			With      map[string]string
		}
		Rest map[string]any `yaml:",inline"`
	}
	Rest map[string]any `yaml:",inline"`
}

func TestTheWorkflow(t *testing.T) {
	t.Parallel()
	text := read(t, ".github/workflows/test.yml")
	if shown := blocks(t, "yaml"); len(shown) != 1 || shown[0] != text {
		t.Errorf("README.md does not show the workflow as it is (-shown +workflow):\n%s", cmp.Diff(shown, []string{text}))
	}
	var w workflow
	must(t, yaml.Unmarshal([]byte(text), &w))
	job, ok := w.Jobs["test"]
	if !ok || job.RunsOn != "ubuntu-latest" || job.Rest != nil || len(w.On) == 0 {
		t.Fatalf("there is no job that runs by itself: %+v", w)
	}
	var commands, cached []string
	for _, s := range job.Steps {
		if (s.Uses == "") == (s.Run == "") || s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`).MatchString(s.Uses) {
			t.Errorf("a step that does not do one thing: %+v", s)
		}
		if s.Run != "" {
			commands = append(commands, s.Run)
		}
		if path := s.With["path"]; path != "" {
			cached = append(cached, path)
		}
	}
	if diff := cmp.Diff([]string{"go vet ./...", "go test -race ./..."}, commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.CommandContext(t.Context(), words[0], "help", words[1]).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", c, err, out)
		}
	}
	dir, err := toolcache.Dir()
	must(t, err)
	if diff := cmp.Diff([]string{"~/.cache/" + filepath.Base(dir)}, cached); diff != "" {
		t.Errorf("cached (-want +got):\n%s", diff)
	}
}
