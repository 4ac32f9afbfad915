package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Note is a plain Go type. Its tags are those of the SDK's attributevalue
// package.
type Note struct {
	User     string    `dynamodbav:"userId"`
	At       time.Time `dynamodbav:"createdAt"`
	Text     string    `dynamodbav:"text"`
	Revision string    `dynamodbav:"revision"`
}

const notePrefix keys.Prefix = "NOTE"

// Key says what a note is called: USER#ana / NOTE#2024-01-15T10:05:00.000Z
func (n Note) Key() keys.Key {
	return keys.Key{PK: keys.User.PK(n.User), SK: notePrefix.SK(keys.Time(n.At))}
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	// A local engine for this program; a service has dynamodb.NewFromConfig(cfg).
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	client := engine.Client()

	schema := table.Schema{Name: "Notes"}
	if err := schema.Ensure(ctx, client); err != nil {
		return err
	}
	tbl, err := table.New(client, schema, nil)
	if err != nil {
		return err
	}
	notes, err := repo.New(tbl, repo.Entity[Note]{Type: "NOTE", Key: Note.Key, Version: "revision"})
	if err != nil {
		return err
	}

	start := time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)
	for i, text := range []string{"buy milk", "call Bob", "water plants"} {
		n := Note{User: "ana", At: start.Add(time.Duration(i) * time.Hour), Text: text}
		if err := notes.Create(ctx, &n); err != nil {
			return err
		}
	}

	first := Note{User: "ana", At: start}
	_, err = notes.Update(ctx, first.Key(), func(n *Note) error {
		n.Text += " and bread"
		return nil
	})
	if err != nil {
		return err
	}

	newestFirst := table.Query{PK: keys.User.PK("ana"), Range: notePrefix.All(), Descending: true, Limit: 2}
	for {
		page, err := notes.Query(ctx, newestFirst)
		if err != nil {
			return err
		}
		for _, n := range page.Items {
			fmt.Println(n.At.Format(time.TimeOnly), n.Text)
		}
		if page.Next == "" {
			return nil
		}
		newestFirst.After = page.Next
	}
}
