package repo_test

import (
	"context"
	"crypto/rand"
	"errors"
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

// An HTTP PATCH with If-Match, in one request: the version that the client has seen is a
// condition.
func ExampleRepo_Patch() {
	ctx := context.Background()
	tickets, engine := openHelpDesk(ctx)
	defer engine.Close()

	key := keys.Key{PK: keys.Prefix("TENANT").PK("acme"), SK: keys.Prefix("TICKET").SK(keys.Str("t-3"))}
	seen, err := tickets.Get(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	urgent := repo.Patch{Set: map[string]any{"priority": 1}, IfVersion: seen.Version}
	t, err := tickets.Patch(ctx, key, urgent)
	fmt.Println(t.Priority, t.Version-seen.Version, err)

	_, err = tickets.Patch(ctx, key, urgent)
	fmt.Println("stale:", errors.Is(err, table.ErrStale))

	_, err = tickets.Patch(ctx, key, repo.Patch{Set: map[string]any{"priority": "high"}})
	fmt.Println(errors.Is(err, table.ErrInvalid))
	// Output:
	// 1 1 <nil>
	// stale: true
	// true
}

// A patch in a transaction: the review of a document is stored, and the document, if it is at
// the revision that was reviewed, is no draft any more.
func ExampleRepo_PatchOps() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	spec := schema.Table{Name: "Documents-" + rand.Text()}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	type Document struct {
		ID       string `dynamodbav:"id"`
		Draft    bool   `dynamodbav:"draft,omitempty"`
		Reviews  uint8  `dynamodbav:"reviews"`
		Revision string `dynamodbav:"revision"`
	}
	documentKey := func(d Document) keys.Key { return keys.Key{PK: keys.Prefix("DOCUMENT").PK(d.ID), SK: keys.Metadata} }
	documents, err := repo.New(tbl, repo.Entity[Document]{Type: "DOCUMENT", Version: "revision", Key: documentKey})
	if err != nil {
		log.Fatal(err)
	}
	d := Document{ID: "d-1", Draft: true}
	if err := documents.Create(ctx, &d); err != nil {
		log.Fatal(err)
	}

	reviewed := documents.PatchOps(documentKey(d), repo.Patch{
		Add: map[string]any{"reviews": 1}, Remove: []string{"draft"}, IfRevision: d.Revision,
	})
	review := table.Create(keys.Key{PK: keys.Prefix("DOCUMENT").PK(d.ID), SK: "REVIEW#1"}, map[string]string{"by": "ana"})
	fmt.Println(tbl.Transact(ctx, append(reviewed, review)...))
	d, err = documents.Get(ctx, documentKey(d))
	fmt.Println(d.Draft, d.Reviews, err)
	// Output:
	// <nil>
	// false 1 <nil>
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
