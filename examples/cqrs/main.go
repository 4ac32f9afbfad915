// Cqrs shows the system of package core: records of many tenants that are changed by
// commands only, with history. README.md describes it.
//
// Run it from the root of the repository:
//
//	go run ./examples/cqrs
//
// It uses a local DynamoDB engine, which it starts and if need be installs, or
// the one that AWS_ENDPOINT_URL_DYNAMODB names.
package main

import "github.com/singletable/singletable/examples/internal/program"

var cqrs = program.Program{Name: "cqrs", Table: "Cqrs", Show: show}

func main() { cqrs.Main() }
