package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func main() {
	type Notice struct{ User, ID, Text, Revision string }
	ctx := context.Background()
	key := func(n Notice) keys.Key { return keys.Key{PK: keys.User.PK(n.User), SK: keys.Notif.SK(keys.Str(n.ID))} }
	engine, err := tabletest.Start(ctx, nil) // a local DynamoDB engine
	check(err)
	defer engine.Close()
	spec := schema.Table{Name: "Notices"}
	check(spec.Ensure(ctx, engine.Client())) // creates the table
	tbl, err := table.New(engine.Client(), spec, nil)
	check(err)
	notices, err := repo.New(tbl, repo.Entity[Notice]{Type: "NOTICE", Key: key, Version: "Revision"})
	check(err)
	notice := Notice{User: rand.Text(), ID: "n-1", Text: "payment received"}
	check(notices.Create(ctx, &notice)) // stored under USER#‹user› / NOTIF#n-1
	notice.Text += " and approved"
	check(notices.Save(ctx, &notice)) // table.ErrStale if another program has changed it
	page, err := notices.Query(ctx, table.Query{PK: keys.User.PK(notice.User), Limit: 10})
	check(err)
	fmt.Println(len(page.Items), "notice:", page.Items[0].Text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
