package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/samtest"
)

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```")

// programs stand in for those that the commands start. What they print is an argument of the next one.
const programs = `set -eu
aws() { echo 059f36b4; }
go() { :; }
sam() { :; }
`

// Each block of commands runs on its own, once runbook.sh is loaded: no variable is missing.
func TestAShellRunsTheCommands(t *testing.T) {
	t.Parallel()
	loads := programs + string(check.Must(os.ReadFile("runbook.sh"))(t))
	for _, file := range []string{"README.md", "RUNBOOK.md", "docs/operations.md"} {
		blocks := shell.FindAllStringSubmatch(string(check.Must(os.ReadFile(file))(t)), -1)
		if len(blocks) == 0 {
			t.Errorf("%s: no commands", file)
		}
		for _, block := range blocks {
			bash := exec.CommandContext(t.Context(), "bash", "-s", "usage-dev")
			bash.Stdin = strings.NewReader(loads + block[1])
			if told, err := bash.CombinedOutput(); err != nil || strings.Contains(string(told), "bash: ") {
				t.Errorf("%s: %v: %s\n%s", file, err, told, block[1])
			}
		}
	}
}

func TestTheFunctionsOfTheRunbookRun(t *testing.T) {
	t.Parallel()
	loads := programs + string(check.Must(os.ReadFile("runbook.sh"))(t))
	for _, call := range []string{"delivered m-1", "dropped", "failed", "queued \"$QUEUE\"", "record producer acme m-1", "ask '{}'", "throttled", "hottest"} {
		bash := exec.CommandContext(t.Context(), "bash", "-s", "usage-dev")
		bash.Stdin = strings.NewReader(loads + call)
		if told, err := bash.CombinedOutput(); err != nil || !strings.HasPrefix(string(told), "059f36b4") {
			t.Errorf("%s: %v: %s", call, err, told)
		}
	}
}

func TestTheRunbookIsAboutTheTemplate(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	text := string(check.Must(os.ReadFile("RUNBOOK.md"))(t))
	for name := range samtest.Of[any](t, tpl, "AWS::CloudWatch::Alarm") {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("nothing about the alarm %s", name)
		}
	}
	script := string(check.Must(os.ReadFile("runbook.sh"))(t))
	for _, match := range regexp.MustCompile(`\$\(output (\w+)\)`).FindAllStringSubmatch(script, -1) {
		if _, ok := tpl.Outputs[match[1]]; !ok {
			t.Errorf("the stack has no output %s", match[1])
		}
	}
}
