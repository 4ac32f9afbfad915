package view_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// A list says of a copy whose it is.
func TestCopiesInLists(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	s.get(s.at(""), http.StatusOK)
	row := s.get(s.at("/partition", "pk", "EMAIL#ana@example.com"), http.StatusOK).id("row-0")
	row.has(t, "USER copy", "copy of", "USER#ana / PROFILE")
	s.follow(row).id("attributes").has(t, "Person 0")
	row = s.get(s.at("/partition", "pk", "USER#ana", "prefix", "PROFILE"), http.StatusOK).id("row-0")
	lacks(t, row, "copy")
}

type tenant struct {
	ID      string `dynamodbav:"id"`
	Tickets int64  `dynamodbav:"tickets"`
	Version int64  `dynamodbav:"version"`
}

type ticket struct {
	Tenant  string `dynamodbav:"tenant"`
	Number  int    `dynamodbav:"number"`
	Title   string `dynamodbav:"title"`
	Version int64  `dynamodbav:"version"`
}

func tenantKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("TENANT").PK(id), SK: keys.Metadata}
}

// desk returns a site of tickets that their tenant counts, which an index and a copy have, too.
func desk(t *testing.T) (*site, *repo.Repo[ticket]) {
	t.Helper()
	s := serve(t, shop(), nil)
	tenants, err := repo.New(s.table, repo.Entity[tenant]{
		Type: "TENANT", Version: "version", Counted: []string{"tickets"}, Key: func(v tenant) keys.Key { return tenantKey(v.ID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	tickets, err := repo.New(s.table, repo.Entity[ticket]{
		Type: "TICKET", Version: "version",
		Key: func(v ticket) keys.Key {
			return keys.Key{PK: keys.Prefix("TENANT").PK(v.Tenant), SK: keys.Prefix("TICKET").SK(keys.Int(v.Number, 10))}
		},
		Indexes: repo.Indexes[ticket]{"GSI2": func(v ticket) keys.Key {
			return keys.Key{PK: "OPEN", SK: keys.Prefix("TICKET").SK(keys.Int(v.Number, 10), keys.Str(v.Tenant))}
		}},
		Copies: []repo.Copy[ticket]{{Name: "by title", Key: func(v ticket) keys.Key {
			return keys.Key{PK: keys.Prefix("TITLE").PK(v.Title), SK: keys.Metadata}
		}}},
		Counters: []repo.Counter[ticket]{{Name: "all", Owner: "TENANT", Attribute: "tickets", Key: func(v ticket) keys.Key { return tenantKey(v.Tenant) }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tenants.Create(t.Context(), &tenant{ID: "acme"}); err != nil {
		t.Fatal(err)
	}
	return s.open(), tickets
}

// The page of an item says which numbers count it and what a number counts, and what a write of
// the entity costs is what the engine counts.
func TestCountedItems(t *testing.T) {
	t.Parallel()
	s, tickets := desk(t)
	units := 0.0
	ctx := table.WithObserver(t.Context(), func(_ context.Context, e table.Event) { units += e.Capacity })
	for _, title := range []string{"Tap drips", "Door squeaks"} {
		units = 0
		if err := tickets.Create(ctx, &ticket{Tenant: "acme", Number: len(title), Title: title}); err != nil {
			t.Fatal(err)
		}
	}
	s.get(s.at(""), http.StatusOK)
	page := s.get(s.at("/item", "pk", "TENANT#acme", "sk", "TICKET#0000000009"), http.StatusOK)
	page.all(named("h1"))[0].has(t, "TENANT#acme / TICKET#9")
	page.id("content").has(t, "stored as sk TICKET#0000000009")
	page.id("counts").has(t, "TENANT", "TENANT#acme / METADATA", "tickets: 1")
	lacks(t, page.id("attributes"), "entityCounted", "entityType", "gsi2pk")
	s.follow(page.id("counts")).id("attributes").has(t, "tickets", "2 counts TICKET")
	page.id("copies").has(t, "TITLE#Tap drips / METADATA")
	if got := page.id("write").attributes["data-units"]; got != strconv.FormatFloat(units, 'f', -1, 64) {
		t.Errorf("a write costs %s, and the engine counts %g: %s", got, units, page.id("facts").text)
	}
	lacks(t, s.get(s.at("/partition", "pk", "TENANT#acme"), http.StatusOK).id("items"), "{2}")
}

// The overview shows what check finds next to what it is about, and the rest above.
func TestFindings(t *testing.T) {
	t.Parallel()
	model := tablemodel.Model{Table: shop(), Entities: []tablemodel.Entity{{Type: "USER", Version: "revision", Items: []tablemodel.Pattern{
		{PK: "USER#{userId}", SK: "PROFILE", Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "USERS", SK: "AT#{createdAt:time}"}}}, {PK: "EMAIL#{email}", SK: "PROFILE"},
	}}}}
	all, _ := check.Run(check.Design{Model: model, Factor: 1}, nil)
	all = append(all, check.Finding{ID: "another-rule", Place: "entity USER, items[1]", Says: "Says."}, check.Finding{ID: "stale-acceptance", Place: "entity GONE", Says: "Stale."})
	s := serve(t, shop(), func(o *view.Options) { o.Model, o.Findings = &model, all })
	model.Name = s.name
	page := s.open().get(s.at(""), http.StatusOK)
	at := func(e element) (ids []string) {
		for _, summary := range e.all(func(e element) bool { return e.name == "summary" }) {
			ids = append(ids, summary.text)
		}
		return ids
	}
	rows := page.id("map").all(named("tbody"))[0].children
	for what, c := range map[string]struct{ got, want []string }{
		"the entity":   {at(rows[0].children[1]), nil},
		"its index":    {at(rows[0].children[2]), []string{"hot-partition-key"}},
		"its copy":     {at(rows[1]), []string{"another-rule"}},
		"GSI2":         {at(page.id("indexes")), []string{"unused-index", "expiry-not-projected"}},
		"nothing else": {at(page.id("h-types")), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", what, c.got, c.want)
		}
	}
	page.id("content").has(t, "stale-acceptance", "Stale.", "entity GONE")
}
