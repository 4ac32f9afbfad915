package tabletest_test

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/table/tabletest"
)

func TestInstallTextOfEachPlatform(t *testing.T) {
	t.Parallel()
	for platform, want := range map[string]string{
		"linux/amd64":   "@dynoxide/linux-x64@1.2.1",
		"linux/arm64":   "@dynoxide/linux-arm64@1.2.1",
		"darwin/amd64":  "@dynoxide/darwin-x64@1.2.1",
		"darwin/arm64":  "@dynoxide/darwin-arm64@1.2.1",
		"windows/amd64": "@dynoxide/win32-x64@1.2.1",
		"plan9/386":     "No npm package",
	} {
		goos, goarch, _ := strings.Cut(platform, "/")
		text := tabletest.HowTo(goos, goarch)
		if !strings.Contains(text, want) {
			t.Errorf("%s: the text does not say %q:\n%s", platform, want, text)
		}
		if byItself := strings.Contains(text, "by itself"); byItself != (platform == "linux/amd64") {
			t.Errorf("%s: installed by itself: %t", platform, byItself)
		}
	}
}
