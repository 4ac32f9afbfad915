package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// building is a live table in the states that local engines do not show: it takes
// time to add an index. It is described by the responses that DynamoDB gives.
type building struct {
	t      *testing.T
	schema schema.Table // of what there is
	// adding is the index that is being added, if any.
	adding *schema.Index
	began  time.Time
	takes  time.Duration
	// late is how long an accepted index, and a setting that is changed, is not shown.
	late time.Duration
	// updating is the end of the last change of a setting, hidden the setting.
	updating time.Time
	hidden   string
}

// The table is UPDATING for this long when an index is added, and when a setting
// changes, which is not shown before.
const (
	allocation  = time.Minute
	settingTime = 25 * time.Second
)

func (b *building) describe(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
	in := expect.Value(b.schema.CreateTableInput())(b.t)
	description := map[string]any{
		"TableStatus": "ACTIVE", "KeySchema": in.KeySchema, "BillingModeSummary": map[string]any{"BillingMode": "PAY_PER_REQUEST"},
		"ItemCount": 3000, "TableSizeBytes": 5 << 20, "StreamSpecification": in.StreamSpecification,
		"DeletionProtectionEnabled": in.DeletionProtectionEnabled,
	}
	if time.Now().Before(b.updating) {
		description["TableStatus"] = "UPDATING"
	}
	if time.Now().Before(b.updating.Add(b.late)) {
		delete(description, b.hidden)
	}
	var indexes []map[string]any
	add := func(x types.GlobalSecondaryIndex, status string) map[string]any {
		indexes = append(indexes, map[string]any{
			"IndexName": x.IndexName, "IndexStatus": status, "KeySchema": x.KeySchema,
			"Projection": map[string]any{"ProjectionType": x.Projection.ProjectionType},
		})
		return indexes[len(indexes)-1]
	}
	for _, x := range in.GlobalSecondaryIndexes {
		add(x, "ACTIVE")
	}
	if age := time.Since(b.began); b.adding != nil && age >= b.late {
		with := b.schema
		with.Indexes = append(with.Indexes[:len(with.Indexes):len(with.Indexes)], *b.adding)
		in = expect.Value(with.CreateTableInput())(b.t)
		x := in.GlobalSecondaryIndexes[len(in.GlobalSecondaryIndexes)-1]
		switch {
		case age < allocation:
			description["TableStatus"] = "UPDATING"
			add(x, "CREATING")["Backfilling"] = false
		case age < b.takes:
			add(x, "CREATING")["Backfilling"] = true
		default:
			add(x, "ACTIVE")
			b.schema, b.adding = with, nil
		}
	}
	description["AttributeDefinitions"], description["GlobalSecondaryIndexes"] = in.AttributeDefinitions, indexes
	body := expect.Value(json.Marshal(map[string]any{"Table": description}))(b.t)
	return expect.Response(r, http.StatusOK, "", string(body)), nil
}

// update accepts one index at a time, and settings while none is allocated.
func (b *building) update(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
	var in struct {
		GlobalSecondaryIndexUpdates []struct {
			Create struct {
				IndexName  string
				KeySchema  []struct{ AttributeName string }
				Projection struct{ ProjectionType types.ProjectionType }
			}
		}
		StreamSpecification       struct{ StreamViewType types.StreamViewType }
		DeletionProtectionEnabled bool
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		b.t.Error(err)
	}
	changes := len(in.GlobalSecondaryIndexUpdates)
	switch {
	case b.adding != nil && time.Since(b.began) < allocation, time.Now().Before(b.updating):
		return inUse(r, nil)
	case b.adding != nil && changes > 0:
		return canned(http.StatusBadRequest, "LimitExceededException", `{"message":"Injected."}`)(r, nil)
	}
	if in.StreamSpecification.StreamViewType != "" {
		b.schema.Stream, b.hidden, b.updating = in.StreamSpecification.StreamViewType, "StreamSpecification", time.Now().Add(settingTime)
		changes++
	}
	if in.DeletionProtectionEnabled {
		b.schema.DeletionProtection, b.hidden, b.updating = true, "DeletionProtectionEnabled", time.Now().Add(settingTime)
		changes++
	}
	for _, x := range in.GlobalSecondaryIndexUpdates {
		b.adding = &schema.Index{Name: x.Create.IndexName, PK: x.Create.KeySchema[0].AttributeName, Projection: x.Create.Projection.ProjectionType}
		b.began = time.Now()
	}
	if changes != 1 {
		b.t.Errorf("a request with %d changes", changes)
	}
	return expect.Response(r, http.StatusOK, "", "{}"), nil
}

