package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulnerabilityCheck runs .ci/vuln with a stub of govulncheck. A run that cannot
// reach the database never passes, and its exit code is not that of a vulnerability.
func TestVulnerabilityCheck(t *testing.T) {
	t.Parallel()
	const unreachable = `echo 'govulncheck: fetching vulnerabilities: Get "https://vuln.go.dev/index/modules.json.gz": dial tcp: no such host' >&2; exit 1`
	for name, tt := range map[string]struct {
		govulncheck string
		want        int
		unchecked   bool
	}{
		"no vulnerability": {govulncheck: "echo No vulnerabilities found."},
		"vulnerability":    {govulncheck: "echo Vulnerability 1: GO-2026-0001; exit 3", want: 1},
		"unreachable":      {govulncheck: unreachable, want: 75, unchecked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stub := filepath.Join(t.TempDir(), "govulncheck")
			write(t, stub, tt.govulncheck+"\n")
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "vuln"))
			cmd.Env = append(environ(), "GOVULNCHECK=sh "+stub)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.want {
				t.Errorf("exit code %d, want %d:\n%s", got, tt.want, out)
			}
			if got := strings.Contains(string(out), "NOT CHECKED"); got != tt.unchecked {
				t.Errorf("says that it has not checked: %v, want %v:\n%s", got, tt.unchecked, out)
			}
		})
	}
}
