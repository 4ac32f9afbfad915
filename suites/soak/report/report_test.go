package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fill func(*report.Report)
		want string
	}{
		"all held": {func(r *report.Report) {
			r.Check(report.Stored, "here", nil)
			r.Fault("reset")
		}, ""},
		"never tried":    {func(r *report.Report) { r.Fault("reset") }, "never tried: " + string(report.Stored)},
		"never injected": {func(r *report.Report) { r.Check(report.Stored, "here", nil) }, "never injected: reset"},
		"never replayed": {func(r *report.Report) {
			r.Fault("reset")
			r.Check(report.Stored, "here", nil)
			r.Requests(3, 1, 0, 0)
		}, "only one way was tried: 0 of 3 requests were replayed"},
		"broken": {func(r *report.Report) {
			r.Fault("reset")
			r.Check(report.Stored, "here", nil)
			r.Check(report.Stored, "there", errors.New("gone"))
		}, "there: " + string(report.Stored) + ": gone"},
		"another promise broken": {func(r *report.Report) {
			r.Fault("reset")
			r.Check(report.Stored, "here", nil)
			r.Check(report.Walk, "there", errors.New("gone"))
		}, "there: " + string(report.Walk) + ": gone"},
	} {
		var r report.Report
		tt.fill(&r)
		got := ""
		if err := r.Verdict([]report.Promise{report.Stored}, []string{"reset"}); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		complete := !strings.HasPrefix(tt.want, "never")
		if got := r.Complete([]report.Promise{report.Stored}, []string{"reset"}); got != complete {
			t.Errorf("%s: complete %t", name, got)
		}
	}
}

func TestVerdictIsBounded(t *testing.T) {
	t.Parallel()
	var r report.Report
	for i := range 1000 {
		r.Check(report.Stored, "here", fmt.Errorf("failure %d", i))
	}
	if n := strings.Count(r.Verdict(nil, nil).Error(), "\n"); n > 50 {
		t.Errorf("%d lines", n)
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	var r report.Report
	for _, err := range []error{nil, nil, table.ErrExists, table.ErrOutcomeUnknown, table.ErrThrottled} {
		r.Op("Do", err)
	}
	r.Requests(9, 3, 4, 1)
	r.Fault("reset")
	r.Check(report.Stored, "here", nil)
	r.Check(report.Stored, "here", errors.New("gone"))
	r.Note("that is all")
	var b strings.Builder
	expect.OK(t, r.Print(&b))
	for _, want := range []string{
		"       2        1        1        1  Do\n",
		"                                 9  sent\n",
		"                                 4  of these, replayed\n",
		"                                 1  reset\n",
		"                2        1        1  " + string(report.Stored) + "\n",
		"                0        0        0  " + string(report.Walk) + "\n",
		"that is all\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestAllPromisesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[report.Promise]int{}
	for _, p := range report.All() {
		seen[p]++
	}
	if diff := cmp.Diff(len(report.All()), len(seen)); diff != "" {
		t.Error(diff)
	}
}
