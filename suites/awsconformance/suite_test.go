package awsconformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/awsconformance"
	"github.com/singletable/singletable/suites/conformance"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestSuiteUnderGuard runs the suite as it runs on AWS, on the local engine: with
// the guard, waiting after writes. Everything that it makes is under its own
// prefix, and is gone after it.
func TestSuiteUnderGuard(t *testing.T) {
	g := newGuard(t, "suite")
	var meter awsconformance.Meter
	made := &tabletest.Faults{}
	t.Run("run", func(t *testing.T) {
		conformance.Run(t, conformance.Harness{
			Client: func(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
				return tabletest.Client(tb, append([]func(*dynamodb.Options){meter.Install, made.Install, g.Install}, optFns...)...)
			},
			TablePrefix:  g.TablePrefix(),
			Capabilities: conformance.Capabilities{Lag: time.Minute, NoContinuousBackups: true},
		})
	})
	for _, r := range made.Requests("CreateTable") {
		if !strings.Contains(string(r.Body), `"TableName":"`+g.TablePrefix()) {
			t.Errorf("not under the prefix: %s", r.Body)
		}
	}
	if left := tables(t, g.TablePrefix()); len(left) > 0 {
		t.Errorf("left without a sweep: %q", left)
	}
	t.Log(&meter)
	if cost := meter.Cost(); cost <= 0 || cost > 0.25 {
		t.Errorf("a run costs $%.4f, which is not what the documentation says", cost)
	}
}

// TestMeter compares the meter with requests whose capacity is known.
func TestMeter(t *testing.T) {
	t.Parallel()
	var meter awsconformance.Meter
	client := tabletest.Client(t, meter.Install)
	tbl := tabletest.NewWith(t, client, schema.Table{}, nil)
	key := keys.Key{PK: "A", SK: "A"}
	expect.OK(t, tbl.Do(t.Context(), table.Put(key, map[string]string{"x": strings.Repeat("x", 1500)})))     // 2 write units
	expect.OK(t, tbl.Transact(t.Context(), table.Put(keys.Key{PK: "B", SK: "B"}, nil)))                      // 2 write units
	expect.OK(t, tbl.BatchWrite(t.Context(), table.Put(keys.Key{PK: "C", SK: "C"}, nil), table.Delete(key))) // 1 and 2
	_, err := table.Get[table.Item](t.Context(), tbl.Consistent(), keys.Key{PK: "B", SK: "B"})               // 1 read unit
	expect.OK(t, err)
	_, err = table.QueryPage[table.Item](t.Context(), tbl, table.Query{PK: "B"}) // half a read unit
	expect.OK(t, err)
	want := (7*0.625 + 1.5*0.125) / 1e6
	if got := meter.Cost(); fmt.Sprintf("%.3g", got) != fmt.Sprintf("%.3g", want) {
		t.Errorf("cost %g, want %g\n%v", got, want, &meter)
	}
	for _, part := range []string{"1 tables", "7 write request units", "2 read request units", "as of November 2024", "aws.amazon.com/dynamodb/pricing"} {
		if !strings.Contains(meter.String(), part) {
			t.Errorf("%q is not in the estimate:\n%v", part, &meter)
		}
	}
}
