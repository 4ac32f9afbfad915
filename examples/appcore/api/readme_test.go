package api_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/generated"
)

//go:generate go test . -run ^TestTheDesign -update

// docs/design.md shows the log line of a request as it is, with its cost. Only the
// time, the request's id and its duration differ from run to run.
func TestTheDesignShowsALogLine(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.create(t, ana, "secret-key")
	a.Close() // The line is written after the response.
	line := strings.TrimSpace(a.log.String())
	line = regexp.MustCompile(`"(time|requestId)":"[^"]*"`).ReplaceAllString(line, `"$1":"…"`)
	line = regexp.MustCompile(`"milliseconds":[0-9.]+`).ReplaceAllString(line, `"milliseconds":2.284`)
	generated.Part(t, "../docs/design.md", "log", "```json\n"+line+"\n```\n")
}
