package metering_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
)

var ten = time.Date(2024, 1, 15, 10, 0, 0, 0, time.UTC)

func TestMessagesAreRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128)
	for text, want := range map[string]metering.Message{
		`{"schemaVersion":1,"workspaceId":"acme","metricId":"m","count":1,"date":"2024-01-15T10"}`: {
			WorkspaceID: "acme", MetricID: "m", Count: 1, Hour: ten,
		},
		`{"workspaceId":"acme","metricId":"no_version","count":1,"date":"2024-01-15T10"}`:              {WorkspaceID: "acme", MetricID: "no_version", Count: 1, Hour: ten},
		`{"schemaVersion":1.0,"workspaceId":"acme","metricId":"m","count":2,"date":"2024-01-15T10"}`:   {WorkspaceID: "acme", MetricID: "m", Count: 2, Hour: ten},
		`{"schemaVersion":1.0,"workspaceId":"acme","metricId":"m","count":5.0,"date":"2024-01-15T10"}`: {WorkspaceID: "acme", MetricID: "m", Count: 5, Hour: ten},
		`{"workspaceId":"acme","metricId":"m","count":1e3,"date":"2024-01-15T10"}`:                     {WorkspaceID: "acme", MetricID: "m", Count: 1000, Hour: ten},
		`{"schemaVersion":null,"workspaceId":"acme","metricId":"m","count":3,"date":"2024-01-15T10"}`:  {WorkspaceID: "acme", MetricID: "m", Count: 3, Hour: ten},
		` {"schemaVersion":1,"workspaceId":"A-z_09","userId":"-","metricId":"_","count":1000000,"date":"2024-02-29T23","messageId":"x"}` + "\n": {
			ID: "x", WorkspaceID: "A-z_09", UserID: "-", MetricID: "_", Count: 1_000_000, Hour: time.Date(2024, 2, 29, 23, 0, 0, 0, time.UTC),
		},
		`{"schemaVersion":1,"workspaceId":"` + long + `","userId":null,"metricId":"` + long + `","count":2,"date":"2024-12-31T00"}`: {
			WorkspaceID: long, MetricID: long, Count: 2, Hour: time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC),
		},
	} {
		got, err := metering.Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		written := check.Must(json.Marshal(got))(t)
		if again, err := metering.Decode(written); err != nil || again != got {
			t.Errorf("%s is written as %s: %v", text, written, err)
		}
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	t.Parallel()
	good := map[string]any{"schemaVersion": 1, "workspaceId": "acme", "userId": "ana", "metricId": "m", "count": 1, "date": "2024-01-15T10"}
	with := func(name string, value any) string {
		changed := map[string]any{name: value}
		for n, v := range good {
			if n != name {
				changed[n] = v
			}
		}
		if value == nil {
			delete(changed, name)
		}
		text := check.Must(json.Marshal(changed))(t)
		return string(text)
	}
	refused := map[string][]string{
		"":      {"", "null", "[]", `"x"`, "{", with("count", 1) + "{}", "\xff"},
		"twice": {`{"count":1,` + with("count", 2)[1:], `{"\u0063ount":1,` + with("count", 2)[1:]},
	}
	for _, name := range []string{"workspaceId", "userId", "metricId", "messageId"} {
		for _, id := range []any{"", "a b", "a#b", "a/b", "é", "a.b", "a\n", strings.Repeat("x", 129), 7, []string{"a"}} {
			refused[name] = append(refused[name], with(name, id))
		}
	}
	for _, name := range []string{"workspaceId", "metricId", "count", "date"} {
		refused[name] = append(refused[name], with(name, nil))
	}
	for _, count := range []any{0, -1, 1_000_001, 1.5, "1", 1e30, true} {
		refused["count"] = append(refused["count"], with("count", count))
	}
	for _, version := range []any{0, "1", -1, []int{1}} {
		refused["schemaVersion"] = append(refused["schemaVersion"], with("schemaVersion", version))
	}
	for _, date := range []any{
		"", "2024-01-15", "2024-01-15T10:00", "2024-01-15T24", "2024-02-30T10", "2023-02-29T10", "1900-02-29T00", "2024-13-01T00",
		"2024-00-01T00", "2024-01-00T00", "2024-01-15T9", "2024-01-15 10", "2024-1-15T010", "x024-01-15T10", "2024-01-15T10Z", 2024011510,
	} {
		refused["date"] = append(refused["date"], with("date", date))
	}
	for name, texts := range refused {
		for _, text := range texts {
			m, err := metering.Decode([]byte(text))
			if !errors.Is(err, metering.ErrInvalid) || table.Classify(err) != table.Permanent {
				t.Errorf("%s: %+v %v", text, m, err)
			} else if name != "" && !strings.Contains(err.Error(), name) {
				t.Errorf("%s: the error does not name %s: %v", text, name, err)
			}
		}
	}
}

func TestARefusalListsEverythingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	const bad = `"workspaceId":"secret one","userId":"secret two","count":0,"count":0,"date":"secret"`
	const everything = "count is there twice; workspaceId is not 1 to 128 letters, digits, _ and -; userId is not 1 to 128 letters, digits, _ and -; " +
		"metricId is required and must be a non-empty string; count is not a whole number from 1 to 1000000; " +
		"date is not an hour of the calendar, as YYYY-MM-DDThh"
	for text, want := range map[string]string{
		`{` + bad + `}`: "metering: not valid: invalid: " + everything,
		`{"schemaVersion":0,"messageId":7,` + bad + `}`: "metering: not valid: invalid: " +
			strings.Replace(everything, "workspaceId", "schemaVersion is not a number from 1 on; messageId is not a string; workspaceId", 1),
		// A later release knows the member, or the producer has mistyped it.
		`{"metric":"secret",` + bad + `}`:     "metering: perhaps of a later release: " + everything + "; metric is unknown",
		`{"a b":"secret",` + bad + `}`:        "metering: perhaps of a later release: " + everything + "; a member whose name is no identifier is unknown",
		`{"schemaVersion":2,"x":1,"count":0}`: "metering: perhaps of a later release: schemaVersion is later than 1",
	} {
		_, err := metering.Decode([]byte(text))
		check.Equal(t, text, fmt.Sprint(err), want)
		later := strings.Contains(want, "later release")
		if errors.Is(err, metering.ErrLater) != later || errors.Is(err, metering.ErrInvalid) == later || (table.Classify(err) == table.Permanent) == later {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhereATextIsNotJSON(t *testing.T) {
	t.Parallel()
	for text, where := range map[string]string{
		"":                                  "line 1, column 1",
		`{"count":1,}`:                      "line 1, column 12",
		"{\n  \"count\": 1,\n  count: 2\n}": "line 3, column 3",
		`{"count":1}{}`:                     "line 1, column 12",
		"{\"a\":\"\xff\"}":                  "line 1, column 7",
		"{\"a\":\n\"\xff\",}":               "line 2, column 2",
		"{]\xff":                            "line 1, column 2",
		"{}\n\xff":                          "line 2, column 1",
	} {
		err := metering.CheckJSON([]byte(text))
		check.Equal(t, text, fmt.Sprint(err), "metering: not valid: invalid: it is not JSON in UTF-8: see "+where)
	}
	check.OK(t, metering.CheckJSON([]byte(`[]`)))
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":1,"workspaceId":"acme","userId":"ana","metricId":"m","count":1,"date":"2024-01-15T10"}`))
	f.Add([]byte(`{"schemaVersion":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := metering.Decode(text)
		if err != nil {
			if errors.Is(err, metering.ErrInvalid) == errors.Is(err, metering.ErrLater) {
				t.Fatal(err)
			}
			return
		}
		written := check.Must(json.Marshal(m))(t)
		if again, err := metering.Decode(written); err != nil || again != m {
			t.Fatalf("%+v is written as %s and read as %+v: %v", m, written, again, err)
		}
	})
}
