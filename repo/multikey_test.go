package repo_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/multikey"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// ticket has the keys of an index as fields: open tickets of a tenant by priority and
// time.
type ticket struct {
	ID       string    `dynamodbav:"id"`
	Tenant   string    `dynamodbav:"tenant"`
	Status   *string   `dynamodbav:"status"`
	Priority int       `dynamodbav:"priority"`
	Opened   time.Time `dynamodbav:"opened,unixtime"`
	Digest   []byte    `dynamodbav:"digest"`
	Version  int64     `dynamodbav:"version"`
}

func ticketKey(t ticket) keys.Key {
	return keys.Key{PK: keys.Prefix("TICKET").PK(t.ID), SK: keys.Metadata}
}

var ticketSchema = schema.Table{Name: "Tickets", Indexes: []schema.Index{
	{
		Name: "byStatus",
		PKs:  []schema.Attribute{{Name: "entityType"}, {Name: "tenant"}, {Name: "status"}},
		SKs:  []schema.Attribute{{Name: "priority", Type: types.ScalarAttributeTypeN}, {Name: "opened", Type: types.ScalarAttributeTypeN}},
	},
	{
		Name: "byDigest", PKs: []schema.Attribute{{Name: "tenant"}, {Name: "digest", Type: types.ScalarAttributeTypeB}},
		SKs: []schema.Attribute{{Name: "priority", Type: types.ScalarAttributeTypeN}}, // the engine wants one
	},
}}

func newTickets(t *testing.T) (*repo.Repo[ticket], *table.Table) {
	t.Helper()
	tbl := multikey.Table(t, tabletest.Client(t), ticketSchema, nil)
	return expect.Value(repo.New(tbl, repo.Entity[ticket]{Type: "TICKET", Key: ticketKey, Version: "version"}))(t), tbl
}

// TestMultiKeyEntity changes an entity whose fields are the keys of indexes: it is in
// an index while it has them all, and no key function is needed.
func TestMultiKeyEntity(t *testing.T) {
	t.Parallel()
	tickets, tbl := newTickets(t)
	open, closed, none := "open", "closed", ""
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 4 {
		v := ticket{ID: strconv.Itoa(i), Tenant: "acme", Status: &open, Priority: 1 + i/2, Opened: at.Add(-time.Duration(i) * time.Hour)}
		expect.OK(t, tickets.Create(t.Context(), &v))
	}
	ids := func(status string) (ids string) {
		t.Helper()
		q := table.Query{Index: "byStatus", PKs: []string{"TICKET", "acme", status}}
		for _, v := range expect.Value(tickets.Query(t.Context(), q))(t).Items {
			ids += v.ID
		}
		return ids
	}
	expect.Equal(t, "open tickets by priority and time", ids("open"), "1032")
	q := table.Query{
		Index: "byStatus", PKs: []string{"TICKET", "acme", "open"}, SKs: []string{"1"},
		Range: keys.Range{From: keys.SK(strconv.FormatInt(at.Unix(), 10))},
	}
	expect.Equal(t, "tickets of one priority since noon", len(expect.Value(tickets.Query(t.Context(), q))(t).Items), 1)

	change := func(id string, status *string) {
		t.Helper()
		_, err := tickets.Update(t.Context(), ticketKey(ticket{ID: id}), func(v *ticket) error {
			v.Status = status
			return nil
		})
		expect.OK(t, err)
	}
	change("1", &closed)
	change("0", &none)
	change("3", nil)
	expect.Equal(t, "open tickets", ids("open"), "2")
	expect.Equal(t, "closed tickets", ids("closed"), "1")
	for id, has := range map[string]bool{"1": true, "0": false, "3": false} {
		item := expect.Value(table.Get[table.Item](t.Context(), tbl, ticketKey(ticket{ID: id})))(t)
		_, stored := item["status"]
		_, digest := item["digest"]
		expect.Equal(t, "stored status and digest of "+id, [2]bool{stored, digest}, [2]bool{has, false})
	}
	change("3", &open)
	expect.Equal(t, "open tickets", ids("open"), "32")

	for what, write := range map[string]func(*ticket) error{
		"Save":   func(v *ticket) error { return tickets.Save(t.Context(), v) },
		"Create": func(v *ticket) error { return tickets.Create(t.Context(), v) },
	} {
		v := ticket{ID: what, Tenant: "acme", Status: &none, Opened: at, Digest: []byte{}}
		expect.OK(t, write(&v))
		item := expect.Value(table.Get[table.Item](t.Context(), tbl, ticketKey(v)))(t)
		if _, stored := item["status"]; stored || item["digest"] != nil {
			t.Errorf("%s stored %v", what, item)
		}
		v.Status = &closed
		expect.OK(t, tickets.Save(t.Context(), &v))
	}
	expect.Equal(t, "closed tickets", len(ids("closed")), 1+len("SaveCreate"))
	expect.Value(tickets.Update(t.Context(), ticketKey(ticket{ID: "1"}), func(v *ticket) error { v.Opened = time.Time{}; return nil }))(t)
	expect.Equal(t, "closed tickets with a time", len(ids("closed")), len("SaveCreate"))
}

