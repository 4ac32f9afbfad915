package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/singletable/singletable/table/tabletest"
)

// The second run finds the table of the first one if the environment names an engine.
func Example() {
	engine, err := tabletest.Start(context.Background(), nil)
	check(err)
	defer engine.Close()
	check(os.Setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.Endpoint()))
	main()
	main()
	// Output:
	// 1 notice: payment received and approved
	// 1 notice: payment received and approved
}

// The README and the package documentation show this program. They must show it
// as it is, and what it prints: the output of the Example.
func TestDocumentationShowsThisProgram(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	program := read("main.go")
	if !strings.Contains(read("../../README.md"), "```go\n"+program+"```\n") {
		t.Error("README.md does not show examples/hello/main.go as it is")
	}
	_, printed, _ := strings.Cut(read("main_test.go"), "// Output:\n\t// ")
	printed, _, _ = strings.Cut(printed, "\n")
	if !strings.Contains(read("../../README.md"), "`"+printed+"`") {
		t.Errorf("README.md does not say that it prints %q", printed)
	}
	if !strings.Contains(read("../../doc.go"), `"`+printed+`"`) {
		t.Errorf("doc.go does not say that it prints %q", printed)
	}
	var comment strings.Builder
	for line := range strings.Lines(program) {
		if line == "\n" {
			comment.WriteString("//\n")
		} else {
			comment.WriteString("//\t" + line)
		}
	}
	if !strings.Contains(read("../../doc.go"), comment.String()) {
		t.Error("doc.go does not show examples/hello/main.go as it is")
	}
}
