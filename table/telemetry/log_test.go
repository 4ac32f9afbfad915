package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// lines is a log in memory. Lines are without time and duration, which differ
// from run to run.
type lines struct{ bytes.Buffer }

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(&l.Buffer, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch {
			case a.Key == slog.TimeKey:
				return slog.Attr{}
			case a.Key == "db.client.operation.duration" && a.Value.Float64() > 0:
				return slog.Attr{}
			}
			return a
		},
	}))
}

// take returns the lines since the last call.
func (l *lines) take(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for text := range bytes.Lines(l.Bytes()) {
		var line map[string]any
		expect.OK(t, json.Unmarshal(text, &line))
		all = append(all, line)
	}
	l.Reset()
	return all
}

func TestLogs(t *testing.T) {
	t.Parallel()
	var out lines
	f := open(t, telemetry.Logs(out.logger()), 1)
	// A line of the log has these, and what the test says.
	line := func(operation string, rest map[string]any) []map[string]any {
		all := map[string]any{
			"level": "DEBUG", "msg": "DynamoDB request", "db.system.name": "aws.dynamodb",
			"db.operation.name": operation, "db.collection.name": f.Schema().Name, "singletable.attempts": 1.0,
		}
		for k, v := range rest {
			all[k] = v
		}
		return []map[string]any{all}
	}
	ctx := telemetry.WithPattern(t.Context(), "profile")
	expect.OK(t, f.Get(ctx))
	expect.Equal(t, "read", out.take(t), line("GetItem", map[string]any{
		"db.query.summary": "profile", "singletable.consumed.read_units": 0.5,
	}))
	telemetry.Logs(out.logger())(t.Context(), table.Event{
		Operation: "SearchVectors", Table: f.Schema().Name, Index: "similar", Attempts: 1, Duration: 1, VectorBytes: 400,
	})
	expect.Equal(t, "search", out.take(t), line("SearchVectors", map[string]any{
		"aws.dynamodb.index_name": "similar", "singletable.consumed.vector_bytes": 400.0,
	}))
	expect.OK(t, expect.ErrOf(table.QueryPage[table.Item](t.Context(), f.Table, table.Query{Index: "GSI1", PK: "G"})))
	expect.Equal(t, "index", out.take(t), line("Query", map[string]any{
		"aws.dynamodb.index_name": "GSI1", "singletable.consumed.read_units": 0.5,
	}))
	expect.OK(t, f.BatchWrite(t.Context(), table.Put(missing, nil), table.Put(keys.Key{PK: "A", SK: "B"}, nil)))
	expect.Equal(t, "batch", out.take(t), line("BatchWriteItem", map[string]any{
		"db.operation.batch.size": 2.0, "singletable.consumed.write_units": 2.0,
	}))
}

func TestLogsOfFailures(t *testing.T) {
	t.Parallel()
	var out lines
	f := open(t, telemetry.Logs(out.logger()), 1)
	want := map[string]map[string]any{
		"ConditionalCheckFailedException": {
			"level": "INFO", "db.operation.name": "PutItem",
			"singletable.error.class": "permanent", "db.response.status_code": "400",
		},
		"TransactionCanceledException": {
			"level": "INFO", "db.operation.name": "TransactWriteItems", "db.operation.batch.size": 2.0,
			"singletable.cancellation_reasons": []any{"None", "ConditionalCheckFailed"},
			"singletable.error.class":          "permanent", "db.response.status_code": "400",
		},
		"ProvisionedThroughputExceededException": {
			"level": "WARN", "singletable.error.class": "transient", "db.response.status_code": "400",
		},
		"AccessDeniedException": {
			"level": "ERROR", "singletable.error.class": "unclassified", "db.response.status_code": "400",
			"aws.request_id": requestID,
		},
		"InternalServerError": {
			"level": "WARN", "singletable.error.class": "transient", "db.response.status_code": "500",
		},
		"connection": {"level": "WARN", "singletable.error.class": "transient"},
		"timeout":    {"level": "WARN", "singletable.error.class": "transient"},
		"_OTHER":     {"level": "WARN", "singletable.error.class": "transient", "db.response.status_code": "200"},
		"canceled":   {"level": "INFO", "singletable.error.class": "transient"},
	}
	for name, call := range f.failures() {
		if call(t.Context()) == nil {
			t.Errorf("%s: no error", name)
		}
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s: what it was about is in the log: %s", name, &out)
		}
		line := map[string]any{
			"msg": "DynamoDB request", "db.system.name": "aws.dynamodb", "db.operation.name": "GetItem",
			"db.collection.name": f.Schema().Name, "singletable.attempts": 1.0, "error.type": name,
		}
		for k, v := range want[name] {
			line[k] = v
		}
		got := out.take(t)
		if id, ok := got[0]["aws.request_id"]; ok && id != requestID {
			delete(got[0], "aws.request_id") // the engine's own
		}
		expect.Equal(t, name, got, []map[string]any{line})
	}
}

func TestLogsBelowTheLevelAreDropped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	f := open(t, telemetry.Logs(slog.New(slog.NewTextHandler(&out, nil))), 3)
	expect.OK(t, f.Get(t.Context()))
	expect.Equal(t, "log of a success", out.String(), "")
}

// TestLogsGoToTheDefaultLogger is the only test that sets it.
func TestLogsGoToTheDefaultLogger(t *testing.T) {
	var out lines
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	observe := telemetry.Logs(nil)
	slog.SetDefault(out.logger())
	observe(t.Context(), table.Event{Operation: "GetItem", Duration: 1})
	expect.Equal(t, "lines", len(out.take(t)), 1)
}
