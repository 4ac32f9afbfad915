package main

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// system is an application with a table of its own and a clock that is set by
// the test.
type system struct {
	*service
	clock *clock
}

func newSystem(t *testing.T) system {
	t.Helper()
	return newSystemWith(t, tabletest.Client(t))
}

func newSystemWith(t *testing.T, client *dynamodb.Client) system {
	t.Helper()
	now := &clock{}
	now.set(time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC))
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tbl := tabletest.NewWith(t, client, schema("any"), &table.Options{Now: now.read, Cursors: cursors})
	svc, err := newService(tbl)
	if err != nil {
		t.Fatal(err)
	}
	return system{service: svc, clock: now}
}

// through returns the same application as another process sees it, whose
// requests meet the faults and are not repeated by the SDK.
func (s system) through(t *testing.T, faults *tabletest.Faults) *service {
	t.Helper()
	client := tabletest.Client(t, faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	tbl, err := table.New(client, s.table.Schema(), &table.Options{Now: s.clock.read})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := newService(tbl)
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

func (s system) acme() tenant {
	return s.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"})
}

// must is for calls that a test needs and is not about.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func codesOf(rs []Record) []string {
	var codes []string
	for _, r := range rs {
		codes = append(codes, r.Code)
	}
	return codes
}