// next is what schemas of a table with GSI1 want next.
func next() schema.Table {
	s := indexed()
	s.Indexes = append(s.Indexes, schema.Index{Name: "GSI2", PK: "gsi2pk"}, schema.Index{Name: "GSI3", PK: "gsi3pk"})
	return s
}

// At most one index is built at a time, and settings do not wait for hours.
func TestEnsureAddsIndexesOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]time.Duration{"shown at once": 0, "shown late": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				spec := next()
				spec.Stream, spec.DeletionProtection = types.StreamViewTypeKeysOnly, true
				client, faults := faulty(noTTL)
				live := &building{t: t, schema: indexed(), takes: 3 * time.Hour, late: late}
				faults.Always("DescribeTable", live.describe)
				faults.Always("UpdateTable", live.update)
				ctx, cancel := context.WithTimeout(t.Context(), 7*time.Hour)
				defer cancel()
				start := time.Now()
				must(t, spec.Ensure(ctx, client))
				if took := time.Since(start); took < 6*time.Hour || took > 6*time.Hour+2*time.Minute {
					t.Errorf("it took %v", took)
				}
				equal(t, "updates", len(faults.Requests("UpdateTable")), 4)
				first := faults.Requests("UpdateTable")[0]
				equal(t, "an index comes first", strings.Contains(string(first.Body), "GlobalSecondaryIndexUpdates"), false)
				// TTL has a request of its own, which is not repeated for hours.
				if asked := len(faults.Requests("DescribeTimeToLive")); asked != 1 {
					t.Errorf("TTL was asked for %d times", asked)
				}
			})
		})
	}
}

// Three processes, each with the responses of the same table.
func TestConcurrentEnsureWhileAnIndexIsBuilt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spec := next()
		client, faults := faulty(noTTL)
		live := &building{t: t, schema: indexed(), takes: 2 * time.Minute, late: time.Second}
		locked := make(chan struct{}, 1)
		one := func(fault tabletest.Fault) tabletest.Fault {
			return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				locked <- struct{}{}
				defer func() { <-locked }()
				return fault(r, next)
			}
		}
		faults.Always("DescribeTable", one(live.describe))
		faults.Always("UpdateTable", one(live.update))
		results := make(chan error)
		for range 3 {
			go func() { results <- spec.Ensure(t.Context(), client) }()
		}
		for range 3 {
			must(t, <-results)
		}
	})
}

// The error says what DynamoDB was doing last. The next call continues to wait.
func TestEnsureOfALargeIndexWithoutDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spec := next()
		spec.Indexes = spec.Indexes[:2]
		client, faults := faulty(noTTL)
		live := &building{t: t, schema: indexed(), takes: 630 * time.Second}
		faults.Always("DescribeTable", live.describe)
		faults.Always("UpdateTable", live.update)
		start := time.Now()
		for calls := 1; ; calls++ {
			err := spec.Ensure(t.Context(), client)
			if err == nil {
				equal(t, "calls", calls, 2) // The 5 minutes begin again when the index is filled.
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || table.Classify(err) != table.Transient ||
				!strings.Contains(err.Error(), "index GSI2: global index GSI2: is CREATING, backfilling: ") {
				t.Fatalf("error %v", err)
			}
			if e, ok := errors.AsType[*schema.Error](err); !ok || e.Index != "GSI2" {
				t.Errorf("error %v names no index", err)
			}
			wellFormed(t, "Ensure", err)
		}
		if took := time.Since(start); took < live.takes || took > live.takes+time.Minute {
			t.Errorf("it took %v", took)
		}
		equal(t, "updates", len(faults.Requests("UpdateTable")), 1)
	})
}

