package main

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
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
	cursors := check.Must(paginate.New([]paginate.Key{paginate.NewKey()}, nil))(t)
	tbl := tabletest.NewWith(t, client, schema("any"), &table.Options{Now: now.read, Cursors: cursors})
	svc := check.Must(newService(tbl))(t)
	return system{service: svc, clock: now}
}

// through returns the same application as another process sees it, whose
// requests meet the faults and are not repeated by the SDK.
func (s system) through(t *testing.T, faults *tabletest.Faults) *service {
	t.Helper()
	client := tabletest.Client(t, faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	tbl := check.Must(table.New(client, s.table.Schema(), &table.Options{Now: s.clock.read}))(t)
	return check.Must(newService(tbl))(t)
}

func (s system) acme() tenant {
	return s.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"})
}

func codesOf(rs []Record) []string {
	var codes []string
	for _, r := range rs {
		codes = append(codes, r.Code)
	}
	return codes
}
