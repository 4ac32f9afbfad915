package peers_test

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// event is an event of an order. Its type is PLACED or PAID.
type event struct {
	Aggregate string `dynamodbav:"aggregateId"`
	Version   int    `dynamodbav:"version"`
	Type      string `dynamodbav:"type"`
	Timestamp string `dynamodbav:"timestamp"`
	Payload   struct {
		Total int `dynamodbav:"total"`
	} `dynamodbav:"payload"`
}

func eventKey(version int) keys.Key {
	return keys.Key{PK: "ORDERS#o-1", SK: keys.SK(fmt.Sprint(version))}
}

// events are all events of the store, whatever their types: they are recognized by their keys.
var events = repo.Entity[event]{
	Type: "event", Shared: &repo.Shared[event]{},
	Key: func(e event) keys.Key { return keys.Key{PK: keys.PK(e.Aggregate), SK: keys.SK(fmt.Sprint(e.Version))} },
}

func (s *shop) events() *repo.Repo[event] {
	s.Helper()
	return expect.Value(repo.New(s.table, events))(s)
}

func anEvent(version, total int) event {
	e := event{"ORDERS#o-1", version, "PAID", "2026-01-02T03:04:05.000Z", struct {
		Total int `dynamodbav:"total"`
	}{total}}
	return e
}

// push has the peer store events of the versions 1 to n.
func push(s *shop, n int) {
	s.Helper()
	for version := 1; version <= n; version++ {
		s.call("push", theirEvent(version))
	}
}

func theirEvent(version int) values {
	typ := "PAID"
	if version == 1 {
		typ = "PLACED"
	}
	return values{"aggregateId": "o-1", "version": version, "type": typ, "payload": values{"total": version}}
}

var castore = &peer{
	name: "castore", file: "castore", pkg: "@castore/event-storage-adapter-dynamodb",
	spec: model[event]{schema: schema.Table{
		PK: "aggregateId", SK: "version", SKType: types.ScalarAttributeTypeN,
		Indexes: []schema.Index{{Name: "initialEvents", PK: "eventStoreId", SK: "timestamp", Projection: types.ProjectionTypeKeysOnly}},
		Kinds:   []schema.Kind{{Type: "event", PK: "ORDERS#"}},
	}}.spec(),
	rows: []row{
		{usual: true, call: "`table.QueryPage` of its events", holds: "the versions [1 2 10 11], in this order", see: func(s *shop, _ *peer) string {
			for _, version := range []int{1, 2, 10, 11} {
				s.call("push", theirEvent(version))
			}
			page := expect.Value(table.QueryPage[event](s.Context(), s.table, table.Query{PK: "ORDERS#o-1"}))(s)
			var versions []int
			for _, e := range page.Items {
				versions = append(versions, e.Version)
			}
			return fmt.Sprintf("the versions %v, in this order", versions)
		}},
		{usual: true, call: "`table.QueryPage` of its index, which has keys only", holds: "[ORDERS#o-1]", see: func(s *shop, _ *peer) string {
			push(s, 2)
			page := expect.Value(table.QueryPage[event](s.Context(), s.table, table.Query{Index: "initialEvents", PK: "ORDERS"}))(s)
			var found []string
			for _, e := range page.Items {
				found = append(found, e.Aggregate)
			}
			return fmt.Sprint(found)
		}},
		{call: "its getEvents with a limit of 1, of 3 events", holds: "3 events", see: func(s *shop, _ *peer) string {
			push(s, 3)
			return fmt.Sprintf("%d events", len(s.many("events", "o-1", values{"limit": 1})))
		}},
		{usual: true, call: "its getAggregate after an event of `table.Create`", holds: "last PAID, total 7", see: func(s *shop, _ *peer) string {
			push(s, 1)
			expect.OK(s, s.table.Do(s.Context(), table.Create(eventKey(2), anEvent(2, 7))))
			a := s.one("aggregate", "o-1")
			return fmt.Sprintf("last %v, total %v", a["last"], a["total"])
		}},
		{usual: true, call: "`table.Create` of a version that it has", holds: "`ErrExists`", see: func(s *shop, _ *peer) string {
			push(s, 2)
			return text(s.table.Do(s.Context(), table.Create(eventKey(2), anEvent(2, 7))), table.ErrExists, "`ErrExists`")
		}},
		{usual: true, call: "its pushEvent of a version that `table.Create` has stored", holds: "throws", see: func(s *shop, _ *peer) string { return pushed(s, "push") }},
		{call: "its pushEvent with force", holds: "replaces our event", see: func(s *shop, _ *peer) string { return pushed(s, "force") }},
		{usual: true, call: "`Repo.Query` of its events, as a kind", holds: "[PLACED PAID PAID]", see: func(s *shop, _ *peer) string {
			push(s, 3)
			var found []string
			for _, e := range expect.Value(s.events().Query(s.Context(), table.Query{PK: "ORDERS#o-1"}))(s).Items {
				found = append(found, e.Type)
			}
			return fmt.Sprint(found)
		}},
		{usual: true, call: "its getAggregate after an event of `Repo.Create`", holds: "last PAID, total 7", see: func(s *shop, _ *peer) string {
			push(s, 1)
			expect.OK(s, s.events().Create(s.Context(), new(anEvent(2, 7))))
			a := s.one("aggregate", "o-1")
			return fmt.Sprintf("last %v, total %v", a["last"], a["total"])
		}},
		{usual: true, call: "`Repo.Create` of a version that it stores before the write", holds: "`ErrExists`", see: func(s *shop, _ *peer) string {
			push(s, 1)
			s.meanwhile(true, "PutItem", func() { s.call("push", theirEvent(2)) })
			err := s.events().Create(s.Context(), new(anEvent(2, 7)))
			expect.Equal(s, "its total", s.one("aggregate", "o-1")["total"], any(2.0))
			return text(err, table.ErrExists, "`ErrExists`")
		}},
		{usual: true, call: "`QueryPage` with its cursor", holds: "`ErrInvalidCursor`", see: func(s *shop, _ *peer) string {
			push(s, 1)
			s.call("push", theirEvent(1).with(values{"aggregateId": "o-2"}))
			token, _ := s.one("ids", values{"limit": 1})["nextPageToken"].(string)
			_, err := table.QueryPage[event](s.Context(), s.table, table.Query{Index: "initialEvents", PK: "ORDERS", After: token})
			return text(err, paginate.ErrInvalidCursor, "`ErrInvalidCursor`")
		}},
	},
}

// pushed has the peer store an event of a version that is there.
func pushed(s *shop, op string) string {
	push(s, 1)
	expect.OK(s, s.table.Do(s.Context(), table.Create(eventKey(2), anEvent(2, 7))))
	_, err := s.try(op, theirEvent(2))
	total := expect.Value(table.Get[event](s.Context(), s.table, eventKey(2)))(s).Payload.Total
	switch {
	case err != nil && total == 7:
		return "throws"
	case err == nil && total == 2:
		return "replaces our event"
	default:
		return fmt.Sprint(errors.Unwrap(err), total)
	}
}
