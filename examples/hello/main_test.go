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

// The README shows this program as it is, and what it prints: the output of the Example.
func TestTheREADMEShowsThisProgram(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	_, printed, _ := strings.Cut(read("main_test.go"), "// Output:\n\t// ")
	printed, _, _ = strings.Cut(printed, "\n")
	shown := "```go\n" + read("main.go") + "```\n\n```\n" + printed + "\n```\n"
	if !strings.Contains(read("../../README.md"), shown) {
		t.Errorf("README.md does not show examples/hello/main.go and its output as they are:\n%s", shown)
	}
}
