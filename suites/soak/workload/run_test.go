package workload_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/suites/soak/workload"
	"github.com/singletable/singletable/table/tabletest"
)

func TestMain(m *testing.M) {
	workload.Victim()
	os.Exit(m.Run())
}

// It is not parallel: it looks for goroutines that are left.
func TestRun(t *testing.T) {
	c := workload.Config{Seed: rand.Uint64(), Workers: 3, Ops: 250}
	t.Log("seed", c.Seed)
	var r report.Report
	expect.OK(t, workload.Run(t.Context(), c, &r))
	// So few operations do not meet every fault.
	promises, _ := workload.Expected()
	if err := r.Verdict(promises, nil); err != nil {
		t.Error(err)
	}
}

// An engine that lies is found out: each lie breaks the promise that it is about.
func TestLies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lie  lie
		want report.Promise
	}{
		"a write is acknowledged and lost":           {lie{"PutItem", lost}, report.Stored},
		"a transaction is acknowledged and lost":     {lie{"TransactWriteItems", lost}, report.Linearizable},
		"a deletion is acknowledged and lost":        {lie{"DeleteItem", lost}, report.Stored},
		"a write is refused and executed":            {lie{"TransactWriteItems", refused}, report.Refused},
		"a transaction is executed twice":            {lie{"TransactWriteItems", twice}, report.Counters},
		"a request is executed twice":                {lie{"TransactWriteItems", twice}, report.Once},
		"a query loses an item":                      {lie{"Query", items(func(l []any) []any { return l[1:] })}, report.Walk},
		"a query repeats an item":                    {lie{"Query", items(func(l []any) []any { return append(l, l[0]) })}, report.Truth},
		"a query is out of order":                    {lie{"Query", items(func(l []any) []any { return append(l[1:], l[0]) })}, report.Walk},
		"a query ends after a request without items": {lie{"Query", early}, report.Sparse},
		"a query of an index loses an item":          {lie{"Query", items(func(l []any) []any { return l[1:] })}, report.Growth},
		"a scan loses an item":                       {lie{"Scan", items(func(l []any) []any { return l[1:] })}, report.Walk},
		"an update drops what it does not name":      {lie{"TransactWriteItems", dropped}, report.Kept},
		"a write is executed whatever is stored":     {lie{"TransactWriteItems", unconditional}, report.Lives},
		"an old item is read":                        {lie{"GetItem", stale()}, report.Linearizable},
		"a transaction reads one old item":           {lie{"TransactGetItems", staleOne()}, report.Serializable},
		"a transaction is executed in part":          {lie{"TransactWriteItems", without(half)}, report.Serializable},
		"a transaction does not check what it read":  {lie{"TransactWriteItems", without(unchecked)}, report.Serializable},
		"a query reads a part of a write":            {lie{"Query", items(shortened)}, report.Committed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
			defer engine.Close()
			phases := []string{"model", "shared"}
			switch tt.want {
			case report.Sparse, report.Growth:
				phases = []string{"collections"}
			case report.Serializable, report.Committed:
				phases = []string{"transactions"}
			}
			// Whether an operation comes that shows the lie is drawn by lot.
			for ops := 100; ops < 10_000; ops *= 2 {
				c := workload.Config{Seed: rand.Uint64(), Workers: 3, Ops: ops}
				var r report.Report
				// A worker can stop at what cannot be.
				stopped := workload.RunAround(t.Context(), c, &r, engine, tt.lie.around, phases...)
				t.Logf("seed %d, %d operations, stopped: %v", c.Seed, ops, stopped)
				if r.Broken(tt.want) > 0 {
					return
				}
			}
			t.Errorf("%q was not found to be broken", tt.want)
		})
	}
}

// A consumer that does something wrong is found out.
func TestConsumers(t *testing.T) {
	t.Parallel()
	engine := expect.Value(tabletest.Start(t.Context(), nil))(t)
	defer engine.Close()
	for plant, broken := range map[workload.Plant]report.Promise{
		"":               "",
		workload.Skips:   report.Delivered,
		workload.GoesOn:  report.Effected,
		workload.Doubles: report.Effected,
	} {
		found := false
		// A change that was skipped comes again if the process is killed.
		for ops := 90; !found && ops < 1000; ops *= 2 {
			c := workload.Config{Seed: rand.Uint64(), Workers: 3, Ops: ops}
			if plant != "" {
				c.Patience = time.Second
			}
			var r report.Report
			expect.OK(t, workload.RunPlanted(t.Context(), c, &r, engine, plant))
			found = r.Broken(broken) > 0
			if plant == "" {
				expect.OK(t, r.Verdict([]report.Promise{report.Delivered, report.Effected, report.Projected}, nil))
				found = true
			}
		}
		if !found {
			t.Errorf("a consumer %q was not found out", plant)
		}
	}
}

// lie is what an engine does in place of one operation, now and then.
type lie struct {
	operation string
	tell      func(r *http.Request, next http.RoundTripper) (*http.Response, error)
}

func (l lie) around(fault tabletest.Fault) tabletest.Fault {
	var requests atomic.Int64
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+l.operation) || requests.Add(1)%4 != 0 {
			return fault(r, next)
		}
		return fault(r, liar(func(r *http.Request) (*http.Response, error) { return l.tell(r, next) }))
	}
}

