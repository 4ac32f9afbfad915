//go:build unix

package awsconformance_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/awsconformance"
	"github.com/singletable/singletable/table/tabletest"
)

// TestProtect shows what is left of a run that succeeds, fails, is interrupted,
// or cannot clean up. It is not parallel, since signals are for all.
func TestProtect(t *testing.T) {
	for name, tt := range map[string]struct {
		run    func() int
		faults []tabletest.Fault // of the deletion
		code   int
		says   string
		left   int
	}{
		"success": {run: func() int { return 0 }},
		"failure": {run: func() int { return 1 }, code: 1},
		"Ctrl-C":  {run: func() int { return interrupted(t, syscall.SIGINT) }, code: 130, says: "interrupt: deleting"},
		"SIGTERM": {run: func() int { return interrupted(t, syscall.SIGTERM) }, code: 130, says: "terminated: deleting"},
		"refused": {
			run:    func() int { return 0 },
			faults: []tabletest.Fault{tabletest.Status(400, "AccessDeniedException", "Injected.")},
			code:   1, says: "make conformance-aws-sweep PREFIX=protect", left: 1,
		},
		"busy at first": {
			run:    func() int { return 0 },
			faults: []tabletest.Fault{tabletest.Status(400, "ResourceInUseException", "Injected.")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := &tabletest.Faults{}
			own.Next("DeleteTable", tt.faults...)
			g := expect.Value(awsconformance.NewGuard(tabletest.Client(t, own.Install), "protect"))(t)
			client, _ := guarded(t, g)
			var said bytes.Buffer
			code := g.Protect(&said, func() int {
				expect.OK(t, schema.Table{Name: g.TablePrefix() + "x"}.Ensure(t.Context(), client))
				return tt.run()
			})
			if code != tt.code || !strings.Contains(said.String(), tt.says) || tt.says == "" && said.Len() > 0 {
				t.Errorf("code %d, said %q", code, &said)
			}
			if left := tables(t, g.TablePrefix()); len(left) != tt.left {
				t.Errorf("left: %q", left)
			}
			drop(t, tables(t, g.TablePrefix()))
		})
	}
}

// interrupted sends the process a signal in the middle of a run.
func interrupted(t *testing.T, s syscall.Signal) int {
	t.Helper()
	expect.OK(t, syscall.Kill(syscall.Getpid(), s))
	<-t.Context().Done()
	return 0
}
