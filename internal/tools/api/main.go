// Command api compares the exported API of the library with a listing of it,
// api.txt, so that nobody changes it without noticing, and lists the exported names
// that nothing uses. It is run from the root of the repository:
//
//	go run ./internal/tools/api           compare, and fail if they differ
//	go run ./internal/tools/api -update   write the listing
//
// The listing has one line for each thing that a caller can depend on, and is
// reviewed with the change that alters it.
//
// Each exported name is used by an Example with output, an example program, a
// command, the suite of schedules or a sibling package; see [unused]. A name without a use is unexported or
// deleted before it is released.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const listing = "internal/tools/api/api.txt"

func main() {
	update := flag.Bool("update", false, "write "+listing)
	flag.Parse()
	if err := run(context.Background(), *update, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, update bool, out io.Writer) error {
	r, err := load(ctx)
	if err != nil {
		return err
	}
	return errors.Join(list(r, update, out), checkUse(r))
}

// list compares the exported API with its listing, or writes the listing.
func list(r *repository, update bool, out io.Writer) error {
	public, err := r.public()
	if err != nil {
		return err
	}
	var have []string
	for _, p := range public {
		have = append(have, describe(p)...)
	}
	slices.Sort(have)
	text, err := os.ReadFile(listing)
	if err != nil {
		return err
	}
	listed := lines(string(text))
	if slices.Equal(listed, have) {
		return nil
	}
	for _, line := range without(listed, have) {
		fmt.Fprintln(out, "-", line)
	}
	for _, line := range without(have, listed) {
		fmt.Fprintln(out, "+", line)
	}
	if update {
		return os.WriteFile(listing, []byte(strings.Join(have, "\n")+"\n"), 0o644)
	}
	return errors.New("the exported API differs from " + listing + `
If that is meant, run "make api-update" and say so in the CHANGELOG; VERSIONING.md says what may change when`)
}

// without returns the lines of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

// checkUse returns an error that lists the exported names that nothing uses.
func checkUse(r *repository) error {
	names, err := unused(r)
	if err != nil || len(names) == 0 {
		return err
	}
	return errors.New("no Example with output, example program, command or sibling package uses these exported names:\n\t" +
		strings.Join(names, "\n\t") + "\nUnexport them, delete them, or show them where a user needs them")
}

// lines returns the lines of a listing.
func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}
