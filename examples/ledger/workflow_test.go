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

// readWorkflow returns the steps of the only job of a workflow.
func readWorkflow(t *testing.T, name string) (commands, cached []string) {
	t.Helper()
	text, err := os.ReadFile(".github/workflows/" + name + ".yml")
	must(t, err)
	var w workflow
	must(t, yaml.Unmarshal(text, &w))
	job, ok := w.Jobs[name]
	if !ok || job.RunsOn != "ubuntu-latest" || job.Rest != nil || len(w.On) == 0 {
		t.Fatalf("there is no job that runs by itself: %+v", w)
	}
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
	return commands, cached
}

func TestTheWorkflow(t *testing.T) {
	t.Parallel()
	commands, cached := readWorkflow(t, "test")
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

// TestTheCheckOfAPullRequest runs the workflow's command in a repository with two branches.
func TestTheCheckOfAPullRequest(t *testing.T) {
	t.Parallel()
	commands, _ := readWorkflow(t, "check")
	dir := t.TempDir()
	run := func(dir, name string, args ...string) string {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_BASE_REF=main", "RUNNER_TEMP="+t.TempDir())
		out, _ := c.CombinedOutput() // It says why a command fails.
		return string(out)
	}
	run("../../cmd/singletable", "go", "build", "-o", dir)
	const released = "go run github.com/singletable/singletable/cmd/singletable@latest"
	command := strings.Replace(commands[0], released, dir+"/singletable", 1)
	repository := t.TempDir()
	file, err := os.ReadFile("schema.json")
	must(t, err)
	save := func(text string) {
		must(t, os.WriteFile(filepath.Join(repository, "schema.json"), []byte(text), 0o600))
	}
	save(string(file))
	for _, args := range []string{"init -q", "add schema.json", "-c user.name=a -c user.email=a@example.com commit -qm main", "update-ref refs/remotes/origin/main HEAD"} {
		run(repository, "git", strings.Fields(args)...)
	}
	if got := run(repository, "bash", "-e", "-c", command); strings.Contains(got, "::") || !strings.Contains(got, "moves nothing") {
		t.Errorf("without a change: %s", got)
	}
	save(strings.NewReplacer("ACCOUNT#{name}", "ACCOUNT", "METADATA", "{name}").Replace(string(file)))
	got := run(repository, "bash", "-e", "-c", command)
	for _, want := range []string{"::error file=schema.json,line=7,title=low-cardinality-key::", "::notice file=schema.json,title=release::entity ACCOUNT"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in:\n%s", want, got)
		}
	}
}
