package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// page is the documentation of the commands.
const page = "README.md"

// TestDocumentation runs the examples of the page on a real table and compares what they
// print. With -update it writes that. The page has each command, and no flag that it has not.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	examples := newExamples(t)
	made := regexp.MustCompile("(?s)```console\n(.*?)```").ReplaceAllStringFunc(string(text), func(block string) string {
		var b strings.Builder
		b.WriteString("```console\n")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				b.WriteString(examples.run(t, strings.TrimSuffix(command, "\n")))
			}
		}
		return b.String() + "```"
	})
	if *update {
		if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(made, string(text)); diff != "" && !*update {
		t.Errorf("run go test -run TestDocumentation -update (-want +got):\n%s", diff)
	}
	for _, c := range commands() {
		if !regexp.MustCompile(`(?m)^## (.*, )?` + c.name + `(,|$)`).MatchString(made) {
			t.Errorf("%s has no section", c.name)
		}
	}
	if lines := strings.Count(made, "\n"); lines > 160 {
		t.Errorf("the page has %d lines", lines)
	}
	for line := range strings.Lines(made) {
		checkFlags(t, line)
	}
}

// checkFlags fails the test if a line has a command with a flag that it does not have.
func checkFlags(t *testing.T, line string) {
	t.Helper()
	_, rest, ok := strings.Cut(line, "singletable ")
	if !ok {
		return
	}
	words := strings.Fields(rest)
	for _, c := range commands() {
		if len(words) == 0 || c.name != words[0] {
			continue
		}
		fs, _ := c.describe()
		for _, word := range words[1:] {
			name, isFlag := strings.CutPrefix(strings.Trim(word, "`.,:"), "-")
			name, _, _ = strings.Cut(name, "=")
			if isFlag && name != "-" && name != "h" && name != "" && fs.Lookup(name) == nil {
				t.Errorf("%s has no flag -%s: %s", c.name, name, line)
			}
		}
	}
}

// examples run command lines of the page.
type examples struct {
	name string            // of the table that is AppCore on the page
	file map[string]string // paths of files by their names on the page
	seen string            // in the last output
}

func newExamples(t *testing.T) *examples {
	t.Helper()
	spec := schema.Table{Name: "AppCore", TTLAttribute: "expiresAt", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}
	tbl := tabletest.New(t, spec, nil)
	user := `{
		"pk": {"S": "USER#u-123"}, "sk": {"S": "PROFILE"}, "entityType": {"S": "USER"}, "revision": {"S": "UVDJ2WTN3V4QZ7SRLB5EXK6OYA"},
		"email": {"S": "ana@example.com"}, "address": {"M": {"city": {"S": "Köln"}, "zip": {"S": "50667"}}},
		"roles": {"SS": ["admin", "author"]}, "gsi1pk": {"S": "EMAIL#ana@example.com"}, "gsi1sk": {"S": "USER#u-123"}}`
	add := func(key keys.Key, text string) { store(t, tbl, opOf(t, key, text)) }
	add(keys.Key{PK: "USER#u-123", SK: "PROFILE"}, user)
	for i, day := range []string{"03", "05", "08", "10"} {
		add(keys.Key{PK: "USER#u-123", SK: keys.SK("TX#2024-01-" + day + "#" + string(rune('d'-i)))}, fmt.Sprintf(
			`{"entityType": {"S": "TX"}, "amount": {"N": "%d"}, "currency": {"S": "EUR"}, "text": {"S": "invoice %d"}}`, 100+7*i, 4711+i))
	}
	add(keys.Key{PK: "USER#u-123", SK: "SESSION#5f1c"}, `{"entityType": {"S": "SESSION"}, "expiresAt": {"N": "1705312800"}}`)
	add(keys.Key{PK: "USER#u-777", SK: "PROFILE"}, `{"entityType": {"S": "USER"}, "email": {"S": "bob@example.com"}}`)

	spec.Name = tbl.Schema().Name
	t.Cleanup(func() { // what an example has made
		_, _ = tabletest.Client(t).DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(spec.Name + "-copy")})
	})
	dir := t.TempDir()
	e := &examples{name: spec.Name, file: map[string]string{"appcore.jsonl.gz": filepath.Join(dir, "appcore.jsonl.gz")}}
	for file, text := range map[string]string{
		"schema.json": encode(t, spec), "user.json": strings.Replace(user, "Köln", "Bonn", 1),
	} {
		e.file[file] = filepath.Join(dir, file)
		if err := os.WriteFile(e.file[file], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// run runs a command line of the page. It returns the line and what it prints.
func (e *examples) run(t *testing.T, line string) string {
	t.Helper()
	hash := regexp.MustCompile(`\b[0-9a-f]{16}\b|SEEN`)
	if e.seen != "" {
		line = hash.ReplaceAllString(line, e.seen)
	}
	args := words(t, line)[1:]
	for i, arg := range args {
		args[i] = cmp.Or(e.file[arg], strings.ReplaceAll(arg, "AppCore", e.name))
	}
	var terminal strings.Builder
	p := testProgram(&terminal, &terminal, nil, "", time.Minute)
	if code := p.run(t.Context(), args); code == exitTrouble {
		t.Errorf("%s: %s", line, &terminal)
	}
	text := strings.ReplaceAll(terminal.String(), e.name, "AppCore")
	for file, path := range e.file {
		text = strings.ReplaceAll(text, path, file)
	}
	e.seen = hash.FindString(text)
	// These are others each time.
	text = regexp.MustCompile(`-after=U[\w-]+`).ReplaceAllString(text, "-after=UGsDSK8y0FRYIzIwMjQtMDEtMDgjYpCmY6XvYtmS")
	text = regexp.MustCompile(`with revision [A-Z2-7]{26}`).ReplaceAllString(text, "with revision MZ4RHPXT2K7CVNW5QJDYL3E6GA")
	text = regexp.MustCompile(`units, [0-9.]+m?s\n`).ReplaceAllString(text, "units, 100ms\n")
	text = strings.ReplaceAll(text, os.Getenv("AWS_REGION"), "us-east-1")
	return "$ " + line + "\n" + text
}
