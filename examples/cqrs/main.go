// Cqrs shows the system of package core: records of many tenants that are changed by
// commands only, with history. README.md describes it.
//
// In this directory:
//
//	go run . -dev
//	go run . -walk
//
// The first serves it over HTTP, the second walks through its access patterns.
package main

import "github.com/singletable/singletable/examples/internal/program"

func main() { service.Main() }

// walked is the walk through the access patterns.
var walked = program.Program{Name: "cqrs", Table: "Cqrs", Show: show}

var service = program.Service{
	Name: walked.Name, Table: walked.Table, Data: "`file` that keeps the table",
	Modes: []program.Mode{
		{Flag: program.DevFlag, Usage: program.DevUsage, Run: develop},
		{Flag: "walk", Usage: program.WalkUsage, Run: walked.Walk},
	},
}
