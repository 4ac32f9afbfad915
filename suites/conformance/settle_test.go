package conformance_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/conformance"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// report is a test whose failures are kept.
type report struct {
	testing.TB
	mu     sync.Mutex
	errors []string
}

// Errorf keeps the failure.
func (r *report) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// blind responds to reads of the index as if it were empty.
func blind(reads *int, mu *sync.Mutex) tabletest.Fault {
	return tabletest.After(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		mu.Lock()
		*reads--
		left := *reads
		mu.Unlock()
		if left < 0 {
			return next.RoundTrip(r)
		}
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		resp.Body = http.NoBody
		resp.ContentLength = 0
		return resp, nil
	})
}

// TestWritesSettle shows that with a lag a write does not end before the index
// shows it, and that a test fails if the index never does.
func TestWritesSettle(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk"}}}
	for name, tt := range map[string]struct {
		blind int
		bound time.Duration
		fails bool
	}{
		"at once":   {0, time.Minute, false},
		"after all": {5, time.Minute, false},
		"never":     {1 << 30, 50 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			reads, index := tt.blind, &tabletest.Faults{}
			index.Always("Query", blind(&reads, &mu))
			tb := &report{TB: t}
			// Every client of the harness lags, the test's own reads as well.
			client := conformance.Settling(func(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
				return tabletest.Client(tb, append(optFns, index.Install)...)
			}, tt.bound)
			tbl := tabletest.NewWith(t, client(tb), spec, nil)
			key := keys.Key{PK: "A", SK: "A"}
			expect.OK(t, tbl.Do(t.Context(), table.Put(key, map[string]string{"gsi1pk": "G"})))
			if failed := len(tb.errors) > 0; failed != tt.fails {
				t.Errorf("failures %q, want some: %v", tb.errors, tt.fails)
			}
			if tt.fails && !strings.Contains(tb.errors[0], "index GSI1 does not show it") {
				t.Errorf("failures %q", tb.errors)
			}
			if tt.fails {
				return
			}
			page, err := table.QueryPage[table.Item](t.Context(), tbl, table.Query{Index: "GSI1", PK: "G"})
			if err != nil || len(page.Items) != 1 {
				t.Errorf("%v, %v", page.Items, err)
			}
		})
	}
}
