// Package singletable is the tour of a library for Go services that keep all
// entities of an application in one Amazon DynamoDB table (single-table design).
// It has no code of its own: import the packages below it.
//
// The library gives keys that cannot collide, typed reads and writes,
// transactions whose failures can be understood, and cursors that cannot be
// abused. It knows nothing of HTTP or Lambda: a handler in any runtime imports
// what it needs.
//
// # The nouns
//
//   - Key ([keys.Key]): what an item is called, a partition key and a sort key,
//     built from prefixes: USER#u-123 / TX#2024-01-15T10:05:00.000Z#tx-abc.
//   - Schema ([table.Schema]): how the table is laid out. A value, declared once.
//   - Table ([table.Table]): a schema bound to a client. Reads are functions of
//     package table with the Go type as type argument.
//   - Op ([table.Op]): one write. Run alone, in a transaction, or in a batch.
//   - Entity ([repo.Entity]): how values of a Go type are stored, in one item or
//     several. A [repo.Repo] reads and writes them.
//   - Upgrade ([repo.Upgrade]): how an item of an earlier release becomes one of the
//     next. Reads apply it, and a Job ([backfill.Job]) stores it in a live table.
//   - Change ([stream.Change]): what a write has changed of an entity. A
//     [stream.Router] gives the changes of the table's stream to handlers.
//   - Page ([table.Page]): some items of a query, and the cursor for the next ones.
//     A page has at most Limit items, 100 if the Limit is zero. Sequences, which
//     are called All, have no limit then.
//   - Cursor ([paginate.Codec]): what seals and opens those tokens.
//   - Shard ([shard.Index]): one of the partitions that an index is spread over.
//     A [shard.Reader] merges them in order.
//   - Request ([idempotency.Request]): what is to be done once, however often it
//     is asked for.
//
// # A whole program
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"time"
//
//		"github.com/singletable/singletable/keys"
//		"github.com/singletable/singletable/repo"
//		"github.com/singletable/singletable/table"
//		"github.com/singletable/singletable/table/tabletest"
//	)
//
//	// Note is a plain Go type. Its tags are those of the SDK's attributevalue
//	// package.
//	type Note struct {
//		User     string    `dynamodbav:"userId"`
//		At       time.Time `dynamodbav:"createdAt"`
//		Text     string    `dynamodbav:"text"`
//		Revision string    `dynamodbav:"revision"`
//	}
//
//	const notePrefix keys.Prefix = "NOTE"
//
//	// Key says what a note is called: USER#ana / NOTE#2024-01-15T10:05:00.000Z
//	func (n Note) Key() keys.Key {
//		return keys.Key{PK: keys.User.PK(n.User), SK: notePrefix.SK(keys.Time(n.At))}
//	}
//
//	func main() {
//		if err := run(context.Background()); err != nil {
//			log.Fatal(err)
//		}
//	}
//
//	func run(ctx context.Context) error {
//		// A local engine for this program; a service has dynamodb.NewFromConfig(cfg).
//		engine, err := tabletest.Start(ctx, nil)
//		if err != nil {
//			return err
//		}
//		defer engine.Close()
//		client := engine.Client()
//
//		schema := table.Schema{Name: "Notes"}
//		if err := schema.Ensure(ctx, client); err != nil {
//			return err
//		}
//		tbl, err := table.New(client, schema, nil)
//		if err != nil {
//			return err
//		}
//		notes, err := repo.New(tbl, repo.Entity[Note]{Type: "NOTE", Key: Note.Key, Version: "revision"})
//		if err != nil {
//			return err
//		}
//
//		start := time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)
//		for i, text := range []string{"buy milk", "call Bob", "water plants"} {
//			n := Note{User: "ana", At: start.Add(time.Duration(i) * time.Hour), Text: text}
//			if err := notes.Create(ctx, &n); err != nil {
//				return err
//			}
//		}
//
//		first := Note{User: "ana", At: start}
//		_, err = notes.Update(ctx, first.Key(), func(n *Note) error {
//			n.Text += " and bread"
//			return nil
//		})
//		if err != nil {
//			return err
//		}
//
//		newestFirst := table.Query{PK: keys.User.PK("ana"), Range: notePrefix.All(), Descending: true, Limit: 2}
//		for {
//			page, err := notes.Query(ctx, newestFirst)
//			if err != nil {
//				return err
//			}
//			for _, n := range page.Items {
//				fmt.Println(n.At.Format(time.TimeOnly), n.Text)
//			}
//			if page.Next == "" {
//				return nil
//			}
//			newestFirst.After = page.Next
//		}
//	}
//
// # Consistency
//
// Reads are eventually consistent unless a view made by Consistent or
// Query.Consistent asks for more; global indexes have no consistent reads.
// [repo.Repo.Update] and everything that decides about a write reads
// consistently. All items of an entity are written in one DynamoDB
// transaction, and so are the ops given to [table.Table.Transact]. With
// Entity.Version a write of a stale value fails with [table.ErrStale].
//
// Items whose TTL attribute is in the past are treated as absent, on reads and
// on creates, though DynamoDB deletes them up to a few days later.
//
// # Errors
//
// Invalid input is refused before a request is sent. Errors name the
// operation and the table, match a sentinel with [errors.Is], and give access to
// the SDK's own error with [errors.As]. Keys are personal data: they are fields
// of the errors and not part of the messages or of logs made with log/slog. [table.Classify] tells what to
// retry. A write whose answer was lost is [table.ErrOutcomeUnknown] unless the
// library could find out what happened.
//
// # Costs
//
// An eventually consistent read costs half a read unit for 4 KB, a write one
// write unit for 1 KB, and each copy, each index and each transaction adds
// to that. [table.Stats] tells what a page cost, and the Observe option of a
// table what each request did; package table/telemetry makes logs, traces,
// metrics and a summary by access pattern of it.
//
// # Caveats
//
//   - Without a [paginate.Codec], a table seals cursors with a key of the process:
//     other instances refuse them. Services share a codec.
//   - A filter saves no read units: DynamoDB charges for what it looked at.
//   - [table.Update] works on what is stored, expired or not.
//   - A partition of a table or index takes 1,000 write units a second, so an
//     index that collects everything under one partition key gets hot. Package
//     shard spreads it.
//   - DynamoDB allows 100 items in a transaction, and every copy counts.
//
// # When not to use this
//
// When the access patterns are not known yet, when they need joins or ad hoc
// queries, or when the entities have nothing to do with each other and a table
// each is simpler. For one table with one kind of item, the SDK alone is enough.
package singletable
