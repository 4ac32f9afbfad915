package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/singletable/singletable/cmd/singletable/internal/shell"
	"github.com/singletable/singletable/cmd/singletable/internal/system"
)

const newHelp = `Usage: singletable new [flags] SYSTEM DIR MODULE

New copies an example system into the new directory DIR, as a Go module with the path
MODULE: the service, its tests, its README, its SAM template if it has one, and the
packages that the systems share, in internal. It builds there, and its tests pass. It is
yours from then on: nothing updates it.

SYSTEM is

  service  the smallest: one entity over HTTP, to start with; the others are to learn from
  appcore  a payments API: users, transactions, notifications
  shop     a shop: products, carts, orders, a store page
  blog     a blog: posts, comments, groups, folders and files
  usage    metering: messages of a queue, counted by the hour and by the day
  cqrs     records of many tenants: commands, history, tasks, a read model

The systems are those of the release that this program is of, which the go command
downloads, and the copy requires the same release of the library. In a checkout of the
library they are those of the checkout, and a replace line of go.mod leads to it.

It needs the go command. DIR must be missing or empty, and outside of the checkout, of which
it copies the files that git tracks. After an error, or Ctrl-C, nothing is left.

Exit codes: 0 it was written, 2 it was not.

Examples:

  singletable new service ../projects example.com/projects
  singletable new appcore ../payments example.com/payments
  singletable new usage metering example.com/metering
`

// copied is the output of new.
type copied struct {
	System   string `json:"system"`
	Dir      string `json:"dir"`
	Module   string `json:"module"`
	Files    int    `json:"files"`
	Checkout string `json:"checkout,omitempty"`
	// Workspace is the go.work file above Dir.
	Workspace string `json:"workspace,omitempty"`
}

// new is the command of this name.
func (p *program) new(ctx context.Context, args []string) error {
	fs, asJSON := flags("new")
	rest, err := p.parse(fs, newHelp, args, takes{3, 3, "a system, a directory and a module path"})
	if err != nil {
		return err
	}
	w := copied{System: rest[0], Dir: rest[1], Module: rest[2]}
	if all := system.Names(); !slices.Contains(all, w.System) {
		return usageError(fmt.Sprintf("there is no system %q: it is %s", w.System, strings.Join(all, ", ")))
	}
	version := ""
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
	}
	// What is unfinished is removed.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	source, err := system.Find(ctx, version)
	if err != nil {
		return err
	}
	if w.Files, err = source.Copy(ctx, w.System, w.Dir, w.Module); err != nil {
		return err
	}
	w.Checkout = source.Checkout()
	if w.Workspace, err = system.Workspace(ctx, w.Dir); err != nil {
		return err
	}
	return p.printResult(w, w.String(), *asJSON, true)
}

// String says what to do next.
func (w copied) String() string {
	text := fmt.Sprintf("Wrote %s to %s, as the module %s: %d files.\n", w.System, w.Dir, w.Module, w.Files)
	text += fmt.Sprintf("Next:\n\n  cd %s\n", shell.Quote(w.Dir))
	if w.Workspace != "" {
		text += fmt.Sprintf("  go work use .   # the workspace %s does not have it\n", w.Workspace)
	}
	text += "  go test ./...\n\nREADME.md there says how to run, use and deploy it.\n"
	if w.Checkout != "" {
		text += fmt.Sprintf("Its go.mod leads to the library in the checkout %s. To use a release instead:\n\n"+
			"  go mod edit -dropreplace github.com/singletable/singletable\n  go get github.com/singletable/singletable@latest\n", w.Checkout)
	}
	return text
}
