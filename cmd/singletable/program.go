package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/singletable/singletable/cmd/singletable/internal/lines"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
)

// The exit codes.
const (
	exitYes = iota
	exitNo
	exitTrouble
	exitManual
)

// errNo ends a command that has printed a no, errManual one that has printed what a
// person has to do.
var (
	errNo     = errors.New("no")
	errManual = errors.New("manual")
)

// usageError is an invalid command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// program is what the commands know of the world around them.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	zone           *time.Location
	patience       time.Duration // with an endpoint
	region         string        // once it is connected
	omitted        []string      // what the live table has and its schema cannot say
	// described, if set, is given what -h would print. A command parses first, so
	// with -h it does nothing else: this is how its flags are known elsewhere.
	described func(fs *flag.FlagSet, help string)
}

// command is one subcommand.
type command struct {
	name string
	does string // in the list of commands
	run  func(*program, context.Context, []string) error
}

// describe returns the flags and the help of the command.
func (c command) describe() (fs *flag.FlagSet, help string) {
	p := program{described: func(f *flag.FlagSet, text string) { fs, help = f, text }}
	_ = c.run(&p, context.Background(), []string{"-h"}) // It is flag.ErrHelp.
	return fs, help
}

func commands() []command {
	return []command{
		{"verify", "compare a live table with a schema file", (*program).verify},
		{"plan", "list what makes a live table as a schema file says, and who has to do it", (*program).plan},
		{"ensure", "create a table, or add indexes and settings that a schema file has", (*program).ensure},
		{"schema", "print a live table as a schema file", (*program).schema},
		{"explain", "take a key apart: segments, times, limits, what is wrong with it", (*program).explain},
		{"cursor", "look into a page token: key, issue time, expiry, position", (*program).cursor},
		{"get", "print an item", (*program).get},
		{"query", "print the items of a partition of the table or an index", (*program).query},
		{"search", "print the items of a vector index that are nearest to an item or a vector", (*program).search},
		{"count", "count the items of a partition, or of a table", (*program).count},
		{"hot", "find the partitions with the most items, or writes", (*program).hot},
		{"put", "store an item, after a look at the difference", (*program).put},
		{"delete", "delete an item, after a look at it", (*program).delete},
		{"view", "show tables in a browser: entities, partitions, indexes, items, queries", (*program).view},
		{"dump", "write all items of a table to a file or standard output", (*program).dump},
		{"load", "write the items of a file into a table", (*program).load},
		{"engine", "run a local DynamoDB engine until Ctrl-C", (*program).engine},
		{"simulate", "say what a design does at a load: which key is refused first, and what it costs", (*program).simulate},
		{"check", "find faults in the design of a schema file, and say what a change of it means", (*program).check},
		{"new", "copy an example system, as a service of your own", (*program).new},
		{"mcp", "let an agent read a table, within a scope and a budget", (*program).mcp},
		{"version", "print the version of the program and of the library in it", (*program).version},
		{"completion", "print a script that completes commands and flags in a shell", (*program).completion},
	}
}

// run runs a command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	p.stdout, p.stderr = escaper{p.stdout}, escaper{p.stderr}
	if len(args) == 0 {
		fmt.Fprint(p.stderr, overview())
		return exitTrouble
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help", "help":
		if len(args) == 0 {
			fmt.Fprint(p.stdout, overview())
			return exitYes
		}
		name, args = args[0], []string{"-h"}
	}
	if name == "-version" || name == "--version" {
		name = "version"
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(p.stderr, "singletable: there is no command %q; run \"singletable -h\" for those there are\n", name)
		return exitTrouble
	}
	err := all[i].run(p, ctx, args)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitYes
	case errors.Is(err, errNo):
		return exitNo
	case errors.Is(err, errManual):
		return exitManual
	}
	// Continuation lines are indented, so that none looks like the program's own.
	// The library's errors begin with its name, too.
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), ": singletable: ", ": "), "singletable: ")
	fmt.Fprintf(p.stderr, "singletable %s: %s\n", name, strings.ReplaceAll(text, "\n", "\n  "))
	if _, usage := errors.AsType[usageError](err); usage {
		fmt.Fprintf(p.stderr, "Run \"singletable %s -h\" for help.\n", name)
	}
	return exitTrouble
}

