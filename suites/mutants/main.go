// Command mutants shows that tests can see the guards of the write protocols and the
// fixes of faults: it removes one after the other and runs the tests that must fail
// then. It changes no file of the checkout.
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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	killed, all := 0, 0
	fmt.Println("| without this guard | fails | seconds |")
	fmt.Println("|---|---|--:|")
	for _, m := range mutants {
		if !pattern.MatchString(m.guard) {
			continue
		}
		all++
		start := time.Now()
		test, err := m.try(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.guard, err)
		}
		if test != "" {
			killed++
		}
		fmt.Printf("| %s | %s | %.0f |\n", m.guard, test, time.Since(start).Seconds())
	}
	if killed < all {
		return fmt.Errorf("%d of %d guards are seen", killed, all)
	}
	return nil
}

// timeout bounds the tests of a mutant, which may wait for what never comes.
const timeout = 4 * time.Minute

// try builds the mutant and runs its tests. It returns the first one that fails,
// "" if all pass.
func (m mutant) try(ctx context.Context, dir string) (failed string, err error) {
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	args := []string{"test", "-overlay", overlay, "-count=1", "-failfast", "-timeout", timeout.String(), "-run", m.run, m.pkg}
	if slices.Contains(explorers, m.pkg) {
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
func (m mutant) overlay(dir string) (string, error) {
	path, err := filepath.Abs(filepath.FromSlash(m.file))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s has %d times %q", m.file, n, m.old)
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}