// An item whose key attributes are all empty is stored without them.
func TestMultiKeyEntityOutsideOfItsIndex(t *testing.T) {
	t.Parallel()
	type seat struct {
		ID     string `dynamodbav:"id"`
		Tenant string `dynamodbav:"tenant"`
		Status string `dynamodbav:"status"`
	}
	spec := schema.Table{Name: "Seats", Indexes: []schema.Index{
		{Name: "byStatus", PKs: []schema.Attribute{{Name: "tenant"}}, SKs: []schema.Attribute{{Name: "status"}}},
		{Name: "byID", PK: "idPK", SK: "idSK"},
	}}
	tbl := multikey.Table(t, tabletest.Client(t), spec, nil)
	key := func(s seat) keys.Key { return keys.Key{PK: keys.Prefix("SEAT").PK(s.ID), SK: keys.Metadata} }
	// The other index is given by a function.
	seats := expect.Value(repo.New(tbl, repo.Entity[seat]{Type: "SEAT", Key: key, Indexes: repo.Indexes[seat]{"byID": key}}))(t)
	s := seat{ID: "s-1"}
	expect.OK(t, seats.Create(t.Context(), &s))
	item := expect.Value(table.Get[table.Item](t.Context(), tbl, key(s)))(t)
	for _, name := range []string{"tenant", "status"} {
		if value, has := item[name]; has {
			t.Errorf("%s is stored: %v", name, value)
		}
	}
}

// TestMultiKeyEntityRefusals describes entities that DynamoDB would refuse to index,
// or that an index would have twice.
func TestMultiKeyEntityRefusals(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	tbl := expect.Value(table.New(client, ticketSchema, nil))(t)
	type wrong struct {
		Tenant   int       `dynamodbav:"tenant"`
		Status   []byte    `dynamodbav:"status"`
		Priority string    `dynamodbav:"priority"`
		Opened   time.Time `dynamodbav:"opened"`
	}
	key := func(wrong) keys.Key { return keys.Key{} }
	_, err := repo.New(tbl, repo.Entity[wrong]{Type: "TICKET", Key: key})
	says(t, err, `attribute "tenant": a int is not of type S`, `attribute "status": a []uint8 is not of type S`,
		`attribute "priority": a string is not of type N`, `attribute "opened": a time.Time is not of type N`)

	days := schema.Table{Name: "Days", Indexes: []schema.Index{{Name: "byDay", PKs: []schema.Attribute{{Name: "tenant"}}, SKs: []schema.Attribute{{Name: "opened"}}}}}
	type day struct {
		Tenant string     `dynamodbav:"tenant"`
		Opened *time.Time `dynamodbav:"opened"`
	}
	_, err = repo.New(expect.Value(table.New(client, days, nil))(t), repo.Entity[day]{Type: "DAY", Key: func(day) keys.Key { return keys.Key{} }})
	says(t, err, `attribute "opened": a time.Time is a text of varying length`)

	_, err = repo.New(tbl, repo.Entity[ticket]{
		Type: "TICKET", Key: ticketKey, Version: "version", Copies: []repo.Copy[ticket]{{Key: ticketKey}},
		Indexes: repo.Indexes[ticket]{"byStatus": ticketKey},
	})
	says(t, err, `has all key attributes of index "byStatus"`, `the keys of "byStatus" have several attributes`)

	// What is not in the index, or makes its attributes itself, is not looked at.
	type note struct {
		Tenant int `dynamodbav:"tenant"`
	}
	expect.OK(t, expect.ErrOf(repo.New(tbl, repo.Entity[note]{Type: "NOTE", Key: func(note) keys.Key { return keys.Key{} }})))
	type own struct {
		Tenant   attributevalue.Number `dynamodbav:"tenant"`
		Digest   selfMade              `dynamodbav:"digest"`
		Priority int                   `dynamodbav:"priority"`
	}
	_, err = repo.New(tbl, repo.Entity[own]{Type: "OWN", Key: func(own) keys.Key { return keys.Key{} }})
	says(t, err, `attribute "tenant": a attributevalue.Number is not of type S`)
}

// selfMade makes its attribute itself.
type selfMade struct{}

func (selfMade) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberB{Value: []byte{1}}, nil
}

func (*selfMade) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }

// says fails the test unless the error is of an invalid entity and has the texts.
func says(t *testing.T, err error, texts ...string) {
	t.Helper()
	expect.Err(t, err, table.ErrInvalid)
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}
