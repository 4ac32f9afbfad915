// Command singletable looks at tables, items, keys and page tokens of services that
// use the library of the same name, changes them, and runs the local engine for them.
//
//	go run github.com/singletable/singletable/cmd/singletable@latest COMMAND …
//
// The commands are
//
//	verify      compare a live table with a schema file
//	plan        list what makes a live table as a schema file says
//	ensure      create a table, or add indexes and settings
//	schema      print a live table as a schema file
//	explain     take a key apart
//	cursor      look into a page token
//	get         print an item
//	query       print the items of a partition of the table or an index
//	search      print the items of a vector index that are nearest to an item
//	count       count the items of a partition, or of a table
//	hot         find the partitions with the most items, or writes
//	put         store an item, after a look at the difference
//	delete      delete an item, after a look at it
//	view        show tables in a browser until Ctrl-C
//	dump        write all items of a table to a file or standard output
//	load        write the items of a file into a table
//	engine      run a local DynamoDB engine until Ctrl-C
//	simulate    say which key of a design is refused first at a load, and what it costs
//	check       find faults in the design of a schema file
//	new         copy an example system, as a service of your own
//	mcp         let an agent read a table, within a scope and a budget
//	version     print the version of the program and of the library in it
//	completion  print a script that completes commands and flags in a shell
//
// and each has -h for help with examples, and -json for output that programs
// read. Flags and arguments come in any order.
//
// # Exit codes
//
//   - 0: yes: no difference, a valid key, a token that nothing
//     speaks against, items, a write that was made, an engine or a view that was ended.
//   - 1: no. The reason is on standard output. Of plan and ensure: there are
//     changes that ensure makes, if it is run, or run again. Of get: there is no
//     item. Of put and delete: nothing was written.
//   - 2: no result: wrong usage, a file that cannot be read, no
//     connection, no permission. The reason is on standard error.
//   - 3: no, of plan and ensure: there is a difference that a person has to
//     resolve. Ensure has changed nothing then.
//
// Ctrl-C and SIGTERM end engine and view with 0, and new once it has removed what it has
// begun. They end the other commands at once, as they end a program that does not handle them.
//
// # Output
//
// Keys, names and the messages of an endpoint can hold terminal escapes, and
// characters that hide or reorder text. Every character that is not printable is
// written as \uXXXX, which leaves the values of -json as they are.
//
// # Schema files
//
// A schema file holds a schema.Table of the library as JSON, as encoding/json
// writes it, or a tablemodel.Model, which has the entities of the table too:
//
//	{
//	  "name": "AppCore",
//	  "ttl": "expiresAt",
//	  "indexes": [
//	    {"name": "GSI1", "pk": "gsi1pk", "sk": "gsi1sk"}
//	  ],
//	  "entities": [
//	    {"type": "USER", "items": [{"pk": "USER#{userId}", "sk": "PROFILE"}]}
//	  ]
//	}
//
// schema-file.schema.json, a JSON Schema in this directory, lists all members;
// editors complete and check a file by it. What is left out has the default of the
// library. A member of another name is refused, and so is one that is there twice. A
// file has at most 1 MiB. verify, plan and ensure do not look at the entities.
// Its member accepted has findings of check that stay, with the reasons.
//
// # Credentials
//
// All commands that talk to DynamoDB find region and credentials as the AWS CLI does:
// AWS_PROFILE with SSO, roles and credential processes, the variables AWS_REGION,
// AWS_ACCESS_KEY_ID and so on, or the machine's role. They need the permissions
// dynamodb:DescribeTable and dynamodb:DescribeTimeToLive, and
// dynamodb:DescribeContinuousBackups for a schema with pointInTimeRecovery; schema
// needs all three, and dynamodb:Scan with -sample. view needs the first two, and
// dynamodb:Scan, Query, GetItem, BatchGetItem and ListTables. ensure needs in addition what it
// does of dynamodb:CreateTable, UpdateTable, UpdateTimeToLive,
// UpdateContinuousBackups and TagResource.
//
// The commands on items need dynamodb:DescribeTable and dynamodb:DescribeTimeToLive,
// or a schema file, and what they do: GetItem, Query, Scan, and put and delete
// GetItem, PutItem, UpdateItem and DeleteItem. hot -stream needs DescribeStream,
// GetShardIterator and GetRecords on the table's stream.
//
// cursor takes the keys of page tokens from the variable CURSOR_KEYS or from a
// file, never from the command line, which others can see and shells remember. query
// seals its cursors with those of the variable, and without it not at all.
package main

import (
	"context"
	"os"
	"time"
)

func main() {
	p := program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, now: time.Now, zone: time.Local, patience: 30 * time.Second,
	}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}
