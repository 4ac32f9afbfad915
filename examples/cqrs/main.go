// Cqrs is the system of package core: records of many tenants that are changed by commands
// only, with history. README.md describes it.
//
// In this directory:
//
//	go run . -dev
//	go run . -walk
//
// The first serves it over HTTP, the second walks through its access patterns.
package main

import (
	"flag"
	"fmt"
	"net/netip"
	"strings"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/internal/program"
)

func main() { new(app).service().Main() }

// walked is the walk through the access patterns.
var walked = program.Program{Name: "cqrs", Table: "Cqrs", Show: show}

// app has the flags of its own.
type app struct {
	files   string
	options api.Options
}

func (a *app) service() program.Service {
	return program.Service{
		Name: walked.Name, Table: walked.Table, Data: "`file` that keeps the table",
		Modes: []program.Mode{
			{Flag: program.DevFlag, Usage: program.DevUsage, Run: a.develop},
			{Flag: "serve", Usage: program.ServeUsage + "; handle the table's stream", Run: a.serve},
			{Flag: "serve-api", Usage: "as -serve, without the table's stream, which functions handle then", Run: a.serveAPI},
			{Flag: "rebuild", Usage: "make a new `projection` of the relational read model, and end", Run: rebuild},
			{Flag: "repair", Usage: "bring data and catalogue up to the history, and end", Run: repair},
			{Flag: "walk", Usage: program.WalkUsage, Run: walked.Walk},
		},
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&a.files, "files", "", "`directory` with the files of imports, one for each tenant; with -dev only")
			flags.Func("proxies", "`networks` of the proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8, with commas between", func(text string) error {
				for network := range strings.SplitSeq(text, ",") {
					prefix, err := netip.ParsePrefix(network)
					if err != nil {
						return fmt.Errorf("%q is no network", network)
					}
					a.options.Proxies = append(a.options.Proxies, prefix)
				}
				return nil
			})
		},
	}
}
