package metering_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
	f := newFixture(t)
	for text, want := range map[string]metering.Question{
		`{"workspaceId":"acme","metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`: {
			Meter: workspace, From: at("2024-01-15T00"), To: at("2024-01-15T23"),
		},
		`{"workspaceId":"acme","userId":"ana","metricId":"exports","fromDate":"2024-01-15T10","toDate":"2024-01-15T10"}`: {Meter: user, From: ten, To: ten},
		`{"workspaceId":null,"userId":"ana","metricId":"exports","fromDate":"2024-01-15T10","toDate":"2024-01-15T10"}`:   {Meter: userAll, From: ten, To: ten},
	} {
		check.Equal(t, text, check.Must(f.Decode([]byte(text)))(t), want)
	}
	const good = `{"workspaceId":"acme","userId":"ana","metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`
	for text, want := range map[string]string{
		`[]`: "it is not a JSON object",
		`{}`: "workspaceId is required and must be a non-empty string; metricId is required and must be a non-empty string; " +
			"fromDate is required and must be a non-empty string; toDate is required and must be a non-empty string",
		strings.NewReplacer("fromDate", "from", "toDate", "ToDate").Replace(good): "fromDate is required and must be a non-empty string; " +
			"toDate is required and must be a non-empty string; ToDate is unknown; from is unknown",
		strings.Replace(good, "{", `{"\n":1,"\t":1,`, 1): "a member whose name is no identifier is unknown; a member whose name is no identifier is unknown",
		`{"metricId":"exports","metricId":"exports","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`: "metricId is there twice; " +
			"workspaceId is required and must be a non-empty string",
		// Each member is wrong, and the time of the two that are not.
		`{"workspaceId":"a#b","userId":"","metricId":7,"fromDate":"2024-01-15T10","toDate":"2024-01-15T09"}`: "workspaceId is not 1 to 128 letters, digits, _ and -; " +
			"userId is not 1 to 128 letters, digits, _ and -; metricId is not a string; fromDate is after toDate",
		`{"userId":7,"metricId":"exports","fromDate":"2013-01-01T00","toDate":"2024-01-32T00"}`: "userId is not a string; " +
			"toDate is not an hour of the calendar, as YYYY-MM-DDThh; fromDate is longer ago than counters are kept",
		`{"userId":"ana","metricId":"exports","fromDate":"2013-01-01T00","toDate":"9999-12-31T23","from":1}`: "fromDate is longer ago than counters are kept; " +
			"toDate is not a whole hour before 9999-12-31T23; fromDate and toDate are more than 1825 days apart; from is unknown",
	} {
		_, err := f.Decode([]byte(text))
		if problems, ok := errors.AsType[metering.Problems](err); !ok || !errors.Is(err, metering.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		} else {
			check.Equal(t, text, problems.String(), want)
		}
	}
}

func FuzzDecodeQuestion(f *testing.F) {
	// Nothing is sent to the table.
	reader := check.Must(metering.NewReader(check.Must(table.New(dynamodb.New(dynamodb.Options{}), metering.Schema("any"), nil))(f), nil))(f)
	f.Add([]byte(`{"workspaceId":"acme","userId":"ana","metricId":"m","fromDate":"2024-01-15T00","toDate":"2024-01-15T23"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := reader.Decode(text)
		if err == nil && (q.MetricID == "" || q.WorkspaceID == "" && q.UserID == "") || err != nil && !errors.Is(err, metering.ErrInvalid) {
			t.Errorf("%+v %v", q, err)
		}
	})
}