// The error names the index that another process builds, not the one that waits for it.
func TestEnsureWaitsForAnotherIndex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spec := next()
		client, faults := faulty(noTTL)
		live := &building{t: t, schema: indexed(), adding: &spec.Indexes[2], began: time.Now(), takes: time.Hour}
		faults.Always("DescribeTable", live.describe)
		faults.Always("UpdateTable", live.update)
		err := spec.Ensure(t.Context(), client)
		e, ok := errors.AsType[*schema.Error](err)
		if !ok || e.Index != "GSI3" || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "index GSI3: global index GSI3: is CREATING, backfilling") {
			t.Errorf("error %v", err)
		}
	})
}

// What waits for an index that another release builds names that index's end.
func TestEnsureRefusals(t *testing.T) {
	t.Parallel()
	limit := canned(http.StatusBadRequest, "LimitExceededException", `{"message":"Injected."}`)
	invalid := canned(http.StatusBadRequest, "ValidationException", `{"message":"Injected."}`)
	broken := canned(http.StatusServiceUnavailable, "ServiceUnavailable", `{"message":"Injected."}`)
	ok := canned(http.StatusOK, "", "{}")
	for name, tt := range map[string]struct {
		describe []tabletest.Fault // of the first looks
		update   []tabletest.Fault // the last one from then on; nil for those of the table
		updates  int
		want     error
		says     string
		takes    time.Duration
	}{
		"until the deadline":             {nil, []tabletest.Fault{limit}, 300, context.DeadlineExceeded, "global index GSI2: is missing: context deadline exceeded: operation error DynamoDB: UpdateTable", 5 * time.Minute},
		"denied":                         {nil, []tabletest.Fault{denied}, 2, nil, "global index GSI2: is missing: operation error DynamoDB: UpdateTable", time.Second},
		"added first by another process": {nil, []tabletest.Fault{invalid, nil}, 2, nil, "", 2 * time.Minute},
		"accepted, never visible":        {nil, []tabletest.Fault{ok}, 1, schema.ErrMismatch, "global index GSI2: is missing", 10 * time.Second},
		"the first description fails":    {[]tabletest.Fault{broken}, nil, 0, nil, "ServiceUnavailable", 0},
		"a later description fails":      {[]tabletest.Fault{nil, broken, broken}, nil, 1, nil, "", 2 * time.Minute},
		"a later description is denied":  {[]tabletest.Fault{nil, denied}, nil, 1, nil, "AccessDenied", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				spec := next()
				spec.Indexes = spec.Indexes[:2]
				client, faults := faulty(noTTL)
				live := &building{t: t, schema: indexed(), takes: 2 * time.Minute}
				pass := func(fault, instead tabletest.Fault) tabletest.Fault {
					if fault == nil {
						return instead
					}
					return fault
				}
				for _, fault := range tt.describe {
					faults.Next("DescribeTable", pass(fault, live.describe))
				}
				faults.Always("DescribeTable", live.describe)
				for i, fault := range tt.update {
					if i < len(tt.update)-1 {
						faults.Next("UpdateTable", fault)
					}
				}
				faults.Always("UpdateTable", live.update)
				if n := len(tt.update); n > 0 {
					faults.Always("UpdateTable", pass(tt.update[n-1], live.update))
				}
				start := time.Now()
				err := spec.Ensure(t.Context(), client)
				if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %q, %v", err, tt.says, tt.want)
				}
				took := time.Since(start)
				if took < tt.takes || took > tt.takes+30*time.Second {
					t.Errorf("it took %v, want %v", took, tt.takes)
				}
				if sent := len(faults.Requests("UpdateTable")); sent > tt.updates || sent < tt.updates/3 {
					t.Errorf("%d updates, want about %d", sent, tt.updates)
				}
				wellFormed(t, "Ensure", err)
			})
		})
	}
}

