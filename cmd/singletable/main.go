// Command singletable looks at tables, keys and page tokens of services that use
// the library of the same name, and runs the local engine for them.
//
//	go run github.com/singletable/singletable/cmd/singletable@latest COMMAND …
//
// The commands are
//
//	verify    compare a live table with a schema file
//	explain   take a key apart
//	cursor    look into a page token
//	engine    run a local DynamoDB engine until Ctrl-C
//
// and each has -h for help with examples, and -json for output that programs
// read. Flags and arguments come in any order.
//
// # Exit codes
//
//   - 0: the answer is yes: no difference, a valid key, a token that nothing
//     speaks against, an engine that was ended.
//   - 1: the answer is no. What speaks against it is on standard output.
//   - 2: there is no answer: wrong usage, a file that cannot be read, no
//     connection, no permission. The reason is on standard error.
//
// # Schema files
//
// A schema file holds a table.Schema of the library as JSON, as encoding/json
// writes it:
//
//	{
//	  "name": "AppCore",
//	  "ttl": "expiresAt",
//	  "indexes": [
//	    {"name": "GSI1", "pk": "gsi1pk", "sk": "gsi1sk"}
//	  ]
//	}
//
// Members have the names of the fields with a lower-case beginning: name, pk, sk,
// simpleKey, pkType, skType, type, ttl, indexes, and in an index name, pk, sk,
// pkType, skType, local, projection, include. What is left out has the default of
// the library. A member of another name is refused, and so is one that is there
// twice.
//
// # Credentials
//
// verify finds region and credentials as the AWS CLI does: AWS_PROFILE with SSO,
// roles and credential processes, the variables AWS_REGION, AWS_ACCESS_KEY_ID and
// so on, or the machine's role. It needs the permissions dynamodb:DescribeTable
// and dynamodb:DescribeTimeToLive.
//
// cursor takes the keys of page tokens from the variable CURSOR_KEYS or from a
// file, never from the command line, which others can see and shells remember.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	p := program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, now: time.Now, zone: time.Local,
	}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
