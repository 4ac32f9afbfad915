package report_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
)

func TestAReportAddsUpWhatRequestsCost(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := report.Report{Out: &out, Meter: &report.Meter{}}
	r.Title("Ein Größenvergleich")
	r.Rows("a\tb", "long\tc")
	r.Meter.Observe(context.Background(), table.Event{Capacity: 1.5})
	r.Meter.Observe(context.Background(), table.Event{Capacity: 2})
	r.Cost("read", 3)
	r.Meter.Observe(context.Background(), table.Event{Capacity: 4})
	r.Spent("writing")
	const want = `
Ein Größenvergleich
-------------------
    a     b
    long  c
  found 3, requests 2, read units 3.5
  writing: requests 1, units 4
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestAWriterRemembersTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	w := &report.Writer{Writer: failing{broken}}
	r := report.Report{Out: w, Meter: &report.Meter{}}
	r.Line("a line")
	r.Line("and another")
	if !errors.Is(w.Err, broken) {
		t.Errorf("error: %v", w.Err)
	}
	check.Is(t, check.Err(io.WriteString(w, "more")), broken, "a later write")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
