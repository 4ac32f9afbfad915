package metering_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
)

func at(s string) time.Time {
	t, err := time.Parse("2006-01-02T15", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestATimeIsSplitAtMidnights(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("somewhere", 5*60*60) // days are of UTC
	for _, tt := range []struct {
		from, to string
		want     []string
	}{
		{"2024-01-15T10", "2024-01-15T11", []string{"HOUR 2024-01-15T10 to 2024-01-15T11"}},
		{"2024-01-15T00", "2024-01-15T23", []string{"HOUR 2024-01-15T00 to 2024-01-15T23"}},
		{"2024-01-15T00", "2024-01-16T00", []string{"DAY 2024-01-15T00 to 2024-01-16T00"}},
		{"2024-01-15T01", "2024-01-16T00", []string{"HOUR 2024-01-15T01 to 2024-01-16T00"}},
		{"2024-01-15T01", "2024-01-16T23", []string{"HOUR 2024-01-15T01 to 2024-01-16T23"}},
		{"2024-01-15T00", "2024-01-16T01", []string{"DAY 2024-01-15T00 to 2024-01-16T00", "HOUR 2024-01-16T00 to 2024-01-16T01"}},
		{"2024-01-15T23", "2024-01-17T00", []string{"HOUR 2024-01-15T23 to 2024-01-16T00", "DAY 2024-01-16T00 to 2024-01-17T00"}},
		{"2024-02-28T12", "2024-03-01T12", []string{
			"HOUR 2024-02-28T12 to 2024-02-29T00", "DAY 2024-02-29T00 to 2024-03-01T00", "HOUR 2024-03-01T00 to 2024-03-01T12",
		}},
	} {
		var got []string
		for _, p := range metering.Split(at(tt.from).In(zone), at(tt.to).In(zone)) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s to %s: %s", tt.from, tt.to, diff)
		}
	}
}

func TestWhatIsNoQuestionIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := metering.Question{Meter: user, From: ten, To: ten.Add(rangeDays * day)}
	check.OK(t, check.Err(f.Usage(t.Context(), good)))
	sent := len(f.faults.Requests("Query"))
	for what, change := range map[string]func(*metering.Question){
		"workspaceId": func(q *metering.Question) { q.WorkspaceID, q.UserID = "", "" },
		"metricId":    func(q *metering.Question) { q.MetricID = "a#b" },
		"userId":      func(q *metering.Question) { q.UserID = strings.Repeat("x", 129) },
		"1825 days":   func(q *metering.Question) { q.To = q.To.Add(time.Hour) },
		"after":       func(q *metering.Question) { q.To = q.From.Add(-time.Hour) },
		"fromDate is": func(q *metering.Question) { q.From = q.From.Add(time.Minute) },
		"toDate is":   func(q *metering.Question) { q.To = q.To.Add(-time.Nanosecond) },
		"9999":        func(q *metering.Question) { q.From = at("9999-12-31T23"); q.To = q.From },
		"days apart":  func(q *metering.Question) { q.From = time.Time{} },
	} {
		q := good
		change(&q)
		_, err := f.Usage(t.Context(), q)
		if !errors.Is(err, metering.ErrInvalid) || table.Classify(err) != table.Permanent || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check.Equal(t, "requests were sent", len(f.faults.Requests("Query")), sent)
}

// A total that lacks what has expired looks like a good one.
func TestATimeThatHasExpiredIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	check.Equal(t, "status", f.Count(t.Context(), delivery(t, "m-1", message)).Status, metering.Counted)
	q := metering.Question{Meter: user, From: ten, To: ten.Add(day)}
	f.clock.Store(ten.Truncate(day).Add(retention).Unix() - 1)
	u, err := f.Usage(t.Context(), q)
	check.OK(t, err)
	check.Equal(t, "total in the last second", u.Total, message.Count)
	f.move(time.Second) // the counter of the day has expired
	for _, ask := range []func(context.Context, metering.Question) (metering.Usage, error){f.Usage, f.Hourly} {
		u, err = ask(t.Context(), q)
		if !errors.Is(err, metering.ErrInvalid) || !strings.Contains(err.Error(), "fromDate is longer ago than counters are kept") {
			t.Errorf("total %d, error %v", u.Total, err)
		}
	}
	q.From = q.From.Add(day)
	check.OK(t, check.Err(f.Usage(t.Context(), q)))
}

func TestQuestionsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]metering.Question{
		`{"workspaceId":"acme","metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`: {
			Meter: workspace, From: at("2024-01-15T00"), To: at("2024-01-15T23"),
		},
		`{"workspaceId":"acme","userId":"ana","metricId":"exports","fromDate":"2024-01-15T10","toDate":"2024-01-15T10"}`: {Meter: user, From: ten, To: ten},
		`{"workspaceId":null,"userId":"ana","metricId":"exports","fromDate":"2024-01-15T10","toDate":"2024-01-15T10"}`:   {Meter: userAll, From: ten, To: ten},
	} {
		check.Equal(t, text, check.Must(metering.DecodeQuestion([]byte(text)))(t), want)
	}
	const good = `{"workspaceId":"acme","userId":"ana","metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`
	for what, text := range map[string]string{
		"object":                    `[]`,
		"unknown member from; unkn": strings.NewReplacer("fromDate", "from", "toDate", "to").Replace(good),
		"unknown member to":         strings.Replace(good, "toDate", "to", 1),
		"unknown member FromDate":   strings.Replace(good, "fromDate", "FromDate", 1),
		"whose name is no ident":    strings.Replace(good, "{", `{"\n":1,`, 1),
		"toDate is missing":         strings.Replace(good, `,"toDate":"2024-01-15T23"`, "", 1),
		"workspaceId is missing":    `{"metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`,
		"userId is not 1 to":        strings.Replace(good, "ana", "", 1),
		"metricId is not a string":  strings.Replace(good, `"exports"`, "7", 1),
		"fromDate is not an hour":   strings.Replace(good, "15T00", "32T00", 1),
	} {
		_, err := metering.DecodeQuestion([]byte(text))
		if problems, ok := errors.AsType[metering.Problems](err); !ok || !strings.Contains(problems.String(), what) || !errors.Is(err, metering.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzDecodeQuestion(f *testing.F) {
	f.Add([]byte(`{"workspaceId":"acme","userId":"ana","metricId":"m","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := metering.DecodeQuestion(text)
		if err == nil && (q.MetricID == "" || q.WorkspaceID == "" && q.UserID == "") || err != nil && !errors.Is(err, metering.ErrInvalid) {
			t.Errorf("%+v %v", q, err)
		}
	})
}