// liveTable responds with one description of a table.
func liveTable(t *testing.T, description map[string]any) tabletest.Fault {
	t.Helper()
	for name, value := range map[string]any{
		"TableStatus": "ACTIVE", "BillingModeSummary": map[string]any{"BillingMode": "PAY_PER_REQUEST"},
		"KeySchema": []any{
			map[string]any{"AttributeName": "pk", "KeyType": "HASH"}, map[string]any{"AttributeName": "sk", "KeyType": "RANGE"},
		},
		"AttributeDefinitions": []any{
			map[string]any{"AttributeName": "pk", "AttributeType": "S"}, map[string]any{"AttributeName": "sk", "AttributeType": "S"},
		},
	} {
		if _, ok := description[name]; !ok {
			description[name] = value
		}
	}
	return canned(http.StatusOK, "", string(expect.Value(json.Marshal(map[string]any{"Table": description}))(t)))
}

// TestPlan plans one difference each: what Ensure does, what a person does, and what is
// no difference.
func TestPlan(t *testing.T) {
	t.Parallel()
	type fields = map[string]any
	index := func(name, pk, status string, more ...fields) fields {
		x := fields{
			"IndexName": name, "IndexStatus": status, "Projection": fields{"ProjectionType": "ALL"},
			"KeySchema": []any{fields{"AttributeName": pk, "KeyType": "HASH"}},
		}
		for _, m := range more {
			for k, v := range m {
				x[k] = v
			}
		}
		return x
	}
	attribute := func(name, kind string) fields { return fields{"AttributeName": name, "AttributeType": kind} }
	types3 := []any{attribute("pk", "S"), attribute("sk", "S"), attribute("gsi1pk", "S")}
	with := func(indexes ...any) fields {
		return fields{"GlobalSecondaryIndexes": indexes, "AttributeDefinitions": types3}
	}
	plain := schema.Table{Name: "Notes"}
	gsi1 := indexed()
	onlyKeys := indexed()
	onlyKeys.Indexes[0].Projection = types.ProjectionTypeKeysOnly
	ttlOn := canned(http.StatusOK, "", `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLING","AttributeName":"expires"}}`)
	for name, tt := range map[string]struct {
		schema schema.Table
		live   fields
		ttl    tabletest.Fault
		change string // what Ensure does
		manual string // what a person does
		note   string
	}{
		"no difference": {schema: plain, live: fields{}},
		"a missing index": {
			schema: gsi1, live: fields{"ItemCount": 3000, "TableSizeBytes": 5 << 20},
			change: "global index GSI1: is missing; add it, for at most 8120 write units by DynamoDB's count of items (3000) and bytes (5242880), which is up to about 6 hours old",
		},
		"a missing index of an uncounted table": {
			schema: gsi1, live: fields{"ItemCount": 0, "TableSizeBytes": 0},
			change: "global index GSI1: is missing; add it, for a write unit for each KB of each item: how many is not known",
		},
		"a missing index with invalid counts": {
			schema: gsi1, live: fields{"ItemCount": int64(math.MaxInt64), "TableSizeBytes": int64(math.MaxInt64)},
			change: "global index GSI1: is missing; add it, for a write unit for each KB of each item: how many is not known",
		},
		"an index without its capacity": {
			schema: gsi1, live: fields{"BillingModeSummary": nil},
			manual: "global index GSI1: is missing; give the index ProvisionedThroughput in the schema",
		},
		"an index with an attribute of another type": {
			schema: gsi1, live: fields{"AttributeDefinitions": []any{attribute("pk", "S"), attribute("sk", "S"), attribute("gsi1pk", "N")}},
			manual: "global index GSI1: is missing, and its attribute gsi1pk has type N in other keys, the schema wants S; name another attribute",
		},
		"a global index with the name of a local one": {
			schema: gsi1, live: fields{"LocalSecondaryIndexes": []any{index("GSI1", "pk", "")}},
			manual: "global index GSI1: is missing; give it another name",
			note:   "local index GSI1: is not in the schema; leave it",
		},
		"an index that is being created": {
			schema: gsi1, live: with(index("GSI1", "gsi1pk", "CREATING", fields{"Backfilling": false})),
			change: "global index GSI1: is CREATING; wait until it is ACTIVE",
		},
		"an index that is being filled": {
			schema: gsi1, live: with(index("GSI1", "gsi1pk", "CREATING", fields{"Backfilling": true})),
			change: "global index GSI1: is CREATING, backfilling; wait until it is ACTIVE",
		},
		"an index that is being deleted": {
			schema: gsi1, live: with(index("GSI1", "gsi1pk", "DELETING")),
			change: "global index GSI1: is DELETING; wait until it is gone, and add it",
		},
		"an index of another release": {
			schema: plain, live: with(index("GSI1", "gsi1pk", "CREATING")),
			note: "global index GSI1: is not in the schema; leave it",
		},
		"other keys of an index": {
			schema: gsi1, live: with(index("GSI1", "pk", "ACTIVE")),
			manual: "global index GSI1: keys are HASH pk (S), the schema wants HASH gsi1pk (S); add an index under another name",
		},
		"another projection": {
			schema: onlyKeys, live: with(index("GSI1", "gsi1pk", "ACTIVE")),
			manual: "global index GSI1: projects ALL, the schema wants KEYS_ONLY; add an index under another name",
		},
		"a missing local index": {
			schema: schema.Table{Name: "Notes", Indexes: []schema.Index{{Name: "LSI1", SK: "at", Local: true}}}, live: fields{},
			manual: "local index LSI1: is missing; use a global index",
		},
		"other keys": {
			schema: schema.Table{Name: "Notes", PK: "id"}, live: fields{},
			manual: "keys: are HASH pk (S) and RANGE sk (S), the schema wants HASH id (S) and RANGE sk (S); create a table under another name",
		},
		"no stream": {
			schema: schema.Table{Name: "Notes", Stream: "KEYS_ONLY"}, live: fields{},
			change: "Stream: is off, the schema wants KEYS_ONLY; turn it on",
		},
		"another view": {
			schema: schema.Table{Name: "Notes", Stream: "KEYS_ONLY"},
			live:   fields{"StreamSpecification": fields{"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}},
			manual: "Stream: is NEW_IMAGE, the schema wants KEYS_ONLY; turn it off when every consumer has read it",
		},
		"another billing mode": {
			schema: schema.Table{Name: "Notes", BillingMode: "PAY_PER_REQUEST"}, live: fields{"BillingModeSummary": nil},
			manual: "BillingMode: is PROVISIONED, the schema wants PAY_PER_REQUEST; change it",
		},
		"no protection": {
			schema: schema.Table{Name: "Notes", DeletionProtection: true}, live: fields{},
			change: "DeletionProtection: is off, the schema wants it on; turn it on",
		},
		"no backups": {
			schema: schema.Table{Name: "Notes", PointInTimeRecovery: true}, live: fields{},
			change: "PointInTimeRecovery: is off, the schema wants it on; turn it on",
		},
		"no TTL": {
			schema: schema.Table{Name: "Notes", TTLAttribute: "ttl"}, live: fields{},
			change: `TTL: is off, the schema wants on "ttl"; turn it on`,
		},
		"TTL that the schema lacks": {
			schema: plain, live: fields{}, ttl: ttlOn,
			manual: `TTL: is on "expires", the schema wants off; name the attribute in the schema, or turn TTL off`,
		},
		"TTL on another attribute": {
			schema: schema.Table{Name: "Notes", TTLAttribute: "ttl"}, live: fields{}, ttl: ttlOn,
			manual: `TTL: is on "expires", the schema wants on "ttl"; turn TTL off, and let Ensure turn it on`,
		},
		"a table that is being created":  {schema: gsi1, live: fields{"TableStatus": "CREATING"}, change: "the table is CREATING; wait"},
		"a table that is being deleted":  {schema: gsi1, live: fields{"TableStatus": "DELETING"}, change: "the table is DELETING; wait until it is gone, and create it"},
		"a table that is being updated":  {schema: plain, live: fields{"TableStatus": "UPDATING"}},
		"an index that is being updated": {schema: gsi1, live: with(index("GSI1", "gsi1pk", "UPDATING"))},
		"a replica without permissions":  {schema: plain, live: fields{"TableStatus": "REPLICATION_NOT_AUTHORIZED"}},
		"an engine without statuses":     {schema: gsi1, live: fields{"TableStatus": "", "GlobalSecondaryIndexes": []any{index("GSI1", "gsi1pk", "")}, "AttributeDefinitions": types3}},
		"a table that is being archived": {schema: plain, live: fields{"TableStatus": "ARCHIVING"}, manual: "the table is ARCHIVING; restore it"},
		"an archived table":              {schema: plain, live: fields{"TableStatus": "ARCHIVED"}, manual: "the table is ARCHIVED; restore it"},
		"a table without its encryption key": {
			schema: plain, live: fields{"TableStatus": "INACCESSIBLE_ENCRYPTION_CREDENTIALS"},
			manual: "the table is INACCESSIBLE_ENCRYPTION_CREDENTIALS; give DynamoDB access",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, faults := faulty(denied)
			faults.Always("DescribeTable", liveTable(t, tt.live))
			faults.Always("DescribeContinuousBackups", recoveryOff)
			faults.Always("DescribeTimeToLive", noTTL)
			if tt.ttl != nil {
				faults.Always("DescribeTimeToLive", tt.ttl)
			}
			plan := expect.Value(tt.schema.Plan(t.Context(), client))(t)
			for what, list := range map[string]struct {
				changes []schema.Change
				want    string
			}{"changes": {plan.Changes, tt.change}, "manual": {plan.Manual, tt.manual}, "notes": {plan.Notes, tt.note}} {
				if want := min(len(list.want), 1); len(list.changes) != want || want == 1 && !strings.HasPrefix(list.changes[0].String(), list.want) {
					t.Errorf("%s: %v, want %q", what, list.changes, list.want)
				}
				for _, c := range list.changes {
					if strings.Contains(c.String(), "\n") || c.Difference == "" || c.Action == "" {
						t.Errorf("%s: %q is no line", what, c)
					}
				}
			}
			// The three functions agree.
			err := tt.schema.Verify(t.Context(), client)
			equal(t, "as the schema says", err == nil, tt.change == "" && tt.manual == "")
			equal(t, "a mismatch", errors.Is(err, schema.ErrMismatch), err != nil)
			var problems, differences []string
			if e, ok := errors.AsType[*schema.Error](err); ok {
				problems = e.Problems
			}
			for _, c := range slices.Concat(plan.Changes, plan.Manual) {
				differences = append(differences, c.Difference)
			}
			equal(t, "problems", problems, differences)
			if tt.manual != "" {
				if err := tt.schema.Ensure(t.Context(), client); !errors.Is(err, schema.ErrMismatch) {
					t.Errorf("Ensure: %v", err)
				}
			}
			equal(t, "writes", len(faults.Requests("CreateTable", "UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups")), 0)
		})
	}
}

// An error of a request is no difference of the schema, and neither is a response
// without the description that was asked for.
func TestUnreadDescriptions(t *testing.T) {
	t.Parallel()
	spec := indexed()
	spec.PointInTimeRecovery = true
	for _, operation := range []string{"DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"} {
		for _, fault := range []tabletest.Fault{denied, canned(http.StatusOK, "", ""), canned(http.StatusOK, "", "{}")} {
			client, faults := faulty(noTTL)
			faults.Always("DescribeTable", described(t, spec, "ACTIVE", "ACTIVE"))
			faults.Always("DescribeContinuousBackups", recoveryOn)
			must(t, spec.Verify(t.Context(), client))
			faults.Always(operation, fault)
			_, planned := spec.Plan(t.Context(), client)
			for op, err := range map[string]error{"Plan": planned, "Verify": spec.Verify(t.Context(), client)} {
				if e, ok := errors.AsType[*schema.Error](err); !ok || e.Op != op || errors.Is(err, schema.ErrMismatch) {
					t.Errorf("%s: %v", operation, err)
				}
				wellFormed(t, op, err)
			}
		}
	}
	// A schema that does not manage backups needs no permission for them.
	client, faults := faulty(noTTL)
	faults.Always("DescribeTable", described(t, indexed(), "ACTIVE", "ACTIVE"))
	must(t, indexed().Verify(t.Context(), client))
	equal(t, "requests", len(faults.Requests("DescribeContinuousBackups")), 0)
}

// A pipeline reads a plan as JSON. Lists without elements are empty, not null.
func TestPlanAsJSON(t *testing.T) {
	t.Parallel()
	spec := indexed()
	client, faults := faulty(noTTL)
	faults.Always("DescribeTable", liveTable(t, map[string]any{"ItemCount": aws.Int64(1), "TableSizeBytes": 100}))
	text := string(expect.Value(json.Marshal(expect.Value(spec.Plan(t.Context(), client))(t)))(t))
	equal(t, "plan", text, `{"table":"Notes","changes":[{"difference":"global index GSI1: is missing",`+
		`"action":"add it, for at most 1 write units by DynamoDB's count of items (1) and bytes (100), which is up to about 6 hours old",`+
		`"writeUnits":1}],"manual":[],"notes":[]}`)
}

// randomSchema returns one of many schemas of a table.
func randomSchema(r *rand.Rand, name string) schema.Table {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	s := schema.Table{
		Name: name, TTLAttribute: pick("", "ttl", "expires"), Stream: types.StreamViewType(pick("", "", "KEYS_ONLY", "NEW_IMAGE")),
	}
	for _, index := range []string{"GSI1", "GSI2", "GSI3"} {
		if r.IntN(2) == 0 {
			s.Indexes = append(s.Indexes, schema.Index{
				Name: index, PK: strings.ToLower(index) + "pk", SK: pick("", "at"),
				Projection: types.ProjectionType(pick("", "", "KEYS_ONLY")),
			})
		}
	}
	if r.IntN(4) == 0 {
		s.Indexes = append(s.Indexes, schema.Index{Name: "LSI1", SK: "at", Local: true})
	}
	return s
}

// From any schema to any other: Ensure makes all changes, or none. It drops nothing,
// and whether it can is what the plan says.
func TestEnsureFromAnySchemaToAny(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	outcomes, rounds := map[string]int{}, 60
	if os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") != "" {
		rounds = 10 // DynamoDB Local takes 20 seconds to add an index
	}
	for range rounds {
		faults := &tabletest.Faults{}
		client := tabletest.Client(t, faults.Install)
		before := tabletest.NewWith(t, client, randomSchema(r, "Notes"), nil).Schema()
		after := randomSchema(r, before.Name)
		plan := expect.Value(after.Plan(t.Context(), client))(t)
		writes := func() int { return len(faults.Requests("CreateTable", "UpdateTable", "UpdateTimeToLive")) }
		sent, accepted := writes(), 0
		for _, operation := range []string{"CreateTable", "UpdateTable", "UpdateTimeToLive"} {
			faults.Always(operation, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil && resp.StatusCode == http.StatusOK {
					accepted++ // DynamoDB Local refuses some while it builds an index
				}
				return resp, err
			})
		}
		err := after.Ensure(t.Context(), client)
		switch {
		case len(plan.Manual) > 0:
			outcomes["refused"]++
			if !errors.Is(err, schema.ErrMismatch) || writes() != sent {
				t.Errorf("%+v to %+v: error %v after %d writes, plan %v", before, after, err, writes()-sent, plan)
			}
			must(t, before.Verify(t.Context(), client))
		default:
			outcomes["changed"] += min(len(plan.Changes), 1)
			if err != nil || accepted != len(plan.Changes) || after.Verify(t.Context(), client) != nil {
				t.Errorf("%+v to %+v: error %v after %d writes, plan %v", before, after, err, accepted, plan)
			}
		}
		kept := before
		kept.Stream = ""
		if len(plan.Manual) == 0 {
			kept.TTLAttribute = after.TTLAttribute
		}
		must(t, kept.Verify(t.Context(), client))
	}
	if rounds == 60 && (outcomes["refused"] == 0 || outcomes["changed"] == 0) {
		t.Errorf("outcomes %v", outcomes)
	}
}

