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
	text, err := os.ReadFile(".github/workflows/test.yml")
	must(t, err)
	var w workflow
	must(t, yaml.Unmarshal(text, &w))
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