type liar func(*http.Request) (*http.Response, error)

func (f liar) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(r *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func lost(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
	return respond(r, http.StatusOK, []byte("{}")), nil
}

func refused(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	_ = resp.Body.Close()
	return tabletest.Status(http.StatusBadRequest, "ValidationException", "A lie.")(r, next)
}

// twice executes a transaction a second time, under another token.
func twice(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	// Without conditions, as if they had been looked at once.
	if second, err := unconditional(r, next); err == nil {
		_ = second.Body.Close()
	}
	return resp, nil
}

// unconditional executes a transaction without its conditions.
func unconditional(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	return writes(func(_ string, x map[string]any) { strip(x) })(r, next)
}

// dropped executes an update of an entity as if the program had replaced the
// item by what it knows of it: the nick is gone unless it is set.
func dropped(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	return writes(func(verb string, x map[string]any) {
		names, _ := x["ExpressionAttributeNames"].(map[string]any)
		if verb != "Update" || !slices.Contains(slices.Collect(maps.Values(names)), any("version")) ||
			slices.Contains(slices.Collect(maps.Values(names)), any("nick")) {
			return
		}
		names["#dropped"] = "nick"
		x["UpdateExpression"] = x["UpdateExpression"].(string) + " REMOVE #dropped"
	})(r, next)
}

// writes executes a transaction whose writes are changed, under another token.
func writes(change func(verb string, x map[string]any)) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return without(func(items []any) []any {
		for _, op := range items {
			for _, verb := range []string{"Put", "Update", "Delete"} {
				if x, ok := op.(map[string]any)[verb].(map[string]any); ok {
					change(verb, x)
				}
			}
		}
		return items
	})
}

// without executes a part of a transaction, under another token.
func without(part func([]any) []any) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		asked, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		var in map[string]any
		if err := json.NewDecoder(asked).Decode(&in); err != nil {
			return nil, err
		}
		in["TransactItems"] = part(in["TransactItems"].([]any))
		in["ClientRequestToken"] = strconv.FormatUint(rand.Uint64(), 10)
		body, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		q := r.Clone(r.Context())
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return next.RoundTrip(q)
	}
}

// strip removes the condition of a write, with what only it refers to.
func strip(x map[string]any) {
	condition, _ := x["ConditionExpression"].(string)
	delete(x, "ConditionExpression")
	update, _ := x["UpdateExpression"].(string)
	for _, member := range []string{"ExpressionAttributeNames", "ExpressionAttributeValues"} {
		placeholders, _ := x[member].(map[string]any)
		for name := range placeholders {
			if strings.Contains(condition, name) && !strings.Contains(update, name) {
				delete(placeholders, name)
			}
		}
		if len(placeholders) == 0 {
			delete(x, member)
		}
	}
}

// change changes an response.
func change(f func(out map[string]any)) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		var out map[string]any
		if err := json.Unmarshal(body, &out); err != nil {
			return nil, fmt.Errorf("%s: %w", body, err)
		}
		f(out)
		if body, err = json.Marshal(out); err != nil {
			return nil, err
		}
		return respond(r, resp.StatusCode, body), nil
	}
}

// items changes the items of an response, if there are some.
func items(f func([]any) []any) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return change(func(out map[string]any) {
		if list, _ := out["Items"].([]any); len(list) > 0 {
			out["Items"] = f(list)
		}
	})
}

// early says that there is nothing more after a request without items.
func early(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	return change(func(out map[string]any) {
		if list, _ := out["Items"].([]any); len(list) == 0 {
			delete(out, "LastEvaluatedKey")
		}
	})(r, next)
}

// stale responds to a read of a lock with the item that an earlier read found.
func stale() func(*http.Request, http.RoundTripper) (*http.Response, error) {
	var mu sync.Mutex
	var old any
	swap := change(func(out map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		found := out["Item"]
		if old != nil {
			out["Item"] = old
		}
		old = found
	})
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		asked, err := io.ReadAll(body)
		if err != nil || !bytes.Contains(asked, []byte("LOCK#")) {
			return next.RoundTrip(r)
		}
		return swap(r, next)
	}
}

// staleOne responds to a transaction with one item as an earlier one found it.
func staleOne() func(*http.Request, http.RoundTripper) (*http.Response, error) {
	var mu sync.Mutex
	old := map[string]any{}
	return change(func(out map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		responses, _ := out["Responses"].([]any)
		for i, r := range responses {
			item, _ := r.(map[string]any)["Item"].(map[string]any)
			name := fmt.Sprint(item["history"], item["name"])
			before := old[name]
			old[name] = r
			if i == 0 && before != nil {
				responses[0] = before
			}
		}
	})
}

// half executes the first half of a transaction.
func half(items []any) []any { return items[:(len(items)+1)/2] }

// unchecked leaves a transaction's checks of other items out.
func unchecked(items []any) []any {
	return slices.DeleteFunc(items, func(item any) bool { return item.(map[string]any)["ConditionCheck"] != nil })
}

// shortened leaves out the last value of each series.
func shortened(list []any) []any {
	for _, item := range list {
		values, _ := item.(map[string]any)["values"].(map[string]any)
		if l, _ := values["L"].([]any); len(l) > 0 {
			values["L"] = l[:len(l)-1]
		}
	}
	return list
}