// FuzzPlan reads arbitrary descriptions of a table. Plan and Verify end, agree, and
// send nothing that writes.
func FuzzPlan(f *testing.F) {
	for _, body := range []string{
		"", "{}", `{"Table":{}}`, `{"Table":{"TableStatus":"CREATING"}}`, `{"Table":{},"TimeToLiveDescription":{},"ContinuousBackupsDescription":{}}`,
		`{"Table":{"ItemCount":9223372036854775807,"TableSizeBytes":9223372036854775807,"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},` +
			`"GlobalSecondaryIndexes":[{},{"IndexName":"GSI1","IndexStatus":"DELETING","Backfilling":true,"KeySchema":[{}],"Projection":{"ProjectionType":"INCLUDE"}}],` +
			`"LocalSecondaryIndexes":[{"IndexName":"GSI1","KeySchema":null}],"KeySchema":[{},{}],"AttributeDefinitions":[{"AttributeName":"gsi1pk","AttributeType":"N"}],` +
			`"StreamSpecification":{"StreamEnabled":true}},"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED"},"ContinuousBackupsDescription":{}}`,
		`{"Table":{"AttributeDefinitions":[{"AttributeName":"gsi1pk","AttributeType":"N"}]},"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"},"ContinuousBackupsDescription":{}}`,
	} {
		f.Add(uint16(http.StatusOK), "", body)
		f.Add(uint16(http.StatusBadRequest), "ResourceNotFoundException", body)
		f.Add(uint16(http.StatusBadRequest), "UnknownOperationException", body)
	}
	f.Fuzz(func(t *testing.T, status uint16, kind, body string) {
		spec := indexed()
		spec.TTLAttribute, spec.Stream, spec.PointInTimeRecovery, spec.DeletionProtection = "ttl", types.StreamViewTypeKeysOnly, true, true
		if status < 200 || status > 599 {
			status = http.StatusOK
		}
		client, faults := faulty(canned(int(status), kind, body))
		plan, err := spec.Plan(t.Context(), client)
		wellFormed(t, "Plan", err)
		verified := spec.Verify(t.Context(), client)
		wellFormed(t, "Verify", verified)
		differs := len(plan.Changes)+len(plan.Manual) > 0
		unsupported := errors.Is(verified, schema.ErrUnsupported)
		if mismatch := errors.Is(verified, schema.ErrMismatch); mismatch != differs || (err != nil) != (verified != nil && !mismatch && !unsupported) {
			t.Errorf("Plan: %v, %v\nVerify: %v", plan, err, verified)
		}
		equal(t, "writes", len(faults.Requests("CreateTable", "UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups")), 0)
	})
}
