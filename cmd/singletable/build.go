package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

const versionHelp = `Usage: singletable version [flags]

Version prints the version of the program and of the library in it, the commit that it was
built of if that is known, and the version of Go.

Exit codes: 0 it was printed.

Example:

  singletable version -json | jq -r .version
`

// built is the output of version.
type built struct {
	Version string `json:"version"`
	Library string `json:"library"`
	Commit  string `json:"commit,omitempty"`
	// Modified means that the commit is not all that the program was built of.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

func (p *program) version(_ context.Context, args []string) error {
	fs, asJSON := flags("version")
	if _, err := p.parse(fs, versionHelp, args, takes{0, 0, "no argument"}); err != nil {
		return err
	}
	out := build()
	text := fmt.Sprintf("singletable %s, library %s, %s\n", out.Version, out.Library, out.Go)
	if out.Commit != "" {
		text = fmt.Sprintf("singletable %s, library %s, commit %s%s, %s\n", out.Version, out.Library, out.Commit,
			map[bool]string{true: " with changes"}[out.Modified], out.Go)
	}
	return p.printResult(out, text, *asJSON, true)
}

// build returns what this program was built of.
func build() built {
	b := built{Version: unknownVersion, Library: unknownVersion, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fill(info)
	}
	return b
}

// unknownVersion is that of a build without a release, as in a checkout.
const unknownVersion = "(devel)"

func (b *built) fill(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "" {
		b.Version = v
	}
	for _, d := range info.Deps {
		if d.Path == libraryModule && d.Version != "" {
			b.Library = d.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// libraryModule is the module path of the library.
const libraryModule = "github.com/singletable/singletable"