func overview() string {
	var b strings.Builder
	b.WriteString("singletable looks at tables, items, keys and page tokens of single-table services.\n\n" +
		"Usage: singletable COMMAND [flags] [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.does)
	}
	b.WriteString("\n\"singletable COMMAND -h\" tells more. Exit codes: 0 yes, 1 no, 2 no result,\n" +
		"3 no, and a person has to do something (plan and ensure).\n")
	return b.String()
}

// flags returns the flags that every command has.
func flags(name string) (fs *flag.FlagSet, asJSON *bool) {
	fs = flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Its errors are returned, too.
	return fs, fs.Bool("json", false, "print one JSON object")
}

// takes is how many arguments a command has, and what they are.
type takes struct {
	least, most int
	what        string
}

// many is the most arguments of a command that has no bound.
const many = math.MaxInt

// oneSchema is for the commands about a schema file.
var oneSchema = takes{1, 1, "one schema file"}

// parse is parseAny for a command that takes so many arguments.
func (p *program) parse(fs *flag.FlagSet, help string, args []string, takes takes) ([]string, error) {
	rest, err := p.parseAny(fs, help, args)
	if err == nil && (len(rest) < takes.least || len(rest) > takes.most) {
		err = usageError(fmt.Sprintf("it takes %s, and has %s", takes.what, quantity.Of(len(rest), "argument")))
	}
	return rest, err
}

// parseAny reads flags and arguments in any order and returns the arguments. What
// comes after -- are arguments. With -h it prints the help and returns
// flag.ErrHelp.
func (p *program) parseAny(fs *flag.FlagSet, help string, args []string) ([]string, error) {
	var rest []string
	for {
		before := len(args)
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) && p.described != nil {
			p.described(fs, help)
			return nil, err
		} else if errors.Is(err, flag.ErrHelp) {
			var defaults strings.Builder
			fs.SetOutput(&defaults)
			fs.PrintDefaults()
			return nil, errors.Join(p.print(help+"\nFlags:\n"+defaults.String()), err)
		} else if err != nil {
			return nil, usageError(err.Error())
		}
		left := fs.Args()
		if ended := before - len(left); ended > 0 && args[ended-1] == "--" {
			return append(rest, left...), nil
		}
		if len(left) == 0 {
			return rest, nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

// maxInput bounds a file and standard input, in bytes. It is far above every schema,
// cursor and ring of keys.
const maxInput = 1 << 20

// readInput reads a file, or standard input if its name is "-", of at most so many bytes.
// name is the name for errors.
func (p *program) readInput(file string, most int) (text, name string, err error) {
	if file == "-" {
		text, err = readAtMost(p.stdin, standardInput, most)
		return text, standardInput, err
	}
	text, err = readFile(file, most)
	return text, file, err
}

// readAtMost reads an input to its end. name is its name for the error.
func readAtMost(r io.Reader, name string, most int) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return "", err
	}
	if len(text) > most {
		return "", fmt.Errorf("%s: has more than %d bytes", name, most)
	}
	decoded, err := lines.Text(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if strings.TrimSpace(decoded) == "" {
		return "", fmt.Errorf("%s: is empty", name)
	}
	return decoded, nil
}

func readFile(name string, most int) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	return readAtMost(f, name, most)
}

// standardInput is the name of standard input in errors.
const standardInput = "standard input"

// print writes the whole output of a command.
func (p *program) print(text string) error {
	_, err := io.WriteString(p.stdout, text)
	return err
}

// printResult writes the result of a command, as JSON or as the text for people. The
// error is the exit code of a no if the result is no yes.
func (p *program) printResult(v any, text string, asJSON, yes bool) error {
	var err error
	if asJSON {
		err = p.printJSON(v)
	} else {
		err = p.print(text)
	}
	if err == nil && !yes {
		err = errNo
	}
	return err
}

// printJSON writes a value as the whole output of a command.
func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printJSONLine writes a value as one line of a command's output.
func (p *program) printJSONLine(v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return p.print(b.String())
}
