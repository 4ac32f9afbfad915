package repo_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Ticket is in the index byPriority without a key function: its fields are the keys.
type Ticket struct {
	ID       string    `dynamodbav:"id"`
	Tenant   string    `dynamodbav:"tenant"`
	Priority int       `dynamodbav:"priority,omitempty"` // 0 keeps it out of the index
	Opened   time.Time `dynamodbav:"opened,unixtime"`
	Version  int64     `dynamodbav:"version"`
}

var helpDesk = schema.Table{
	Name: "HelpDesk",
	Indexes: []schema.Index{{
		Name: "byPriority",
		PKs:  []schema.Attribute{{Name: "tenant"}},
		SKs:  []schema.Attribute{{Name: "priority", Type: types.ScalarAttributeTypeN}},
	}},
}

func openHelpDesk(ctx context.Context) (*repo.Repo[Ticket], *tabletest.Engine) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	spec := helpDesk
	spec.Name += "-" + rand.Text()
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	tickets, err := repo.New(tbl, repo.Entity[Ticket]{
		Type: "TICKET", Version: "version",
		Key: func(t Ticket) keys.Key {
			return keys.Key{PK: keys.Prefix("TENANT").PK(t.Tenant), SK: keys.Prefix("TICKET").SK(keys.Str(t.ID))}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, priority := range []int{2, 1, 0, 3, 1} {
		t := Ticket{ID: "t-" + strconv.Itoa(i), Tenant: "acme", Priority: priority, Opened: time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC)}
		if err := tickets.Create(ctx, &t); err != nil {
			log.Fatal(err)
		}
	}
	return tickets, engine
}

// The tickets of a tenant by priority, from an index whose keys are fields. A query
// gives a value for each attribute of the partition, and for as many of the sort key's
// as it likes, from the first.
func ExampleEntity_keysOfSeveralAttributes() {
	ctx := context.Background()
	tickets, engine := openHelpDesk(ctx)
	defer engine.Close()

	show := func(q table.Query) {
		q.Index, q.PKs = "byPriority", []string{"acme"}
		page, err := tickets.Query(ctx, q)
		if err != nil {
			log.Fatal(err)
		}
		line := "tickets:"
		for _, t := range page.Items {
			line += fmt.Sprint(" ", t.ID, " (priority ", t.Priority, ")")
		}
		fmt.Println(line)
	}
	show(table.Query{})
	show(table.Query{SKs: []string{"1"}})
	show(table.Query{Range: keys.Range{From: "2"}, Descending: true})
	// Output:
	// tickets: t-1 (priority 1) t-4 (priority 1) t-0 (priority 2) t-3 (priority 3)
	// tickets: t-1 (priority 1) t-4 (priority 1)
	// tickets: t-3 (priority 3) t-0 (priority 2)
}

// A page with the number of all items, and a link to the page before.
func ExampleRepo_Count() {
	ctx := context.Background()
	tickets, engine := openHelpDesk(ctx)
	defer engine.Close()

	q := table.Query{PK: keys.Prefix("TENANT").PK("acme"), Limit: 2}
	all := q
	all.Limit = 0
	stats, err := tickets.Count(ctx, all)
	if err != nil {
		log.Fatal(err)
	}
	show := func(after string) table.Page[Ticket] {
		q.After = after
		page, err := tickets.Query(ctx, q)
		if err != nil {
			log.Fatal(err)
		}
		for _, t := range page.Items {
			fmt.Print(t.ID, " ")
		}
		fmt.Printf("of %d, before: %t, after: %t\n", stats.Items, page.Prev != "", page.Next != "")
		return page
	}
	second := show(show("").Next)
	show(second.Prev)
	// Output:
	// t-0 t-1 of 5, before: false, after: true
	// t-2 t-3 of 5, before: true, after: true
	// t-0 t-1 of 5, before: false, after: true
}

// A list shows less than whole entities. They are read into a type of their own, which no
// write of the repository takes.
func ExampleRepo_View() {
	ctx := context.Background()
	tickets, engine := openHelpDesk(ctx)
	defer engine.Close()

	key := keys.Key{PK: keys.Prefix("TENANT").PK("acme"), SK: keys.Prefix("TICKET").SK(keys.Str("t-3"))}
	type Line struct {
		ID       string `dynamodbav:"id"`
		Priority int    `dynamodbav:"priority"`
	}
	line, err := table.Get[Line](ctx, tickets.View().Project("id", "priority"), key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, priority %d\n", line.ID, line.Priority)
	// Output:
	// t-3, priority 3
}

// All tickets of a tenant are deleted: first a dry run that says how many there are,
// then as many as a budget allows, and the rest.
func ExampleRepo_DeleteAll() {
	ctx := context.Background()
	tickets, engine := openHelpDesk(ctx)
	defer engine.Close()

	q := table.Query{PK: keys.Prefix("TENANT").PK("acme"), Range: keys.Prefix("TICKET").All()}
	dry, err := tickets.DeleteAll(ctx, q, &repo.DeleteOptions{DryRun: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("would delete", dry.Items)
	for done := false; !done; {
		deleted, err := tickets.DeleteAll(ctx, q, &repo.DeleteOptions{MaxUnits: 1000})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("deleted %d; cost counted: %t\n", deleted.Items, deleted.Units > 0 && deleted.Requests > 0)
		done = deleted.Done
	}
	left, err := tickets.Count(ctx, q)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("left", left.Items)
	// Output:
	// would delete 5
	// deleted 5; cost counted: true
	// left 0
}
