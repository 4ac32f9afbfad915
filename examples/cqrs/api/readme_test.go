package api

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

// The README has each route, with the least of the roles that may use it.
func TestTheREADMEHasTheRoutesAndTheirRoles(t *testing.T) {
	t.Parallel()
	named := map[string]string{}
	for line := range strings.Lines(string(check.Must(os.ReadFile("../README.md"))(t))) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.HasPrefix(cells[0], "| `") {
			continue
		}
		method := ""
		for _, m := range regexp.MustCompile("`(GET|POST)? ?(/[a-z/]+)").FindAllStringSubmatch(cells[0], -1) {
			if m[1] != "" {
				method = m[1]
			}
			named[method+" "+m[2]] = cells[1]
		}
	}
	want := map[string]string{}
	for pattern, r := range routes {
		want[pattern] = r.roles[len(r.roles)-1]
	}
	check.Equal(t, "routes", named, want)
}
