// Command mutants shows that tests can see the guards of the write protocols and the
// fixes of faults. It finds them by markers in the code, such as
//
//	//mutants:guard a key that moves is created, not put | TestRepo/copies ./suites/schedules | Create => Put
//	return table.Create(s.key, s.made).WithName(s.name)
//
// It removes one after the other and runs the tests that must fail then. It changes no
// file of the checkout, and runs in its root. With -list it only prints the guards and
// their tests. README.md has the form of a marker.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("run", "", "the guards to remove, as a regular expression; all by default")
	list := flag.Bool("list", false, "print the guards and their tests, and remove none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, list bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := guards(".")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(g guard) bool { return !pattern.MatchString(g.name) })
	if list {
		for _, g := range all {
			fmt.Printf("%s: %s | %s %s\n", g.at(), g.name, g.run, g.pkg)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	seen := 0
	fmt.Println("| without this guard | fails | seconds |")
	fmt.Println("|---|---|--:|")
	for _, g := range all {
		start := time.Now()
		test, err := g.try(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if test != "" {
			seen++
		}
		fmt.Printf("| %s | %s | %.0f |\n", g.name, test, time.Since(start).Seconds())
	}
	if seen < len(all) {
		return fmt.Errorf("%d of %d guards are seen", seen, len(all))
	}
	return nil
}

// explorers are the packages whose tests take the flag -limit.
var explorers = []string{
	"./suites/schedules", "./examples/shop/store", "./examples/appcore/core", "./examples/cqrs/core",
	"./examples/blog/migrate", "./examples/blog/store", "./examples/usage/metering",
}

// timeout bounds the tests of a guard, which may wait for what never comes.
const timeout = 4 * time.Minute

// try runs the tests of a guard without it. It returns the first one that fails, "" if all
// pass.
func (g guard) try(ctx context.Context, dir string) (failed string, err error) {
	overlay, err := g.overlay(dir)
	if err != nil {
		return "", err
	}
	args := []string{"test", "-overlay", overlay, "-count=1", "-failfast", "-timeout", timeout.String(), "-run", g.run, g.pkg}
	if slices.Contains(explorers, g.pkg) {
		args = append(args, "-limit", "40")
	}
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return "", ctx.Err()
	}
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return "", err
	}
	return failure(string(out))
}

var failedTest = regexp.MustCompile(`--- FAIL: (\S+)`)

var failedSchedule = regexp.MustCompile(`schedule "([^"]*)"`)

// failure returns the test that failed last, which is the innermost, and its
// schedule.
func failure(out string) (string, error) {
	tests := failedTest.FindAllStringSubmatch(out, -1)
	if len(tests) == 0 {
		return "", fmt.Errorf("no test has run:\n%s", out)
	}
	test := tests[0][1]
	for _, t := range tests {
		if strings.HasPrefix(t[1], test) {
			test = t[1]
		}
	}
	test = "`" + strings.ReplaceAll(test, "_", " ") + "`"
	if s := failedSchedule.FindStringSubmatch(out); s != nil {
		test += ": `" + s[1] + "`"
	}
	return test, nil
}

// overlay writes the changed file, and the file that tells the go command of it.
func (g guard) overlay(dir string) (string, error) {
	path, err := filepath.Abs(filepath.FromSlash(g.file))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	without, err := g.remove(string(source))
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(without), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}
