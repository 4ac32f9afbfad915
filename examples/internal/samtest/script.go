package samtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

// stub stands in for the programs that a deploy.sh starts. It notes the calls, keeps the secret in
// a file, and knows no other requests than those here.
const stub = `#!/usr/bin/env bash
name=${0##*/}
printf '%s\n' "$name $*" >>"$STUB/calls"
case "$name $1 $2" in
"sam deploy "* | "go build "*) ;;
"openssl rand "*) head -c 32 /dev/urandom | base64 ;;
"aws secretsmanager describe-secret") [ -e "$STUB/secret" ] && echo arn-of-the-secret ;;
"aws secretsmanager get-secret-value") cat "$STUB/secret" ;;
"aws secretsmanager create-secret") cat >"$STUB/secret" && echo arn-of-the-secret ;;
"aws secretsmanager put-secret-value") cat >"$STUB/secret" ;;
"aws cloudformation describe-stacks") echo output ;;
"aws cognito-idp list-user-pools") echo "${POOLS-pool}" ;;
"aws cognito-idp "* | "aws dynamodb describe-table" | "aws lambda "*) echo token ;;
*) exit 1 ;;
esac
`

// script is a deploy.sh next to a template, and where its stubs are.
type script struct {
	file, stubs string
	template    Template
}

// Script fails the test unless deploy.sh, next to the template, deploys it with one secret, in
// the parameter that is named here, and changes the keys in that as the page of operations says.
// Each of the commands must succeed, too, and use parameters and outputs that the template has.
func Script(tb testing.TB, template, secret string, commands ...string) {
	tb.Helper()
	s := script{filepath.Join(filepath.Dir(template), "deploy.sh"), tb.TempDir(), Read(tb, template)}
	for _, name := range []string{"aws", "sam", "go", "openssl"} {
		check.OK(tb, os.WriteFile(filepath.Join(s.stubs, name), []byte(stub), 0o700))
	}
	help := string(check.Must(os.ReadFile(s.file))(tb))
	for _, c := range append([]string{"stack AlarmEmail=you@example.com", "again", "output Url"}, commands...) {
		if name, _, _ := strings.Cut(c, " "); !strings.Contains(help, "#   bash deploy.sh "+name+" ") {
			tb.Errorf("its first lines do not tell of %s", name)
		}
		if told, err := s.run(c); err != nil {
			tb.Errorf("%s: %v: %s", c, err, told)
		}
	}
	calls := s.read(tb, "calls")
	check.Equal(tb, "secrets", strings.Count(calls, "create-secret"), 1)
	check.Equal(tb, "deployments", strings.Count(calls, "--parameter-overrides "+secret+"=arn-of-the-secret"), 2)
	for line := range strings.Lines(calls) {
		_, parameters, _ := strings.Cut(line, "--parameter-overrides")
		for parameter := range strings.FieldsSeq(parameters) {
			name, _, _ := strings.Cut(parameter, "=")
			if _, ok := s.template.Parameters[name]; !ok {
				tb.Errorf("the template has no parameter %s", name)
			}
		}
		for _, m := range regexp.MustCompile(`OutputKey=='(\w*)'`).FindAllStringSubmatch(line, -1) {
			if _, ok := s.template.Outputs[m[1]]; !ok {
				tb.Errorf("the template has no output %s", m[1])
			}
		}
	}
	if strings.Contains(calls, "list-user-pools") {
		if _, err := s.run("again", "POOLS=one two"); err == nil {
			tb.Error("again takes one of two user pools")
		}
	}
	if told, err := s.run(""); err == nil || !strings.Contains(told, "first lines") {
		tb.Errorf("without a command: %v: %s", err, told)
	}
	s.keys(tb)
}

// keys changes the keys, and tries each step where it would lose one.
func (s script) keys(tb testing.TB) {
	tb.Helper()
	first := strings.TrimSpace(s.read(tb, "secret"))
	at := []string{first}
	for _, step := range []struct {
		name    string
		refused []string
		want    func(had, has []string) bool
	}{
		{"add", []string{"use", "drop"}, func(had, has []string) bool { return len(has) == 2 && has[0] == had[0] && has[1] != had[0] }},
		{"use", []string{"add"}, func(had, has []string) bool { return slices.Equal(has, []string{had[1], had[0]}) }},
		{"drop", []string{"add"}, func(had, has []string) bool { return slices.Equal(has, had[:1]) && has[0] != first }},
		{"replace", []string{"use", "drop", "other"}, func(had, has []string) bool { return len(has) == 1 && has[0] != had[0] }},
	} {
		for _, name := range step.refused {
			told, err := s.run("keys " + name)
			if has := s.read(tb, "secret"); err == nil || strings.TrimSpace(has) != strings.Join(at, ",") || strings.Contains(told, at[0]) {
				tb.Errorf("keys %s in place of %s: %v: %s", name, step.name, err, told)
			}
		}
		if told, err := s.run("keys " + step.name); err != nil || strings.Contains(told, at[0]) {
			tb.Errorf("keys %s: %v: %s", step.name, err, told)
		}
		has := strings.Split(s.read(tb, "secret"), ",")
		if !step.want(at, has) {
			tb.Errorf("keys %s makes other keys", step.name)
		}
		at = has
	}
}

// run runs a command with variables for the stubs.
func (s script) run(command string, variables ...string) (told string, err error) {
	bash := exec.Command("bash", append([]string{s.file}, strings.Fields(command)...)...)
	bash.Env = append(append(os.Environ(), "STUB="+s.stubs, "PATH="+s.stubs+string(os.PathListSeparator)+os.Getenv("PATH")), variables...)
	text, err := bash.CombinedOutput()
	return string(text), err
}

func (s script) read(tb testing.TB, name string) string {
	tb.Helper()
	return string(check.Must(os.ReadFile(filepath.Join(s.stubs, name)))(tb))
}
