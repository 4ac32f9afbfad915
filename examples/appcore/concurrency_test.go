package main

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/samtest"
)

// Concurrency that is reserved for one function is taken from all others, so only
// the parameter of POST /transactions may reserve any, and by default it does not:
// a literal 0 would switch the function off.
func TestOnlyPostHasReservedConcurrency(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	reserved := map[string][]string{}
	for name, f := range samtest.Of[struct {
		Reserved []string `yaml:"ReservedConcurrentExecutions"`
	}](t, tpl, "AWS::Serverless::Function") {
		if len(f.Reserved) > 0 {
			reserved[name] = f.Reserved
		}
	}
	check.Equal(t, "reserved concurrency", reserved, map[string][]string{
		"CreateTransaction": {"HasCreateConcurrency", "CreateConcurrency", "AWS::NoValue"},
	})
}
