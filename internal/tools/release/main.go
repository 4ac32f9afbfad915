// Command release shows that the commit at hand can be tagged: that every public
// module of the repository can be zipped, served and used under the version that
// its go.mod files name. It is run from the root of the repository:
//
//	go run ./internal/tools/release
//
// It clones the commit, gives the clone the tags of that version, and uses the
// modules as a stranger does: with an empty module cache, without a workspace, in
// empty directories. The go command fetches the modules from the clone with git,
// as it would fetch them from GitHub; a module proxy serves all other modules.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	log := func(format string, args ...any) { fmt.Printf("release: "+format+"\n", args...) }
	copies := []string{"new", "appcore", "copied", "example.com/copied"}
	if err := prove(ctx, ".", []string{"explain", "USER#u-123"}, copies, log); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
