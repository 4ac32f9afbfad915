// Blog is a blog in one DynamoDB table, behind HTTP: users, posts and comments, groups
// with members, and drives with folders and files. README.md describes it.
//
// For a look at it, in this directory:
//
//	go run . -dev
//
// It also walks through the classic patterns of single-table design, one after
// the other, with keys, rows and costs. And it migrates a blog from three
// tables into the single one while writers write:
//
//	go run . -walk
//
// It serves a table and a bucket of AWS, by the settings of the environment:
//
//	go run . -serve
//
// The others use a local DynamoDB engine, which they start and if need be install, or the one
// that AWS_ENDPOINT_URL_DYNAMODB names.
package main

import "github.com/singletable/singletable/examples/internal/program"

func main() { service.Main() }

var service = program.Service{
	Name: blog.Name, Table: blog.Table, Data: "`directory` that keeps the table and the objects",
	Modes: []program.Mode{
		{Flag: program.DevFlag, Usage: program.DevUsage, Run: develop},
		{Flag: "serve", Usage: program.ServeUsage + ", with the consumer of its stream and the sweep", Run: serve},
		{Flag: "serve-api", Usage: "as -serve, without consumer and sweep, which are functions then", Run: serveAPI},
		{Flag: "walk", Usage: program.WalkUsage, Run: blog.Walk},
	},
}
