package main

import (
	"context"
	"fmt"
	"log"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func main() {
	type Note struct{ User, ID, Text, Revision string }
	key := func(n Note) keys.Key {
		return keys.Key{PK: keys.User.PK(n.User), SK: keys.Prefix("NOTE").SK(keys.Str(n.ID))}
	}
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil) // a local DynamoDB engine
	check(err)
	defer engine.Close()
	schema := table.Schema{Name: "Notes"}
	check(schema.Ensure(ctx, engine.Client())) // creates the table
	tbl, err := table.New(engine.Client(), schema, nil)
	check(err)
	notes, err := repo.New(tbl, repo.Entity[Note]{Type: "NOTE", Key: key, Version: "Revision"})
	check(err)
	note := Note{User: "ana", ID: "n-1", Text: "buy milk"}
	check(notes.Create(ctx, &note)) // stored under USER#ana / NOTE#n-1
	note.Text += " and bread"
	check(notes.Put(ctx, &note)) // table.ErrStale if another program has changed it
	page, err := notes.Query(ctx, table.Query{PK: keys.User.PK("ana"), Limit: 10})
	check(err)
	fmt.Println(len(page.Items), "note:", page.Items[0].Text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
