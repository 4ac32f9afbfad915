package paginate_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// childVariable makes TestAnotherProcess seal a cursor and print it.
const childVariable = "PAGINATE_TEST_SEAL"

// The codec that a table has by default seals with a key of the process. Another
// process refuses its cursors, and says why.
func TestAnotherProcess(t *testing.T) {
	t.Parallel()
	var own *paginate.Codec
	if os.Getenv(childVariable) != "" {
		_, _ = os.Stdout.WriteString("cursor " + seal(t, own, txPosition, scope) + "\n")
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnotherProcess$")
	child.Env = append(os.Environ(), childVariable+"=1")
	out := expect.Value(child.Output())(t)
	_, line, _ := strings.Cut(string(out), "cursor ")
	other, _, _ := strings.Cut(line, "\n")
	if other == "" || other[0] != 'P' {
		t.Fatalf("the other process printed %q", out)
	}
	checkRefused(t, own, other, scope, paginate.NoSharedKey)
	checkRefused(t, own.Watermarks(), other, scope, paginate.NoSharedKey)

	// With a ring in one of two processes, the reason is the same.
	ring := newCodec(t, nil)
	checkRefused(t, ring, other, scope, paginate.NoSharedKey)
	checkRefused(t, own, seal(t, ring, txPosition, scope), scope, paginate.NoSharedKey)
	checkRefused(t, own, seal(t, paginate.Insecure(), txPosition, scope), scope, paginate.UnknownVersion)

	in, err := paginate.Inspect(other, nil)
	if !in.Sealed || in.KeyID == "" || in.Values != nil || reasonOf(err) != paginate.NoSharedKey {
		t.Errorf("Inspect = %+v, %v", in, err)
	}
}
