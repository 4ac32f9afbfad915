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

func TestAShellCanReadTheCommands(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"README.md", "RUNBOOK.md", "docs/operations.md"} {
		blocks := shell.FindAllStringSubmatch(string(check.Must(os.ReadFile(file))(t)), -1)
		if len(blocks) == 0 {
			t.Errorf("%s: no commands", file)
		}
		for _, block := range blocks {
			bash := exec.CommandContext(t.Context(), "bash", "-n")
			bash.Stdin = strings.NewReader(block[1])
			if told, err := bash.CombinedOutput(); err != nil || len(told) > 0 {
				t.Errorf("%s: %v: %s\n%s", file, err, told, block[1])
			}
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
	for _, match := range regexp.MustCompile(`\$\(output (\w+)\)`).FindAllStringSubmatch(text, -1) {
		if _, ok := tpl.Outputs[match[1]]; !ok {
			t.Errorf("the stack has no output %s", match[1])
		}
	}
}
