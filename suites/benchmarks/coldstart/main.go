// Package coldstart measures what the library adds to the start of a program.
// It builds two programs that make the same calls, one with the library and one
// with the SDK alone. It runs them in turns on the local engine, and prints the
// median of each figure, its spread and the difference. Binaries are measured with
// html/template, too. It then builds the former with more entity types.
//
//	go run ./suites/benchmarks coldstart -runs 30
package coldstart

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/benchmarks/coldstart/local"
	"github.com/singletable/singletable/suites/benchmarks/figure"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	module   = "github.com/singletable/singletable"
	programs = module + "/suites/benchmarks/coldstart/"
)

// Command measures as its flags say.
func Command(flags *flag.FlagSet) func(context.Context) error {
	runs := flags.Int("runs", 30, "how often each program runs")
	return func(ctx context.Context) error { return measure(ctx, *runs) }
}

func measure(ctx context.Context, runs int) (err error) {
	dir, err := os.MkdirTemp("", "coldstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	spec := schema.Table{Name: "coldstart", PK: "PK", SK: "SK"}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		return err
	}
	library, err := build(ctx, dir, "library")
	if err != nil {
		return err
	}
	sdk, err := build(ctx, dir, "sdk")
	if err != nil {
		return err
	}
	for i := range runs {
		for _, p := range []*program{library, sdk} {
			if err := p.run(ctx, engine.Endpoint(), spec.Name, strconv.Itoa(i)+p.name); err != nil {
				return err
			}
		}
	}
	compare(os.Stdout, library, sdk)
	return entities(ctx, dir)
}

// program is one of the two, with the figures of its runs.
type program struct {
	name, path string
	sizes      sizes
	figures    map[string][]float64
}

// The figures of a run.
const (
	initialization = "initialization of the library's packages, ms"
	whole          = "start to end of the program, ms"
	memory         = "resident memory at its peak, MB"
)

func build(ctx context.Context, dir, name string) (*program, error) {
	p := &program{name: name, path: filepath.Join(dir, name), figures: map[string][]float64{}}
	var err error
	p.sizes, err = binaries(ctx, dir, name)
	return p, err
}

// compile builds a program, and returns the size of the binary.
func compile(ctx context.Context, path, program string, flags ...string) (bytes int64, err error) {
	args := slices.Concat([]string{"build", "-ldflags=-s -w", "-o", path}, flags, []string{programs + program})
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("go build %s: %w\n%s", program, err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// directory returns where a program's files are.
func directory(ctx context.Context, name string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", programs+name).Output()
	return strings.TrimSpace(string(out)), err
}

// run runs the program once.
func (p *program) run(ctx context.Context, endpoint, tableName, id string) error {
	var trace strings.Builder
	cmd := exec.CommandContext(ctx, p.path)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1",
		local.Endpoint+"="+endpoint, local.Table+"="+tableName, local.ID+"="+id)
	cmd.Stderr = &trace
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("program %s: %w\n%s", p.name, err, others.ReplaceAllString(trace.String(), ""))
	}
	p.add(whole, milliseconds(time.Since(begun)))
	p.add(initialization, initialized(trace.String()))
	if kilobytes := peak(cmd.ProcessState); kilobytes > 0 {
		p.add(memory, float64(kilobytes)/1024)
	}
	return nil
}

func (p *program) add(figure string, value float64) {
	p.figures[figure] = append(p.figures[figure], value)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

var line = regexp.MustCompile(`(?m)^init ` + regexp.QuoteMeta(module) + `\S* @\S+ ms, (\S+) ms clock`)

// others are the lines of a trace.
var others = regexp.MustCompile(`(?m)^init .*\n`)

// initialized returns the milliseconds that the library's packages took to
// initialize.
func initialized(trace string) (sum float64) {
	for _, m := range line.FindAllStringSubmatch(trace, -1) {
		if ms, err := strconv.ParseFloat(m[1], 64); err == nil {
			sum += ms
		}
	}
	return sum
}

// compare prints the figures as a table in Markdown.
func compare(w io.Writer, library, sdk *program) {
	fmt.Fprintf(w, "%s/%s, medians (least to greatest) of %d runs\n\n", runtime.GOOS, runtime.GOARCH, len(sdk.figures[whole]))
	rows := [][]string{{"", "library", "SDK alone", "difference"}}
	for _, name := range []string{initialization, whole, memory} {
		a, b := library.figures[name], sdk.figures[name]
		if len(a) > 0 && len(b) > 0 {
			rows = append(rows, []string{name, spread(a), spread(b), fmt.Sprintf("%.3f", median(a)-median(b))})
		}
	}
	kilobytes := func(bytes int64) string { return fmt.Sprint(bytes >> 10) }
	above := library.sizes.above(sdk.sizes)
	rows = append(rows,
		[]string{"stripped binary, KB", kilobytes(library.sizes.plain), kilobytes(sdk.sizes.plain), kilobytes(above.plain)},
		[]string{"… with html/template", kilobytes(library.sizes.template), kilobytes(sdk.sizes.template), kilobytes(above.template)})
	fmt.Fprint(w, figure.Table("|---|---:|---:|---:|", rows...))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func spread(values []float64) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", median(values), slices.Min(values), slices.Max(values))
}
